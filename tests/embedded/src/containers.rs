//! Containers of quantised weights.

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::{self, Gguf};
use nanoembed_core::format::safetensors::{self, Entry, Safetensors};
use nanoembed_core::format::uqff::{self, Uqff};
use nanoembed_core::quant::{dequantize, dequantize_weight};
use nanoembed_core::read::{Push, Seek};

use crate::count;

pub(crate) fn by_safetensors(file: &[u8]) -> Result<(), Error> {
    let mut entries = [Entry::default(); 16];
    let mut carry = [0; 512];
    let decoder = safetensors::SafetensorsDecoder::new(Mode::Strict, &mut entries);
    let mut push = Push::new(decoder, &mut carry);
    push.feed(file, count)?;
    push.finish(count)?;
    let mut entries = [Entry::default(); 16];
    let view = Safetensors::parse(file, Mode::Lenient, &mut entries)?;
    black_box(view.metadata_value("format"));
    black_box(view.tensor("embeddings.LayerNorm.weight"));
    Ok(())
}

pub(crate) fn by_uqff(file: &[u8]) -> Result<(), Error> {
    let mut entries = [Entry::default(); 16];
    let mut buffer = [0; 512];
    let decoder = uqff::UqffDecoder::new(Mode::Strict, &mut entries);
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

pub(crate) fn by_gguf(file: &[u8]) -> Result<(), Error> {
    let mut buffer = [0; 512];
    let decoder = gguf::GgufDecoder::<64>::new(Mode::Strict);
    let mut seek = Seek::new(file, decoder, &mut buffer).without_data();
    while seek.next_event(count)? {}
    let view = Gguf::parse_with(gguf::GgufDecoder::<64>::new(Mode::Lenient), file)?;
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
