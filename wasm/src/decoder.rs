//! One decoder for all formats, chosen by a file's first bytes.

#[cfg(any(feature = "amb", feature = "embd", feature = "finalfusion", feature = "gguf"))]
use alloc::boxed::Box;

use nanoembed_core::event::{Decode, Format, Mode, Step};
use nanoembed_core::{Error, ErrorKind};

#[cfg(feature = "amb")]
use nanoembed_core::format::amb;
#[cfg(feature = "embd")]
use nanoembed_core::format::embd;
#[cfg(feature = "finalfusion")]
use nanoembed_core::format::finalfusion;
#[cfg(feature = "gguf")]
use nanoembed_core::format::gguf;

/// How closely a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Header and index; data is passed over.
    Index,
    /// Every byte, with checksums and codes where there are any; tokens are not given.
    Everything,
}

/// The decoders of the formats that this module was built for.
pub(crate) enum Decoder {
    #[cfg(feature = "amb")]
    Amb(Box<amb::Decoder>),
    #[cfg(feature = "amb")]
    AmbVerifier(Box<amb::Verifier>),
    #[cfg(feature = "embd")]
    Embd(Box<embd::Decoder>),
    #[cfg(feature = "embd")]
    EmbdVerifier(Box<embd::Verifier>),
    #[cfg(feature = "finalfusion")]
    Finalfusion(Box<finalfusion::Decoder>),
    #[cfg(feature = "finalfusion")]
    FinalfusionVerifier(Box<finalfusion::Verifier>),
    #[cfg(feature = "gguf")]
    Gguf(Box<gguf::Decoder>),
    #[cfg(feature = "safetensors")]
    Safetensors(contained::Safetensors),
    #[cfg(feature = "uqff")]
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
            #[cfg(feature = "amb")]
            (Format::Amb, Depth::Index) => Self::Amb(Box::new(amb::Decoder::new(mode))),
            #[cfg(feature = "amb")]
            (Format::Amb, Depth::Everything) => {
                Self::AmbVerifier(Box::new(amb::Verifier::new(mode).without_tokens()))
            }
            #[cfg(feature = "embd")]
            (Format::Embd, Depth::Index) => Self::Embd(Box::new(embd::Decoder::new(mode))),
            #[cfg(feature = "embd")]
            (Format::Embd, Depth::Everything) => {
                Self::EmbdVerifier(Box::new(embd::Verifier::new(mode).without_tokens()))
            }
            #[cfg(feature = "finalfusion")]
            (Format::Finalfusion, Depth::Index) => {
                Self::Finalfusion(Box::new(finalfusion::Decoder::new(mode)))
            }
            #[cfg(feature = "finalfusion")]
            (Format::Finalfusion, Depth::Everything) => Self::FinalfusionVerifier(Box::new(
                finalfusion::Verifier::new(finalfusion::Decoder::new(mode)),
            )),
            #[cfg(feature = "gguf")]
            (Format::Gguf, _) => Self::Gguf(Box::new(gguf::Decoder::new(mode))),
            #[cfg(feature = "safetensors")]
            (Format::Safetensors, _) => Self::Safetensors(contained::safetensors(mode)),
            #[cfg(feature = "uqff")]
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
            #[allow(unreachable_patterns, reason = "there may be no other format")]
            _ => None,
        }
    }

    /// Where the data begins that the offsets of tensors count from; 0 where they count from the
    /// file's start.
    #[cfg(feature = "inspect")]
    pub(crate) fn data_offset(&self) -> u64 {
        match self {
            #[cfg(feature = "gguf")]
            Self::Gguf(decoder) => decoder.data_offset().unwrap_or(0),
            #[allow(unreachable_patterns, reason = "there may be no other format")]
            _ => 0,
        }
    }

    /// The bytes of the first of two documents in a file that has two: AMB's metadata and
    /// configuration.
    #[cfg(feature = "inspect")]
    pub(crate) fn first_document_bytes(&self) -> Option<u64> {
        match self {
            #[cfg(feature = "amb")]
            Self::Amb(decoder) => decoder.layout().map(|layout| layout.metadata.bytes),
            #[allow(unreachable_patterns, reason = "there may be no other format")]
            _ => None,
        }
    }

    fn with<T>(&mut self, run: impl FnOnce(&mut dyn Decode) -> T) -> T {
        match self {
            #[cfg(feature = "amb")]
            Self::Amb(decoder) => run(&mut **decoder),
            #[cfg(feature = "amb")]
            Self::AmbVerifier(decoder) => run(&mut **decoder),
            #[cfg(feature = "embd")]
            Self::Embd(decoder) => run(&mut **decoder),
            #[cfg(feature = "embd")]
            Self::EmbdVerifier(decoder) => run(&mut **decoder),
            #[cfg(feature = "finalfusion")]
            Self::Finalfusion(decoder) => run(&mut **decoder),
            #[cfg(feature = "finalfusion")]
            Self::FinalfusionVerifier(decoder) => run(&mut **decoder),
            #[cfg(feature = "gguf")]
            Self::Gguf(decoder) => run(&mut **decoder),
            #[cfg(feature = "safetensors")]
            Self::Safetensors(cell) => cell.with_dependent_mut(|_, decoder| run(decoder)),
            #[cfg(feature = "uqff")]
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

#[cfg(feature = "safetensors")]
mod contained {
    //! Decoders together with the memory that they keep their tensors in.

    use alloc::vec;
    use alloc::vec::Vec;

    use nanoembed_core::event::Mode;
    use nanoembed_core::format::safetensors;
    #[cfg(feature = "uqff")]
    use nanoembed_core::format::uqff;
    use self_cell::{MutBorrow, self_cell};

    type Memory = MutBorrow<Vec<safetensors::Entry>>;
    type SafetensorsDecoder<'m> = safetensors::Decoder<'m>;
    #[cfg(feature = "uqff")]
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

    #[cfg(feature = "uqff")]
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

    #[cfg(feature = "uqff")]
    pub(crate) fn uqff(mode: Mode) -> Uqff {
        Uqff::new(memory(), |memory| uqff::Decoder::new(mode, memory.borrow_mut()))
    }
}
