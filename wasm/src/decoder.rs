//! One decoder for all formats, chosen by a file's first bytes.

use alloc::boxed::Box;

use nanoembed_core::event::{Decode, Format, Mode, Step};
use nanoembed_core::{Error, ErrorKind};

#[cfg(any(feature = "embed", feature = "inspect"))]
use nanoembed_core::format::embd;
#[cfg(any(feature = "words", feature = "inspect"))]
use nanoembed_core::format::finalfusion;
#[cfg(feature = "inspect")]
use nanoembed_core::format::gguf;

/// How closely a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Header and index; data is passed over.
    Index,
    /// Every byte, with checksums and codes where there are any.
    Everything,
}

/// The decoders of the formats that this module was built for.
pub(crate) enum Decoder {
    #[cfg(any(feature = "embed", feature = "inspect"))]
    Embd(Box<embd::Decoder>),
    #[cfg(any(feature = "embed", feature = "inspect"))]
    EmbdVerifier(Box<embd::Verifier>),
    #[cfg(any(feature = "words", feature = "inspect"))]
    Finalfusion(Box<finalfusion::Decoder>),
    #[cfg(any(feature = "words", feature = "inspect"))]
    FinalfusionVerifier(Box<finalfusion::Verifier>),
    #[cfg(feature = "inspect")]
    Gguf(Box<gguf::Decoder>),
    #[cfg(feature = "inspect")]
    Safetensors(contained::Safetensors),
    #[cfg(feature = "inspect")]
    Uqff(contained::Uqff),
}

impl Decoder {
    /// A decoder at the start of a file of `format`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownFormat`] if this module was built without it.
    pub(crate) fn new(format: Format, mode: Mode, depth: Depth) -> Result<Self, Error> {
        Ok(match (format, depth) {
            #[cfg(any(feature = "embed", feature = "inspect"))]
            (Format::Embd, Depth::Index) => Self::Embd(Box::new(embd::Decoder::new(mode))),
            #[cfg(any(feature = "embed", feature = "inspect"))]
            (Format::Embd, Depth::Everything) => {
                Self::EmbdVerifier(Box::new(embd::Verifier::new(mode)))
            }
            #[cfg(any(feature = "words", feature = "inspect"))]
            (Format::Finalfusion, Depth::Index) => {
                Self::Finalfusion(Box::new(finalfusion::Decoder::new(mode)))
            }
            #[cfg(any(feature = "words", feature = "inspect"))]
            (Format::Finalfusion, Depth::Everything) => Self::FinalfusionVerifier(Box::new(
                finalfusion::Verifier::new(finalfusion::Decoder::new(mode)),
            )),
            #[cfg(feature = "inspect")]
            (Format::Gguf, _) => Self::Gguf(Box::new(gguf::Decoder::new(mode))),
            #[cfg(feature = "inspect")]
            (Format::Safetensors, _) => Self::Safetensors(contained::safetensors(mode)),
            #[cfg(feature = "inspect")]
            (Format::Uqff, _) => Self::Uqff(contained::uqff(mode)),
            _ => return Err(Error::without_offset(ErrorKind::UnknownFormat)),
        })
    }

    /// Where everything in a file of word vectors lies; known once the file was seen.
    #[cfg(feature = "words")]
    pub(crate) fn layout(&self) -> Option<finalfusion::Layout> {
        match self {
            Self::Finalfusion(decoder) => decoder.layout(),
            Self::FinalfusionVerifier(verifier) => verifier.decoder().layout(),
            #[cfg(any(feature = "embed", feature = "inspect"))]
            _ => None,
        }
    }

    /// Where the data begins that the offsets of tensors count from; 0 where they count from the file's start.
    pub(crate) fn data_offset(&self) -> u64 {
        match self {
            #[cfg(feature = "inspect")]
            Self::Gguf(decoder) => decoder.data_offset().unwrap_or(0),
            #[cfg(any(feature = "embed", feature = "words", feature = "inspect"))]
            _ => 0,
        }
    }

    fn with<T>(&mut self, run: impl FnOnce(&mut dyn Decode) -> T) -> T {
        match self {
            #[cfg(any(feature = "embed", feature = "inspect"))]
            Self::Embd(decoder) => run(&mut **decoder),
            #[cfg(any(feature = "embed", feature = "inspect"))]
            Self::EmbdVerifier(decoder) => run(&mut **decoder),
            #[cfg(any(feature = "words", feature = "inspect"))]
            Self::Finalfusion(decoder) => run(&mut **decoder),
            #[cfg(any(feature = "words", feature = "inspect"))]
            Self::FinalfusionVerifier(decoder) => run(&mut **decoder),
            #[cfg(feature = "inspect")]
            Self::Gguf(decoder) => run(&mut **decoder),
            #[cfg(feature = "inspect")]
            Self::Safetensors(cell) => cell.with_dependent_mut(|_, decoder| run(decoder)),
            #[cfg(feature = "inspect")]
            Self::Uqff(cell) => cell.with_dependent_mut(|_, decoder| run(decoder)),
        }
    }

    pub(crate) fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error> {
        self.with(|decoder| decoder.next(input))
    }

    pub(crate) fn offset(&mut self) -> u64 {
        self.with(|decoder| decoder.offset())
    }

    /// Passes over as much bulk data as there is before `end`.
    pub(crate) fn skip(&mut self, end: u64) {
        self.with(|decoder| {
            let there = end.saturating_sub(decoder.offset());
            decoder.skip(decoder.skippable().min(there))
        });
    }
}

#[cfg(feature = "inspect")]
mod contained {
    //! Decoders together with the memory that they keep their tensors in.

    use alloc::vec;
    use alloc::vec::Vec;

    use nanoembed_core::event::Mode;
    use nanoembed_core::format::{safetensors, uqff};
    use self_cell::{MutBorrow, self_cell};

    type Memory = MutBorrow<Vec<safetensors::Entry>>;
    type SafetensorsDecoder<'m> = safetensors::Decoder<'m>;
    type UqffDecoder<'m> = uqff::Decoder<'m>;

    /// How many tensors a file may have.
    const MAX_TENSORS: usize = 1 << 15;

    self_cell!(
        pub(crate) struct Safetensors {
            owner: Memory,
            #[covariant]
            dependent: SafetensorsDecoder,
        }
    );

    self_cell!(
        pub(crate) struct Uqff {
            owner: Memory,
            #[covariant]
            dependent: UqffDecoder,
        }
    );

    fn memory() -> Memory {
        MutBorrow::new(vec![safetensors::Entry::default(); MAX_TENSORS])
    }

    pub(crate) fn safetensors(mode: Mode) -> Safetensors {
        Safetensors::new(memory(), |memory| safetensors::Decoder::new(mode, memory.borrow_mut()))
    }

    pub(crate) fn uqff(mode: Mode) -> Uqff {
        Uqff::new(memory(), |memory| uqff::Decoder::new(mode, memory.borrow_mut()))
    }
}
