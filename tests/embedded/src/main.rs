//! Links the readers without std or allocator. The panic handler calls a function that does not exist, so linking
//! fails if a panic can be reached.

#![no_std]
#![no_main]

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::embd::{Decoder, Embd, Verifier};
use nanoembed_core::format::finalfusion;
use nanoembed_core::kernel::Kernels;
use nanoembed_core::read::{Blocks, Push, Seek, Slice};
use nanoembed_core::token::vocabulary::{IdWidth, SortedIds};
use nanoembed_core::token::{
    Entries, HashVocabulary, LengthPrefix, Normalization, SortedVocabulary, SpecialIds, Vocabulary,
    WordPiece,
};
use nanoembed_core::words::{
    Index, IndexOptions, Memory, Scored, SearchMemory, Source, Stored, TopK, Words,
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
    encode(HashVocabulary::build(entries, &mut slots)?, file)
}

/// The bytes stand for the entries, both tables of the index, and the text.
fn by_sorted_tokens(file: &[u8]) -> Result<(), Error> {
    let entries = Entries::listed(file, 0, 64, LengthPrefix::U32, file)?;
    let ids = SortedIds { bytes: file, width: IdWidth::U16, offset: 0 };
    let vocabulary = SortedVocabulary::new(entries, ids)?;
    vocabulary.check()?;
    encode(vocabulary, file)
}

fn encode<V: Vocabulary>(vocabulary: V, text: &[u8]) -> Result<(), Error> {
    let special = SpecialIds::find(&vocabulary)?;
    let tokenizer = WordPiece::new(vocabulary, special, Normalization::UNCASED)?;
    let mut ids = [0; 32];
    let text = core::str::from_utf8(text).unwrap_or_default();
    black_box(tokenizer.encode(text, &mut ids)?);
    black_box(ids);
    Ok(())
}

fn by_words(file: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; 256];
    let decoder = finalfusion::Decoder::new(Mode::Lenient);
    let mut seek = Seek::new(file, decoder, &mut buffer).without_data();
    while seek.next_event(count)? {}
    let Some(layout) = seek.decoder().layout() else { return Ok(()) };
    look_up(&Words::scan(Stored(file), layout))?;
    let mut memory = [0; 64];
    let options = IndexOptions::default();
    let index = Index::build(&Stored(file), &layout, options, &mut memory[..], &mut buffer)?;
    look_up(&Words::with_index(Stored(file), layout, index))?;
    let read = finalfusion::Finalfusion::parse(file, Mode::Strict)?;
    read.tensors().for_each(|tensor| {
        black_box(tensor);
    });
    let index = Index::build(&Memory(file), read.layout(), options, &mut memory[..], &mut [])?;
    look_up(&Words::with_index(Memory(file), *read.layout(), index))
}

fn look_up<S: Source, M: AsRef<[u64]>>(words: &Words<S, M>) -> Result<(), Error> {
    let (mut vector, mut scratch) = ([0.0; 8], [0.0; 16]);
    black_box(words.vector("word", &mut vector, &mut scratch)?);
    black_box(words.analogy(["a", "b", "c"], &mut vector, &mut scratch)?);
    let (mut best, mut tile, mut floats) = ([Scored::default(); 4], [0; 64], [0.0; 512]);
    let mut tops = [TopK::new(&mut best, &[])];
    let memory = SearchMemory { floats: &mut floats, tile: &mut tile };
    words.search(&Kernels::portable(), 0..4, &vector, &mut tops, memory)?;
    let [top] = tops;
    black_box(words.ranked(top)?);
    black_box(words.word_into(0, &mut tile)?);
    Ok(())
}

/// # Safety
///
/// `file` points to `length` readable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn probe(file: *const u8, length: usize) -> bool {
    // SAFETY: the caller's promise.
    let file = unsafe { core::slice::from_raw_parts(file, length) };
    let all = [by_push, by_seek, by_slice, by_view, by_tokens, by_sorted_tokens, by_words];
    all.iter().all(|read| read(file).is_ok())
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // SAFETY: no bytes are read.
    let done = unsafe { probe(black_box(core::ptr::dangling()), black_box(0)) };
    black_box(done);
    loop {}
}
