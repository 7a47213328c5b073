//! Opening a model's file: its memory requirements, then the parts of the model.

#[cfg(feature = "embd")]
mod bert;
#[cfg(feature = "families")]
mod family;
#[cfg(feature = "embd")]
mod file;
#[cfg(feature = "embd")]
mod pass;
mod scratch;
#[cfg(feature = "static-models")]
mod table;
#[cfg(feature = "amb")]
mod texts;
mod vocabulary;

use core::mem::MaybeUninit;

#[cfg(feature = "families")]
use nanoembed_core::ErrorKind;
#[cfg(feature = "gguf")]
use nanoembed_core::describe::gguf::gguf_has_described_encoder;
#[cfg(any(feature = "static-models", feature = "families"))]
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::embd::TensorRecord;
#[cfg(any(feature = "static-models", feature = "families"))]
use nanoembed_core::format::embd::{DecoderOver, Embd};
#[cfg(feature = "gguf")]
use nanoembed_core::format::gguf::Gguf;
#[cfg(any(feature = "static-models", feature = "families"))]
use nanoembed_core::format::sniff;
#[cfg(feature = "static-models")]
use nanoembed_core::model::TableSource;
#[cfg(feature = "families")]
use nanoembed_core::model::TransformerSource;
#[cfg(feature = "families")]
use nanoembed_core::model::embd_is_decoder;

#[cfg(feature = "embd")]
use self::bert::BertOpening;
#[cfg(feature = "families")]
use self::family::FamilyOpening;
use self::scratch::PassMemory;
#[cfg(feature = "static-models")]
use self::table::TableOpening;
use crate::memory::{Lent, Sum};
use crate::model_handle::Kind;
use crate::model_options::{
    MOST_TOKENS, NANOEMBED_VOCABULARY_INDEXED, nanoembed_model_options, nanoembed_plan,
};
use crate::model_tokenizer::Tokenizer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{Outcome, invalid, too_small};
use crate::versioned;

/// Bytes of scratch memory that opening a model takes.
pub(crate) fn scratch_bytes(source: &Bytes) -> Outcome<usize> {
    bytes_for(source, scratch::tensors(source)?)
}

fn bytes_for(source: &Bytes, tensors: usize) -> Outcome<usize> {
    let mut sum = Sum::default();
    #[cfg(feature = "amb")]
    texts::add_bytes(source, &mut sum)?;
    sum.add::<TensorRecord>(tensors)?;
    #[cfg(all(feature = "static-models", not(feature = "embd")))]
    sum.add::<TableOpening>(1)?;
    #[cfg(feature = "embd")]
    pass::add_bytes::<BertOpening>(tensors, &mut sum)?;
    Ok(sum.bytes())
}

