//! Files in memory that are parsed whole: those of all formats that the build has.

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::source::ModelSource;
use nanoembed_core::{Error, ErrorKind};

use crate::format::{NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_GGUF, left_out};
use crate::leaf;
use crate::status::Outcome;

/// The model's file that `bytes` are. None of these takes memory that grows with the tensors.
pub(crate) fn parse(bytes: &'static [u8]) -> Outcome<ModelSource<'static>> {
    match sniff(bytes) {
        Some(Format::Amb) => amb(bytes).map(ModelSource::Amb),
        Some(Format::Embd) => embd(bytes),
        Some(Format::Gguf) => gguf(bytes).map(ModelSource::Gguf),
        _ => Err(Error::new(0, ErrorKind::UnknownFormat).into()),
    }
}

// Each with its stack to itself.

#[inline(never)]
pub(crate) fn amb(bytes: &'static [u8]) -> Outcome<Amb<'static>> {
    leaf::Amb::built_in().map_err(|_| left_out(NANOEMBED_FORMAT_AMB))?;
    Ok(Amb::parse(bytes, Mode::Lenient)?)
}

#[inline(never)]
fn embd(bytes: &'static [u8]) -> Outcome<ModelSource<'static>> {
    Ok(ModelSource::Embd(Embd::parse_in_place(bytes, Mode::Lenient)?))
}

#[inline(never)]
pub(crate) fn gguf(bytes: &'static [u8]) -> Outcome<Gguf<'static>> {
    leaf::Gguf::built_in().map_err(|_| left_out(NANOEMBED_FORMAT_GGUF))?;
    Ok(Gguf::parse(bytes, Mode::Lenient)?)
}
