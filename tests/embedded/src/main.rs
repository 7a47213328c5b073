//! Links the readers without std or allocator. The panic handler calls a function that does not exist, so linking
//! fails if a panic can be reached.

#![no_std]
#![no_main]

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::embd::{Decoder, Embd, Verifier};
use nanoembed_core::format::gguf::{self, Gguf};
use nanoembed_core::format::safetensors::{self, Entry, Safetensors};
use nanoembed_core::format::uqff::{self, Uqff};
use nanoembed_core::quant::{dequantize, dequantize_weight};
use nanoembed_core::read::{Blocks, Push, Seek, Slice};
use nanoembed_core::token::{
    Entries, HashVocabulary, LengthPrefix, Normalization, SpecialIds, WordPiece,
};

unsafe extern "C" {
    safe fn a_panic_can_be_reached() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    a_panic_can_be_reached()
}

fn count(event: Event<'_>) -> Result<(), Error> {
    black_box(&event);
    Ok(())
}

fn by_push(file: &[u8]) -> Result<(), Error> {
    let mut carry = [0; 512];
    let mut push = Push::new(Decoder::<64>::new(Mode::Strict), &mut carry);
    push.feed(file, count)?;
    push.finish(count)
}

fn by_seek(file: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; 512];
    let mut seek = Seek::new(file, Decoder::<64>::new(Mode::Lenient), &mut buffer).without_data();
    while seek.next_event(count)? {}
    Ok(())
}

fn by_slice(file: &[u8]) -> Result<(), Error> {
    let mut slice = Slice::new(Verifier::<64>::new(Mode::Lenient), file);
    while slice.next_event()? != Event::End {}
    Ok(())
}

fn by_view(file: &[u8]) -> Result<(), Error> {
    let embd = Embd::parse_with(Decoder::<64>::new(Mode::Lenient), file)?;
    embd.tokens().for_each(|token| {
        black_box(token);
    });
    black_box(embd.special());
    black_box(embd.metadata_value("hidden_size"));
    let Some(tensor) = embd.tensor("embeddings.LayerNorm.weight") else { return Ok(()) };
    let mut row = [0; 64];
    let mut blocks = Blocks::new(tensor.header(), &mut row)?;
    blocks.feed(tensor.header().offset, tensor.data(), |block| {
        black_box(block);
        Ok(())
    })?;
    let mut values = [0.0; 4];
    tensor.read_f32(1, &mut values)?;
    black_box(values);
    Ok(())
}

fn by_tokens(file: &[u8]) -> Result<(), Error> {
    let embd = Embd::parse_with(Decoder::<64>::new(Mode::Lenient), file)?;
    let Some(found) = embd.token_entries() else { return Ok(()) };
    let (mut samples, mut slots) = ([0; 64], [0; 768]);
    let entries =
        Entries::sample(found.bytes, found.offset, found.count, LengthPrefix::U16, &mut samples)?;
    let vocabulary = HashVocabulary::build(entries, &mut slots)?;
    let special = SpecialIds::find(&vocabulary)?;
    let tokenizer = WordPiece::new(vocabulary, special, Normalization::UNCASED)?;
    let mut ids = [0; 32];
    let text = core::str::from_utf8(file).unwrap_or_default();
    black_box(tokenizer.encode(text, &mut ids)?);
    black_box(ids);
    Ok(())
}

fn safetensors(file: &[u8]) -> Result<(), Error> {
    let mut entries = [Entry::default(); 16];
    let mut carry = [0; 512];
    let decoder = safetensors::Decoder::new(Mode::Strict, &mut entries);
    let mut push = Push::new(decoder, &mut carry);
    push.feed(file, count)?;
    push.finish(count)?;
    let mut entries = [Entry::default(); 16];
    let view = Safetensors::parse(file, Mode::Lenient, &mut entries)?;
    black_box(view.metadata_value("format"));
    black_box(view.tensor("embeddings.LayerNorm.weight"));
    Ok(())
}

fn uqff(file: &[u8]) -> Result<(), Error> {
    let mut entries = [Entry::default(); 16];
    let mut buffer = [0; 512];
    let decoder = uqff::Decoder::new(Mode::Strict, &mut entries);
    let mut seek = Seek::new(file, decoder, &mut buffer).without_data();
    while seek.next_event(count)? {}
    let mut entries = [Entry::default(); 16];
    let view = Uqff::parse(file, Mode::Lenient, &mut entries)?;
    let Some(layer) = view.layer("0") else { return Ok(()) };
    let mut values = [0.0; 4];
    dequantize_weight(&layer?.weight, 1, &mut values)?;
    black_box(values);
    Ok(())
}

fn gguf(file: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; 512];
    let decoder = gguf::Decoder::<64>::new(Mode::Strict);
    let mut seek = Seek::new(file, decoder, &mut buffer).without_data();
    while seek.next_event(count)? {}
    let view = Gguf::parse_with(gguf::Decoder::<64>::new(Mode::Lenient), file)?;
    black_box(view.value("general.architecture"));
    view.tokens().for_each(|token| {
        black_box(token);
    });
    let Some(tensor) = view.tensor("token_embd.weight") else { return Ok(()) };
    let mut values = [0.0; 4];
    dequantize(tensor.header().dtype, tensor.data(), 1, &mut values)?;
    black_box(values);
    Ok(())
}

/// # Safety
///
/// `file` points to `length` readable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn probe(file: *const u8, length: usize) -> bool {
    // SAFETY: the caller's promise.
    let file = unsafe { core::slice::from_raw_parts(file, length) };
    [by_push, by_seek, by_slice, by_view, by_tokens, safetensors, uqff, gguf]
        .iter()
        .all(|read| read(file).is_ok())
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // SAFETY: no bytes are read.
    let done = unsafe { probe(black_box(core::ptr::dangling()), black_box(0)) };
    black_box(done);
    loop {}
}
