//! One decoder for all formats, chosen by a file's first bytes.

use alloc::boxed::Box;

use nanoembed_core::event::{Decode, Format, Mode, Step};
use nanoembed_core::{Error, ErrorKind};

use nanoembed_core::format::{amb, embd, finalfusion, gguf};

use crate::leaf;

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
    Amb(leaf::Amb, Box<amb::AmbDecoder>),
    AmbVerifier(leaf::Amb, Box<amb::AmbVerifier>),
    Embd(leaf::Embd, Box<embd::EmbdDecoder>),
    EmbdVerifier(leaf::Embd, Box<embd::EmbdVerifier>),
    Finalfusion(leaf::Finalfusion, Box<finalfusion::FinalfusionDecoder>),
    FinalfusionVerifier(leaf::Finalfusion, Box<finalfusion::FinalfusionVerifier>),
    Gguf(leaf::Gguf, Box<gguf::GgufDecoder>),
    Safetensors(leaf::Safetensors, contained::Safetensors),
    Uqff(leaf::Uqff, contained::Uqff),
}

impl Decoder {
    /// A decoder at the start of a file of `format`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownFormat`] if this module was built without it.
    pub(crate) fn new(format: Format, mode: Mode, depth: Depth) -> Result<Self, Error> {
        Ok(match (format, depth) {
            (Format::Amb, Depth::Index) => {
                Self::Amb(leaf::Amb::built_in()?, Box::new(amb::AmbDecoder::new(mode)))
            }
            (Format::Amb, Depth::Everything) => Self::AmbVerifier(
                leaf::Amb::built_in()?,
                Box::new(amb::AmbVerifier::new(mode).without_tokens()),
            ),
            (Format::Embd, Depth::Index) => {
                Self::Embd(leaf::Embd::built_in()?, Box::new(embd::EmbdDecoder::new(mode)))
            }
            (Format::Embd, Depth::Everything) => Self::EmbdVerifier(
                leaf::Embd::built_in()?,
                Box::new(embd::EmbdVerifier::new(mode).without_tokens()),
            ),
            (Format::Finalfusion, Depth::Index) => Self::Finalfusion(
                leaf::Finalfusion::built_in()?,
                Box::new(finalfusion::FinalfusionDecoder::new(mode)),
            ),
            (Format::Finalfusion, Depth::Everything) => Self::FinalfusionVerifier(
                leaf::Finalfusion::built_in()?,
                Box::new(finalfusion::FinalfusionVerifier::new(
                    finalfusion::FinalfusionDecoder::new(mode),
                )),
            ),
            (Format::Gguf, _) => {
                Self::Gguf(leaf::Gguf::built_in()?, Box::new(gguf::GgufDecoder::new(mode)))
            }
            (Format::Safetensors, _) => {
                Self::Safetensors(leaf::Safetensors::built_in()?, contained::safetensors(mode))
            }
            (Format::Uqff, _) => Self::Uqff(leaf::Uqff::built_in()?, contained::uqff(mode)),
            _ => return Err(Error::without_offset(ErrorKind::UnknownFormat)),
        })
    }

    /// Where everything in a file of word vectors lies; known once the file was seen.
    #[cfg(feature = "words")]
    pub(crate) fn layout(&self) -> Option<finalfusion::FinalfusionLayout> {
        match self {
            Self::Finalfusion(_, decoder) => decoder.layout(),
            Self::FinalfusionVerifier(_, verifier) => verifier.decoder().layout(),
            _ => None,
        }
    }

    /// Where the data begins that the offsets of tensors count from; 0 where they count from the
    /// file's start.
    #[cfg(feature = "inspect")]
    pub(crate) fn data_offset(&self) -> u64 {
        match self {
            Self::Gguf(_, decoder) => decoder.data_offset().unwrap_or(0),
            _ => 0,
        }
    }

    /// The bytes of the first of two documents in a file that has two: AMB's metadata and
    /// configuration.
    #[cfg(feature = "inspect")]
    pub(crate) fn first_document_bytes(&self) -> Option<u64> {
        match self {
            Self::Amb(_, decoder) => decoder.layout().map(|layout| layout.metadata.bytes),
            _ => None,
        }
    }

    fn with<T>(&mut self, run: impl FnOnce(&mut dyn Decode) -> T) -> T {
        match self {
            Self::Amb(_, decoder) => run(&mut **decoder),
            Self::AmbVerifier(_, decoder) => run(&mut **decoder),
            Self::Embd(_, decoder) => run(&mut **decoder),
            Self::EmbdVerifier(_, decoder) => run(&mut **decoder),
            Self::Finalfusion(_, decoder) => run(&mut **decoder),
            Self::FinalfusionVerifier(_, decoder) => run(&mut **decoder),
            Self::Gguf(_, decoder) => run(&mut **decoder),
            Self::Safetensors(_, cell) => cell.with_dependent_mut(|_, decoder| run(decoder)),
            Self::Uqff(_, cell) => cell.with_dependent_mut(|_, decoder| run(decoder)),
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

mod contained {
    //! Decoders together with the memory that they keep their tensors in.

    use alloc::vec;
    use alloc::vec::Vec;

    use nanoembed_core::event::Mode;
    use nanoembed_core::format::safetensors;
    use nanoembed_core::format::uqff;
    use self_cell::{MutBorrow, self_cell};

    type Memory = MutBorrow<Vec<safetensors::Entry>>;
    type SafetensorsDecoder<'m> = safetensors::SafetensorsDecoder<'m>;
    type UqffDecoder<'m> = uqff::UqffDecoder<'m>;

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
        Safetensors::new(memory(), |memory| {
            safetensors::SafetensorsDecoder::new(mode, memory.borrow_mut())
        })
    }

    pub(crate) fn uqff(mode: Mode) -> Uqff {
        Uqff::new(memory(), |memory| uqff::UqffDecoder::new(mode, memory.borrow_mut()))
    }
}
