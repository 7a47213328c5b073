//! EMBD files, through every source.

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::embd::{Embd, EmbdDecoder, EmbdVerifier};
use nanoembed_core::read::{Blocks, Push, Seek, Slice};

use crate::count;

pub(crate) fn by_push(file: &[u8]) -> Result<(), Error> {
    let mut carry = [0; 512];
    let mut push = Push::new(EmbdDecoder::<64>::new(Mode::Strict), &mut carry);
    push.feed(file, count)?;
    push.finish(count)
}

pub(crate) fn by_seek(file: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; 512];
    let mut seek =
        Seek::new(file, EmbdDecoder::<64>::new(Mode::Lenient), &mut buffer).without_data();
    while seek.next_event(count)? {}
    Ok(())
}

pub(crate) fn by_slice(file: &[u8]) -> Result<(), Error> {
    let mut slice = Slice::new(EmbdVerifier::<64>::new(Mode::Lenient), file);
    while slice.next_event()? != Event::End {}
    Ok(())
}

pub(crate) fn by_view(file: &[u8]) -> Result<(), Error> {
    let embd = Embd::parse_with(EmbdDecoder::<64>::new(Mode::Lenient), file)?;
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
    tensor.dequantize(1, &mut values)?;
    black_box(values);
    Ok(())
}
