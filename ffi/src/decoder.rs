//! The decoder of any format that is built in.

use nanoembed_core::Error;
use nanoembed_core::event::{Decode, Mode, Step};
use nanoembed_core::format::amb;
use nanoembed_core::format::embd;
use nanoembed_core::format::finalfusion;
use nanoembed_core::format::gguf;
use nanoembed_core::format::safetensors::{self, Entry};
use nanoembed_core::format::uqff;

use crate::format::{
    NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_EMBD, NANOEMBED_FORMAT_FINALFUSION,
    NANOEMBED_FORMAT_GGUF, NANOEMBED_FORMAT_SAFETENSORS, NANOEMBED_FORMAT_UQFF, left_out,
    nanoembed_format,
};
use crate::leaf::{self, Part};
use crate::memory::{Lent, Sum};
use crate::status::Outcome;

/// How many tensors a file may have.
pub(crate) const TENSORS: usize = if cfg!(feature = "std") { 1024 } else { 256 };

/// Entries of a safetensors file that there is room for.
const ENTRIES: usize = if leaf::Safetensors::built_in().is_ok() { TENSORS } else { 0 };

/// The decoder of any format, in the caller's memory: nothing to put the large ones in a box of.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum AnyDecoder {
    Embd(embd::DecoderOver<&'static mut [embd::TensorRecord]>),
    Finalfusion(finalfusion::FinalfusionDecoder),
    Gguf(Part<leaf::Gguf, gguf::GgufDecoder<TENSORS>>),
    Safetensors(Part<leaf::Safetensors, safetensors::SafetensorsDecoder<'static>>),
    Uqff(Part<leaf::Safetensors, uqff::UqffDecoder<'static>>),
    Amb(Part<leaf::Amb, amb::AmbDecoder<TENSORS>>),
}

impl AnyDecoder {
    /// Adds what [`new`](Self::new) takes.
    pub(crate) fn add_bytes(sum: &mut Sum) -> Outcome {
        sum.add::<Self>(1)?;
        sum.add::<embd::TensorRecord>(TENSORS)?;
        sum.add::<Entry>(ENTRIES)
    }

    /// A decoder in lent memory.
    pub(crate) fn new(
        format: nanoembed_format,
        mode: Mode,
        lent: &mut Lent,
    ) -> Outcome<&'static mut Self> {
        let place: *mut Self = lent.place(1)?;
        let records = lent.filled(TENSORS, embd::TensorRecord::EMPTY)?;
        let entries = lent.filled(ENTRIES, Entry::default())?;
        let refused = |_| left_out(format);
        let made = match format {
            NANOEMBED_FORMAT_EMBD => Self::Embd(embd::DecoderOver::lent(mode, records)),
            NANOEMBED_FORMAT_FINALFUSION => {
                Self::Finalfusion(finalfusion::FinalfusionDecoder::new(mode))
            }
            NANOEMBED_FORMAT_GGUF => {
                let leaf = leaf::Gguf::built_in().map_err(refused)?;
                Self::Gguf(Part::new(leaf, gguf::GgufDecoder::new(mode)))
            }
            NANOEMBED_FORMAT_SAFETENSORS => {
                let leaf = leaf::Safetensors::built_in().map_err(refused)?;
                Self::Safetensors(Part::new(
                    leaf,
                    safetensors::SafetensorsDecoder::new(mode, entries),
                ))
            }
            NANOEMBED_FORMAT_UQFF => {
                let leaf = leaf::Safetensors::built_in().map_err(refused)?;
                Self::Uqff(Part::new(leaf, uqff::UqffDecoder::new(mode, entries)))
            }
            NANOEMBED_FORMAT_AMB => {
                let leaf = leaf::Amb::built_in().map_err(refused)?;
                Self::Amb(Part::new(leaf, amb::AmbDecoder::new(mode)))
            }
            _ => return Err(left_out(format)),
        };
        // SAFETY: the place was taken for it, and nobody else has it.
        Ok(unsafe {
            place.write(made);
            &mut *place
        })
    }
}

macro_rules! each {
    ($decoder:expr, $inner:ident => $what:expr) => {
        match $decoder {
            AnyDecoder::Embd($inner) => $what,
            AnyDecoder::Finalfusion($inner) => $what,
            AnyDecoder::Gguf($inner) => $what,
            AnyDecoder::Safetensors($inner) => $what,
            AnyDecoder::Uqff($inner) => $what,
            AnyDecoder::Amb($inner) => $what,
        }
    };
}

impl Decode for AnyDecoder {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error> {
        each!(self, decoder => decoder.next(input))
    }

    fn offset(&self) -> u64 {
        each!(self, decoder => decoder.offset())
    }

    fn skippable(&self) -> u64 {
        each!(self, decoder => decoder.skippable())
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        each!(self, decoder => decoder.skip(bytes))
    }

    fn is_complete(&self) -> bool {
        each!(self, decoder => decoder.is_complete())
    }
}
