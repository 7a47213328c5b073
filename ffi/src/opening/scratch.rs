//! Scratch memory for opening a model, as much as the tensors of its file need.

use nanoembed_core::ErrorKind;
use nanoembed_core::format::embd::{self, TensorRecord};

use crate::format::{NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_GGUF, left_out};
use crate::leaf;
use crate::memory::Lent;
use crate::source::Bytes;
use crate::status::{Failure, NANOEMBED_NEEDS_FOLDER, NANOEMBED_NEEDS_MEMORY, Outcome};

/// The bytes of a file's header that give the number of its tensors.
const HEADER_BYTES: usize = 64;

/// Memory for one pass over a `.weights` file.
pub(super) struct PassMemory {
    pub(super) records: &'static mut [TensorRecord],
    pub(super) rest: Lent,
}

/// More than any model has; the decoder refuses a file that has more, before it takes quadratic time.
const MOST_TENSORS: u32 = 4096;

/// The number of tensors of a `.weights` file; 0 for others.
pub(super) fn tensors(source: &Bytes) -> Outcome<usize> {
    let mut start = [0; HEADER_BYTES];
    let start = source.start(&mut start)?;
    check_parsed(source, start)?;
    // What is wrong with it is said when it is read.
    Ok(embd::count_tensors(start).unwrap_or(0).min(MOST_TENSORS) as usize)
}

/// Refuses files of formats that are parsed whole where the build has not the format, or they lie in
/// storage, and those that hold no encoder: word vectors, and safetensors, which need the texts of a
/// folder. This is less code than recognising all formats.
fn check_parsed(source: &Bytes, start: &[u8]) -> Outcome {
    let (format, is_built_in) = match start {
        [b'A', b'M', b'B', b'E', ..] => (NANOEMBED_FORMAT_AMB, leaf::Amb::built_in().is_ok()),
        [b'G', b'G', b'U', b'F', ..] => (NANOEMBED_FORMAT_GGUF, leaf::Gguf::built_in().is_ok()),
        [b'F', b'i', b'F', b'u', ..] => return Err(other_model("finalfusion")),
        [_, _, _, _, _, _, _, _, b'{', ..] => return Err(Failure::here(NANOEMBED_NEEDS_FOLDER)),
        _ => return Ok(()),
    };
    if !is_built_in {
        return Err(left_out(format));
    }
    if source.memory().is_none() { Err(Failure::here(NANOEMBED_NEEDS_MEMORY)) } else { Ok(()) }
}

fn other_model(format: &'static str) -> Failure {
    Failure::from(ErrorKind::OtherModel).about(format)
}

impl PassMemory {
    /// Memory for a file with so many tensors.
    pub(super) fn new(tensors: usize, mut lent: Lent) -> Outcome<Self> {
        Ok(Self { records: lent.filled(tensors, TensorRecord::EMPTY)?, rest: lent })
    }
}
