//! The file formats, one module each, with the same parts.
//!
//! | I want to … | |
//! |---|---|
//! | recognise a file's format | [`sniff`] |
//! | read a whole file in memory | the view: `Gguf`, `Safetensors`, `Uqff`, `Embd`, `Amb`, `Finalfusion` |
//! | read a file as it arrives, or from storage | `Decoder`, driven by a source of [`read`](crate::read) |
//! | check a file's checksums and codes | `Verifier`, a decoder that looks at every byte |
//! | write a file | `Writer`, from a `Plan` into a [`Sink`](crate::sink::Sink) |
//!
//! A decoder is a sans-I/O state machine ([`Decode`](crate::event::Decode)) over a grammar of nom
//! functions. A view is validated by the decoder once and then read at random.

/// The item that a grammar parsed and its length in bytes; returns from the decoder with a request
/// for more bytes if there are too few.
macro_rules! parsed {
    ($item:expr) => {
        match $item {
            $crate::bytes::Item::Parsed { item, used } => (item, used),
            $crate::bytes::Item::NeedMore { at_least } => {
                return Ok($crate::event::Step::need_more(at_least))
            }
        }
    };
}

pub mod amb;
pub mod embd;
pub mod finalfusion;
pub mod gguf;
pub mod safetensors;
pub mod uqff;

use crate::event::Format;

/// The number of bytes that [`sniff`] needs.
pub const SNIFF_BYTES: usize = 9;

/// Recognises a format by a file's first bytes. UQFF files are safetensors files and are recognised
/// as such.
#[must_use]
pub fn sniff(start: &[u8]) -> Option<Format> {
    if start.starts_with(amb::MAGIC) {
        return Some(Format::Amb);
    }
    if start.starts_with(embd::MAGIC) {
        return Some(Format::Embd);
    }
    if start.starts_with(finalfusion::MAGIC) {
        return Some(Format::Finalfusion);
    }
    if start.starts_with(gguf::MAGIC) {
        return Some(Format::Gguf);
    }
    // A length below the maximum, then an object.
    if let Some((length, _)) = start.split_first_chunk()
        && u64::from_le_bytes(*length) <= safetensors::MAX_HEADER_BYTES
        && start.get(8) == Some(&b'{')
    {
        return Some(Format::Safetensors);
    }
    let _ = start;
    None
}
