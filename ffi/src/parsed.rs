//! Files in memory that are parsed whole: those of all formats that the build has.

use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;
use nanoembed_core::model::ModelSource;

use crate::format::{NANOEMBED_FORMAT_UNKNOWN, number_of};
use crate::status::{Outcome, left_out};

/// The model's file that `bytes` are.
pub(crate) fn parse(bytes: &'static [u8]) -> Outcome<ModelSource<'static>> {
    let format = sniff(bytes);
    let is_left_out = match format {
        Some(Format::Amb) => !cfg!(feature = "amb"),
        Some(Format::Embd) => !cfg!(feature = "weights"),
        Some(Format::Gguf) => !cfg!(feature = "gguf"),
        _ => false,
    };
    if is_left_out {
        return Err(left_out(format.map_or(NANOEMBED_FORMAT_UNKNOWN, number_of)));
    }
    Ok(ModelSource::parse(bytes)?)
}