/// The description of a file, before there is memory for its model. It is stored in the scratch
/// memory.
pub(crate) enum Opening {
    #[cfg(feature = "embd")]
    Bert(&'static BertOpening),
    #[cfg(feature = "families")]
    Family(&'static FamilyOpening),
    #[cfg(feature = "static-models")]
    Table(&'static TableOpening),
}

/// Where a model's parts go to in its memory: they are large for a small stack.
pub(crate) struct Opened<'m> {
    pub(crate) kind: &'m mut MaybeUninit<Kind>,
    pub(crate) tokenizer: &'m mut MaybeUninit<Tokenizer>,
}

impl Opening {
    /// # Safety
    ///
    /// The pointers are what the functions that take them say.
    pub(crate) unsafe fn new(
        source: *const nanoembed_source,
        options: *const nanoembed_model_options,
        (scratch, scratch_bytes): (*mut u8, usize),
    ) -> Outcome<(Bytes, Self)> {
        // SAFETY: the caller's promise.
        let (source, options, lent) = unsafe {
            (Bytes::new(source)?, versioned::given(options)?, Lent::new(scratch, scratch_bytes)?)
        };
        if options.tokens > MOST_TOKENS || options.tokens == 1 {
            return Err(invalid("tokens"));
        }
        if options.vocabulary > NANOEMBED_VOCABULARY_INDEXED {
            return Err(invalid("vocabulary"));
        }
        if options.allow_unknown_count > 0 {
            return Err(invalid("allow_unknown"));
        }
        let tensors = scratch::tensors(&source)?;
        let needed = bytes_for(&source, tensors)?;
        if scratch_bytes < needed {
            return Err(too_small(needed));
        }
        let mut memory = PassMemory::new(tensors, lent)?;
        #[cfg(any(feature = "static-models", feature = "families"))]
        if let Some(opening) = Self::described(&source, &options, &mut memory)? {
            return Ok((source, opening));
        }
        #[cfg(feature = "embd")]
        let opening = BertOpening::new(source, &options, memory).map(Self::Bert);
        #[cfg(not(feature = "embd"))]
        let opening = {
            use crate::status::{Failure, NANOEMBED_UNSUPPORTED_TRANSFORMERS};
            Err(Failure::here(NANOEMBED_UNSUPPORTED_TRANSFORMERS))
        };
        Ok((source, opening?))
    }

    /// A static model, or an encoder that a folder's texts or GGUF keys describe, in a file in
    /// memory. Causal models in `.weights` files are rejected.
    #[cfg(any(feature = "static-models", feature = "families"))]
    fn described(
        source: &Bytes,
        options: &nanoembed_model_options,
        memory: &mut PassMemory,
    ) -> Outcome<Option<Self>> {
        #[cfg(feature = "amb")]
        if let (Some(bytes), Some(folder)) = (source.memory(), texts::amb_folder(source, memory)?) {
            let family = FamilyOpening::new(source, (folder, bytes), options, memory);
            return family.map(|it| Some(Self::Family(it)));
        }
        #[cfg(feature = "gguf")]
        if let Some((bytes, file)) = gguf_encoder(source)? {
            let family = FamilyOpening::new(source, (file.into(), bytes), options, memory);
            return family.map(|it| Some(Self::Family(it)));
        }
        let Some(bytes) = source.memory().filter(|it| sniff(it) == Some(Format::Embd)) else {
            return Ok(None);
        };
        let embd = parsed(bytes, memory.records)?;
        #[cfg(feature = "families")]
        if embd_is_decoder(&embd) {
            return Err(ErrorKind::OtherModel.into());
        }
        #[cfg(feature = "static-models")]
        if TableSource::is_in(&embd) {
            return TableOpening::new(source, embd, options, memory)
                .map(|it| Some(Self::Table(it)));
        }
        #[cfg(feature = "families")]
        if TransformerSource::is_in(&embd) {
            let family = FamilyOpening::new(source, (embd.into(), bytes), options, memory);
            return family.map(|it| Some(Self::Family(it)));
        }
        Ok(None)
    }

    pub(crate) fn plan(&self) -> Outcome<nanoembed_plan> {
        match self {
            #[cfg(feature = "embd")]
            Self::Bert(bert) => bert.plan(),
            #[cfg(feature = "families")]
            Self::Family(family) => family.plan(),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.plan(),
        }
    }

    pub(crate) fn model_bytes(&self) -> Outcome<usize> {
        match self {
            #[cfg(feature = "embd")]
            Self::Bert(bert) => bert.model_bytes(),
            #[cfg(feature = "families")]
            Self::Family(family) => family.model_bytes(),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.model_bytes(),
        }
    }

    /// Fills the model's memory: its parts, and what lies behind its handle.
    pub(crate) fn open(&self, lent: &mut Lent, opened: Opened<'_>) -> Outcome {
        match self {
            #[cfg(feature = "embd")]
            Self::Bert(bert) => bert.open(lent, opened),
            #[cfg(feature = "families")]
            Self::Family(family) => family.open(lent, opened),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.open(lent, opened),
        }
    }
}

/// A `.weights` file in memory.
#[cfg(any(feature = "static-models", feature = "families"))]
#[inline(never)] // the decoder lies on the stack meanwhile
fn parsed(bytes: &'static [u8], records: &mut [TensorRecord]) -> Outcome<Embd<'static>> {
    Ok(Embd::parse_with(DecoderOver::lent(Mode::Lenient, records), bytes)?)
}

/// The GGUF file in memory, if it holds an encoder other than BERT with WordPiece.
#[cfg(feature = "gguf")]
#[inline(never)] // so that reading the file has its stack to itself
pub(crate) fn gguf_encoder(source: &Bytes) -> Outcome<Option<(&'static [u8], Gguf<'static>)>> {
    let Some(bytes) = source.memory().filter(|it| sniff(it) == Some(Format::Gguf)) else {
        return Ok(None);
    };
    let file = crate::parsed::gguf(bytes)?;
    Ok(gguf_has_described_encoder(&file).then_some((bytes, file)))
}
