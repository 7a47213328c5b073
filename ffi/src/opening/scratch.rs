//! Memory for one pass over a `.weights` file, as much as its tensors need.

#[cfg(feature = "embd")]
use core::mem::MaybeUninit;

#[cfg(feature = "embd")]
use nanoembed_core::event::Mode;
#[cfg(feature = "embd")]
use nanoembed_core::format::embd::DecoderOver;
use nanoembed_core::format::embd::{self, TensorRecord};
#[cfg(feature = "embd")]
use nanoembed_core::model::stored::TensorPlace;

#[cfg(feature = "embd")]
use super::bert::{BertOpening, File};
#[cfg(all(feature = "static-models", not(feature = "embd")))]
use super::table::TableOpening;
use crate::format::{NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_GGUF};
use crate::memory::{Lent, Sum};
use crate::source::Bytes;
use crate::status::{Failure, NANOEMBED_NEEDS_MEMORY, Outcome, left_out, too_small};

/// The largest token or metadata entry.
#[cfg(feature = "embd")]
const LEAST_BUFFER_BYTES: usize = 4096;

/// The bytes that tell how many tensors a file has.
const HEADER_BYTES: usize = 64;

#[cfg(feature = "embd")]
type Decoder = DecoderOver<&'static mut [TensorRecord]>;

/// Memory for one pass over a `.weights` file.
pub(super) struct PassMemory {
    pub(super) records: &'static mut [TensorRecord],
    pub(super) rest: Lent,
}

/// More than any model has; the decoder refuses a file that has more, before it takes quadratic time.
const MOST_TENSORS: u32 = 4096;

/// How many tensors a file has, if it is one of these.
fn tensors(source: &Bytes) -> Outcome<usize> {
    let mut start = [0; HEADER_BYTES];
    let start = source.start(&mut start)?;
    check_parsed(source, start)?;
    // What is wrong with it is said when it is read.
    Ok(embd::count_tensors(start).unwrap_or(0).min(MOST_TENSORS) as usize)
}

/// Refuses files of formats that are parsed whole where the build has not the format, or they lie in
/// storage. This is less code than recognising all formats.
fn check_parsed(source: &Bytes, start: &[u8]) -> Outcome {
    let (format, is_built_in) = match start {
        [b'A', b'M', b'B', b'E', ..] => (NANOEMBED_FORMAT_AMB, cfg!(feature = "amb")),
        [b'G', b'G', b'U', b'F', ..] => (NANOEMBED_FORMAT_GGUF, cfg!(feature = "gguf")),
        _ => return Ok(()),
    };
    if !is_built_in {
        return Err(left_out(format));
    }
    if source.memory().is_none() { Err(Failure::here(NANOEMBED_NEEDS_MEMORY)) } else { Ok(()) }
}

/// Bytes of scratch memory that opening a model takes.
pub(crate) fn scratch_bytes(source: &Bytes) -> Outcome<usize> {
    bytes_for(source, tensors(source)?)
}

#[cfg_attr(not(all(feature = "families", feature = "amb")), allow(unused_variables))]
fn bytes_for(source: &Bytes, tensors: usize) -> Outcome<usize> {
    let mut sum = Sum::default();
    #[cfg(all(feature = "families", feature = "amb"))]
    super::texts::add_bytes(source, &mut sum)?;
    sum.add::<TensorRecord>(tensors)?;
    #[cfg(all(feature = "static-models", not(feature = "embd")))]
    sum.add::<TableOpening>(1)?;
    #[cfg(feature = "embd")]
    {
        sum.add::<Decoder>(1)?;
        sum.add::<File>(1)?;
        sum.add::<BertOpening>(1)?;
        sum.add::<TensorPlace>(tensors)?;
        sum.add::<u8>(LEAST_BUFFER_BYTES)?;
    }
    Ok(sum.bytes())
}

impl PassMemory {
    pub(super) fn new(source: &Bytes, scratch_bytes: usize, mut lent: Lent) -> Outcome<Self> {
        let tensors = tensors(source)?;
        let needed = bytes_for(source, tensors)?;
        if scratch_bytes < needed {
            return Err(too_small(needed));
        }
        Ok(Self { records: lent.filled(tensors, TensorRecord::EMPTY)?, rest: lent })
    }

    /// What is written before the pass begins.
    #[cfg(feature = "embd")]
    #[inline(never)] // what is put there lies on the stack before
    pub(super) fn ready(self) -> Outcome<Pass> {
        let Self { records, mut rest } = self;
        let places = rest.filled(records.len(), TensorPlace::EMPTY)?;
        Ok(Pass {
            decoder: rest.put(DecoderOver::lent(Mode::Lenient, records))?,
            file: rest.put(File::unread(places))?,
            opening: rest.put(MaybeUninit::uninit())?,
            buffer: rest.rest()?,
        })
    }
}

/// One pass over a `.weights` file.
#[cfg(feature = "embd")]
pub(super) struct Pass {
    decoder: &'static mut Decoder,
    buffer: &'static mut [u8],
    pub(super) file: &'static mut File,
    pub(super) opening: &'static mut MaybeUninit<BertOpening>,
}

#[cfg(feature = "embd")]
impl Pass {
    pub(super) fn pass(&mut self, source: &Bytes) -> Outcome {
        let Self { decoder, buffer, file, .. } = self;
        file.read(source, decoder, buffer)
    }
}
