//! What is known of a file before there is memory for its model, and what its model is made of.

#[cfg(feature = "bert")]
mod bert;
mod scratch;
#[cfg(feature = "static-models")]
mod table;
mod vocabulary;

pub(crate) use scratch::scratch_bytes;

#[cfg(feature = "bert")]
use self::bert::BertOpening;
use self::scratch::PassMemory;
#[cfg(feature = "static-models")]
use self::table::TableOpening;
use crate::memory::Lent;
use crate::model::{
    Kind, NANOEMBED_VOCABULARY_INDEXED, Tokenizer, nanoembed_model_options, nanoembed_plan,
};
use crate::source::{Bytes, nanoembed_source};
use crate::status::{Outcome, invalid};
use crate::versioned;

/// More tokens than any model uses at once.
const MOST_TOKENS: u32 = 1 << 15;

/// What is known of a file before there is memory for the model.
#[allow(clippy::large_enum_variant)] // nothing to put the large one in a box of
pub(crate) enum Opening {
    #[cfg(feature = "bert")]
    Bert(BertOpening),
    #[cfg(feature = "static-models")]
    Table(TableOpening),
}

/// What goes into a model's memory.
pub(crate) struct Opened {
    pub(crate) kind: Kind,
    pub(crate) tokenizer: Tokenizer,
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
        let (source, options, mut lent) = unsafe {
            (Bytes::new(source)?, versioned::given(options)?, Lent::new(scratch, scratch_bytes)?)
        };
        if options.tokens > MOST_TOKENS || options.tokens == 1 {
            return Err(invalid("tokens"));
        }
        if options.vocabulary > NANOEMBED_VOCABULARY_INDEXED {
            return Err(invalid("vocabulary"));
        }
        let memory = PassMemory::new(&source, scratch_bytes, &mut lent)?;
        #[cfg(feature = "static-models")]
        let memory = match TableOpening::find(&source, &options, memory)? {
            Ok(table) => return Ok((source, Self::Table(table))),
            Err(memory) => memory,
        };
        #[cfg(feature = "bert")]
        let opening = BertOpening::new(source, &options, memory).map(Self::Bert);
        #[cfg(not(feature = "bert"))]
        let opening = {
            let _ = memory;
            use crate::status::{Failure, NANOEMBED_UNSUPPORTED_TRANSFORMERS};
            Err(Failure::here(NANOEMBED_UNSUPPORTED_TRANSFORMERS))
        };
        Ok((source, opening?))
    }

    pub(crate) fn plan(&self) -> Outcome<nanoembed_plan> {
        match self {
            #[cfg(feature = "bert")]
            Self::Bert(bert) => bert.plan(),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.plan(),
        }
    }

    pub(crate) fn model_bytes(&self) -> Outcome<usize> {
        match self {
            #[cfg(feature = "bert")]
            Self::Bert(bert) => bert.model_bytes(),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.model_bytes(),
        }
    }

    /// Fills the model's memory behind its handle.
    pub(crate) fn open(&self, lent: &mut Lent) -> Outcome<Opened> {
        match self {
            #[cfg(feature = "bert")]
            Self::Bert(bert) => bert.open(lent),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.open(lent),
        }
    }
}
