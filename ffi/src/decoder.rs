//! The decoder of any format that cargo features built in.

use nanoembed_core::Error;
use nanoembed_core::event::{Decode, Mode, Step};
#[cfg(feature = "amb")]
use nanoembed_core::format::amb;
use nanoembed_core::format::embd;
use nanoembed_core::format::finalfusion;
#[cfg(feature = "gguf")]
use nanoembed_core::format::gguf;
#[cfg(feature = "safetensors")]
use nanoembed_core::format::safetensors::{self, Entry};
#[cfg(feature = "safetensors")]
use nanoembed_core::format::uqff;

#[allow(clippy::wildcard_imports)] // whichever formats there are
use crate::format::*;
use crate::memory::{Lent, Sum};
use crate::status::Outcome;

/// How many tensors a file may have.
pub(crate) const TENSORS: usize = if cfg!(feature = "std") { 1024 } else { 256 };

/// The decoder of any format, in the caller's memory: nothing to put the large ones in a box of.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum AnyDecoder {
    Embd(embd::DecoderOver<&'static mut [embd::TensorRecord]>),
    Finalfusion(finalfusion::Decoder),
    #[cfg(feature = "gguf")]
    Gguf(gguf::Decoder<TENSORS>),
    #[cfg(feature = "safetensors")]
    Safetensors(safetensors::Decoder<'static>),
    #[cfg(feature = "safetensors")]
    Uqff(uqff::Decoder<'static>),
    #[cfg(feature = "amb")]
    Amb(amb::Decoder<TENSORS>),
}

impl AnyDecoder {
    /// Adds what [`new`](Self::new) takes.
    pub(crate) fn add_bytes(sum: &mut Sum) -> Outcome {
        sum.add::<Self>(1)?;
        sum.add::<embd::TensorRecord>(TENSORS)?;
        #[cfg(feature = "safetensors")]
        sum.add::<Entry>(TENSORS)?;
        Ok(())
    }

    /// A decoder in lent memory.
    pub(crate) fn new(
        format: nanoembed_format,
        mode: Mode,
        lent: &mut Lent,
    ) -> Outcome<&'static mut Self> {
        let place: *mut Self = lent.place(1)?;
        let records = lent.filled(TENSORS, embd::TensorRecord::EMPTY)?;
        #[cfg(feature = "safetensors")]
        let entries = lent.filled(TENSORS, Entry::default())?;
        let made = match format {
            NANOEMBED_FORMAT_EMBD => Self::Embd(embd::DecoderOver::lent(mode, records)),
            NANOEMBED_FORMAT_FINALFUSION => Self::Finalfusion(finalfusion::Decoder::new(mode)),
            #[cfg(feature = "gguf")]
            NANOEMBED_FORMAT_GGUF => Self::Gguf(gguf::Decoder::new(mode)),
            #[cfg(feature = "safetensors")]
            NANOEMBED_FORMAT_SAFETENSORS => {
                Self::Safetensors(safetensors::Decoder::new(mode, entries))
            }
            #[cfg(feature = "safetensors")]
            NANOEMBED_FORMAT_UQFF => Self::Uqff(uqff::Decoder::new(mode, entries)),
            #[cfg(feature = "amb")]
            NANOEMBED_FORMAT_AMB => Self::Amb(amb::Decoder::new(mode)),
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
            #[cfg(feature = "gguf")]
            AnyDecoder::Gguf($inner) => $what,
            #[cfg(feature = "safetensors")]
            AnyDecoder::Safetensors($inner) => $what,
            #[cfg(feature = "safetensors")]
            AnyDecoder::Uqff($inner) => $what,
            #[cfg(feature = "amb")]
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
