//! Files in memory that are parsed whole: those of all formats that the build has.

use nanoembed_core::event::{Format, Mode};
#[cfg(feature = "amb")]
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
#[cfg(feature = "gguf")]
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::model::ModelSource;
use nanoembed_core::{Error, ErrorKind};

use crate::format::{left_out, number_of};
use crate::status::Outcome;

/// The model's file that `bytes` are. None of these takes memory that grows with the tensors.
pub(crate) fn parse(bytes: &'static [u8]) -> Outcome<ModelSource<'static>> {
    match sniff(bytes) {
        #[cfg(feature = "amb")]
        Some(Format::Amb) => amb(bytes).map(ModelSource::Amb),
        Some(Format::Embd) => embd(bytes),
        #[cfg(feature = "gguf")]
        Some(Format::Gguf) => gguf(bytes).map(ModelSource::Gguf),
        #[allow(unreachable_patterns)] // in builds of all formats
        Some(format @ (Format::Amb | Format::Embd | Format::Gguf)) => {
            Err(left_out(number_of(format)))
        }
        _ => Err(Error::new(0, ErrorKind::UnknownFormat).into()),
    }
}

// Each with its stack to itself.

#[cfg(feature = "amb")]
#[inline(never)]
pub(crate) fn amb(bytes: &'static [u8]) -> Outcome<Amb<'static>> {
    Ok(Amb::parse(bytes, Mode::Lenient)?)
}

#[inline(never)]
fn embd(bytes: &'static [u8]) -> Outcome<ModelSource<'static>> {
    Ok(ModelSource::Embd(Embd::parse_in_place(bytes, Mode::Lenient)?))
}

#[cfg(feature = "gguf")]
#[inline(never)]
pub(crate) fn gguf(bytes: &'static [u8]) -> Outcome<Gguf<'static>> {
    Ok(Gguf::parse(bytes, Mode::Lenient)?)
}
