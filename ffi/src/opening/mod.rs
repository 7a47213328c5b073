//! Opening a model's file: its memory requirements, then the parts of the model.

mod bert;
mod family;
mod file;
mod pass;
mod scratch;
mod table;
mod texts;
mod vocabulary;

use core::mem::MaybeUninit;

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::gguf_has_described_encoder;
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::embd::TensorRecord;
use nanoembed_core::format::embd::{DecoderOver, Embd};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::sniff;
use nanoembed_core::source::{FolderFile, TableSource, TransformerSource, embd_is_decoder};

use self::bert::BertOpening;
use self::family::FamilyOpening;
use self::scratch::PassMemory;
use self::table::TableOpening;
use crate::leaf::{self, Part};
use crate::memory::{Lent, Sum};
use crate::model_handle::Kind;
use crate::model_options::{
    MOST_TOKENS, NANOEMBED_VOCABULARY_INDEXED, nanoembed_model_options, nanoembed_plan,
};
use crate::model_tokenizer::Tokenizer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{Failure, NANOEMBED_UNSUPPORTED_TRANSFORMERS, Outcome, invalid, too_small};
use crate::versioned;

/// Bytes of scratch memory that opening a model takes.
pub(crate) fn scratch_bytes(source: &Bytes) -> Outcome<usize> {
    bytes_for(source, scratch::tensors(source)?)
}

fn bytes_for(source: &Bytes, tensors: usize) -> Outcome<usize> {
    let mut sum = Sum::default();
    if leaf::Amb::built_in().is_ok() {
        texts::add_bytes(source, &mut sum)?;
    }
    sum.add::<TensorRecord>(tensors)?;
    match leaf::Encoders::built_in() {
        Ok(_) => pass::add_bytes::<BertOpening>(tensors, &mut sum)?,
        Err(_) => sum.add::<TableOpening>(1)?,
    }
    Ok(sum.bytes())
}

/// The description of a file, before there is memory for its model. It is stored in the scratch
/// memory.
pub(crate) enum Opening {
    Bert(Part<leaf::Encoders, &'static BertOpening>),
    Family(Part<leaf::Families, &'static FamilyOpening>),
    Table(Part<leaf::Tables, &'static TableOpening>),
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
        if let Some(opening) = Self::described(&source, &options, &mut memory)? {
            return Ok((source, opening));
        }
        let left_out = |_| Failure::here(NANOEMBED_UNSUPPORTED_TRANSFORMERS);
        let leaf = leaf::Encoders::built_in().map_err(left_out)?;
        let opening = BertOpening::new(source, &options, memory)?;
        Ok((source, Self::Bert(Part::new(leaf, opening))))
    }

    /// A static model, or an encoder that a folder's texts or GGUF keys describe, in a file in
    /// memory. Causal models in `.weights` files are rejected.
    fn described(
        source: &Bytes,
        options: &nanoembed_model_options,
        memory: &mut PassMemory,
    ) -> Outcome<Option<Self>> {
        let (tables, families) = (leaf::Tables::built_in(), leaf::Families::built_in());
        if tables.is_err() && families.is_err() {
            return Ok(None);
        }
        if leaf::Amb::built_in().is_ok()
            && let (Some(bytes), Some(folder)) =
                (source.memory(), texts::amb_folder(source, memory)?)
        {
            return Self::family(source, (folder, bytes), options, memory).map(Some);
        }
        if leaf::Gguf::built_in().is_ok()
            && let Some((bytes, file)) = gguf_encoder(source)?
        {
            return Self::family(source, (file.into(), bytes), options, memory).map(Some);
        }
        let Some(bytes) = source.memory().filter(|it| sniff(it) == Some(Format::Embd)) else {
            return Ok(None);
        };
        let embd = parsed(bytes, memory.records)?;
        if families.is_ok() && embd_is_decoder(&embd) {
            return Err(ErrorKind::OtherModel.into());
        }
        if let Ok(leaf) = tables
            && TableSource::is_in(&embd)
        {
            let table = TableOpening::new(source, embd, options, memory)?;
            table.read_tokenizer()?;
            return Ok(Some(Self::Table(Part::new(leaf, table))));
        }
        if families.is_ok() && TransformerSource::is_in(&embd) {
            return Self::family(source, (embd.into(), bytes), options, memory).map(Some);
        }
        Ok(None)
    }

    fn family(
        source: &Bytes,
        file: (FolderFile<'static>, &'static [u8]),
        options: &nanoembed_model_options,
        memory: &mut PassMemory,
    ) -> Outcome<Self> {
        let leaf = leaf::Families::built_in()?;
        let family = FamilyOpening::new(source, file, options, memory)?;
        Ok(Self::Family(Part::new(leaf, family)))
    }

    pub(crate) fn plan(&self) -> Outcome<nanoembed_plan> {
        match self {
            Self::Bert(bert) => bert.plan(),
            Self::Family(family) => family.plan(),
            Self::Table(table) => table.plan(),
        }
    }

    pub(crate) fn model_bytes(&self) -> Outcome<usize> {
        match self {
            Self::Bert(bert) => bert.model_bytes(),
            Self::Family(family) => family.model_bytes(),
            Self::Table(table) => table.model_bytes(),
        }
    }

    /// Fills the model's memory: its parts, and what lies behind its handle.
    pub(crate) fn open(&self, lent: &mut Lent, opened: Opened<'_>) -> Outcome {
        match self {
            Self::Bert(bert) => bert.open(lent, opened),
            Self::Family(family) => family.open(lent, opened),
            Self::Table(table) => table.open(lent, opened),
        }
    }
}

/// A `.weights` file in memory.
#[inline(never)] // the decoder lies on the stack meanwhile
fn parsed(bytes: &'static [u8], records: &mut [TensorRecord]) -> Outcome<Embd<'static>> {
    Ok(Embd::parse_with(DecoderOver::lent(Mode::Lenient, records), bytes)?)
}

/// The GGUF file in memory, if it holds an encoder other than BERT with WordPiece.
#[inline(never)] // so that reading the file has its stack to itself
pub(crate) fn gguf_encoder(source: &Bytes) -> Outcome<Option<(&'static [u8], Gguf<'static>)>> {
    let Some(bytes) = source.memory().filter(|it| sniff(it) == Some(Format::Gguf)) else {
        return Ok(None);
    };
    let file = crate::memory_file::gguf(bytes)?;
    Ok(gguf_has_described_encoder(&file).then_some((bytes, file)))
}
