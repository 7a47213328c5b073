//! Opening a model: how much memory it takes, and a handle in that memory.

use core::mem::size_of;

#[cfg(feature = "std")]
use std::boxed::Box;

#[cfg(feature = "families")]
use nanoembed_core::model::folder_tokenizer::FolderTokenizer;
use nanoembed_core::model::stored::{StoredIds, StoredTokens};
#[cfg(feature = "embd")]
use nanoembed_core::model::{Config, Plan};
use nanoembed_core::token::{Entries, HashVocabulary, SortedVocabulary, WordPiece};

#[cfg(feature = "embd")]
use crate::bert_model::BertModel;
use crate::embed::Sizes;
#[cfg(feature = "families")]
use crate::family_model::FamilyModel;
#[cfg(feature = "std")]
use crate::hosted::HostedModel;
use crate::memory::{Lent, number};
use crate::opening::{Opened, Opening, scratch_bytes};
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{Outcome, answer, nanoembed_error, nanoembed_status, report, too_small};
#[cfg(feature = "static-models")]
use crate::table_model::TableModel;
use crate::versioned;

/// How the model computes: a choice of `nanoembed_model_options`.
pub type nanoembed_activations = u32;
/// As the model was made for: quantised if its 8-bit weights were calibrated for that or weights
/// are in blocks of a scale each, else in 32-bit floats.
pub const NANOEMBED_ACTIVATIONS_AUTO: nanoembed_activations = 0;
/// In 32-bit floats: as precise as the weights are.
pub const NANOEMBED_ACTIVATIONS_FLOAT: nanoembed_activations = 1;
/// Quantised where weights are 8-bit or in blocks: faster, and the same bits on every machine.
pub const NANOEMBED_ACTIVATIONS_QUANTIZED: nanoembed_activations = 2;
/// In integers alone, for processors without an FPU; the same bits on every machine. Needs weights
/// of 8 bits, and a library built with the feature `fixed`: without it NANOEMBED_INVALID_ARGUMENT.
pub const NANOEMBED_ACTIVATIONS_FIXED: nanoembed_activations = 3;

/// How tokens are found: a choice of `nanoembed_model_options`.
pub type nanoembed_vocabulary = u32;
/// By the index that the file holds if it has one and lies in storage, else by an index in memory.
pub const NANOEMBED_VOCABULARY_AUTO: nanoembed_vocabulary = 0;
/// Not at all: texts come as token ids. Needs neither memory nor a vocabulary in the file.
pub const NANOEMBED_VOCABULARY_NONE: nanoembed_vocabulary = 1;
/// By the index that the file holds: no memory, and some hundred bytes read for each token.
pub const NANOEMBED_VOCABULARY_IN_FILE: nanoembed_vocabulary = 2;
/// By an index in memory, some 6.5 bytes a token: fast. The file must be in memory.
pub const NANOEMBED_VOCABULARY_INDEXED: nanoembed_vocabulary = 3;

/// How a model is to be opened. All zeros but its size is a good start.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_model_options {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Tokens that a workspace has room for: the longest text, or several short ones together;
    /// longer texts are truncated. 0 for as many as the model uses (256 unless its file says
    /// otherwise). 2 to 32768; `nanoembed_model_open` also takes as many as the model has positions
    /// if these are more, and 1 for a table.
    pub tokens: u32,
    /// Bytes of weights that are read at a time from storage; 0 for the least. More means fewer,
    /// larger reads. Without meaning where the file is in memory.
    pub tile_bytes: u32,
    /// How the model computes.
    pub activations: nanoembed_activations,
    /// How tokens are found.
    pub vocabulary: nanoembed_vocabulary,
    /// Tokens that pass through the feed-forward layers together; 0 for as many as is fast. Fewer
    /// take less memory, and weights in storage are read again for each block. Without meaning for
    /// tables, which have no such layers.
    pub block_tokens: u32,
}

crate::versioned!(nanoembed_model_options);

/// How much memory a model takes, to the byte: with less a call answers
/// `NANOEMBED_BUFFER_TOO_SMALL`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_plan {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Memory for the model, as long as it is used.
    pub model_bytes: usize,
    /// Memory for the workspace of one thread.
    pub workspace_bytes: usize,
    /// Elements of an embedding.
    pub dimensions: u32,
    /// Tokens that a workspace has room for.
    pub tokens: u32,
    /// Bytes of weights that are read at a time; 0 if the file is in memory.
    pub tile_bytes: u32,
    /// 1 if activations are quantised, else 0.
    pub quantized: u32,
}

crate::versioned!(nanoembed_plan);

/// What a model is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_model_info {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Elements of an embedding.
    pub dimensions: u32,
    /// Transformer layers.
    pub layers: u32,
    /// Attention heads.
    pub heads: u32,
    /// Elements of the feed-forward layer.
    pub intermediate: u32,
    /// Positions that the model knows.
    pub positions: u32,
    /// Tokens of a text that it was made to use.
    pub max_tokens: u32,
    /// Tokens in the vocabulary.
    pub vocabulary: u32,
    /// 1 if texts can be tokenised, else 0.
    pub has_tokenizer: u32,
    /// Tokens that a workspace has room for.
    pub workspace_tokens: u32,
    /// 1 if activations are quantised, else 0.
    pub quantized: u32,
}

crate::versioned!(nanoembed_model_info);

/// A sentence embedder. Immutable: several threads may use it at once, each with a workspace of its
/// own.
#[derive(Debug)]
pub struct nanoembed_model {
    pub(crate) source: Bytes,
    pub(crate) kind: Kind,
    pub(crate) tokenizer: Tokenizer,
    /// Bytes that the heap gave for this model; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

/// What makes vectors of tokens.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // in the caller's memory
pub(crate) enum Kind {
    #[cfg(feature = "embd")]
    Bert(BertModel),
    #[cfg(feature = "families")]
    Family(FamilyModel),
    #[cfg(feature = "static-models")]
    Table(TableModel),
    /// Any other, with memory of its own.
    #[cfg(feature = "std")]
    Hosted(Box<HostedModel>),
}

impl Kind {
    /// Elements of an embedding.
    pub(crate) fn dimensions(&self) -> usize {
        match self {
            #[cfg(feature = "embd")]
            Self::Bert(bert) => bert.encoder.config().hidden,
            #[cfg(feature = "families")]
            Self::Family(family) => family.kind.dimensions(),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.dimensions(),
            #[cfg(feature = "std")]
            Self::Hosted(hosted) => hosted.dimensions(),
        }
    }

    /// What a workspace takes.
    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        match self {
            #[cfg(feature = "embd")]
            Self::Bert(bert) => bert.sizes(),
            #[cfg(feature = "families")]
            Self::Family(family) => family.sizes(),
            #[cfg(feature = "static-models")]
            Self::Table(table) => table.sizes(),
            #[cfg(feature = "std")]
            Self::Hosted(_) => Ok(Sizes::NONE),
        }
    }

    fn info(&self) -> nanoembed_model_info {
        match self {
            #[cfg(feature = "embd")]
            Self::Bert(bert) => {
                let config = bert.encoder.config();
                nanoembed_model_info {
                    dimensions: number(config.hidden),
                    max_tokens: number(bert.max_tokens),
                    ..transformer_info(config, &bert.plan)
                }
            }
            #[cfg(feature = "families")]
            Self::Family(family) => nanoembed_model_info {
                dimensions: number(family.kind.dimensions()),
                max_tokens: number(family.max_tokens),
                ..transformer_info(family.kind.config(), &family.plan)
            },
            #[cfg(feature = "static-models")]
            Self::Table(table) => nanoembed_model_info {
                dimensions: number(table.dimensions()),
                max_tokens: number(table.max_tokens().unwrap_or(usize::MAX)),
                vocabulary: number(table.tokens()),
                workspace_tokens: number(table.limit()),
                ..nanoembed_model_info::default()
            },
            #[cfg(feature = "std")]
            Self::Hosted(hosted) => nanoembed_model_info {
                dimensions: number(hosted.dimensions()),
                positions: number(hosted.positions()),
                max_tokens: number(hosted.max_tokens()),
                has_tokenizer: hosted.tokenizes().into(),
                workspace_tokens: number(hosted.limit()),
                quantized: hosted.quantized().into(),
                ..nanoembed_model_info::default()
            },
        }
    }
}

/// What transformers of all kinds have.
#[cfg(feature = "embd")]
fn transformer_info(config: &Config, plan: &Plan) -> nanoembed_model_info {
    nanoembed_model_info {
        layers: number(config.layers),
        heads: number(config.heads.query),
        intermediate: number(config.intermediate),
        positions: number(config.positions),
        vocabulary: number(config.vocabulary),
        workspace_tokens: number(plan.tokens),
        quantized: plan.quantized.into(),
        ..nanoembed_model_info::default()
    }
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // in the caller's memory
pub(crate) enum Tokenizer {
    None,
    /// By the file's own order of its tokens.
    InFile(WordPiece<SortedVocabulary<'static, StoredTokens<Bytes>, StoredIds<Bytes>>>),
    /// By an index in memory.
    Indexed(WordPiece<HashVocabulary<'static, Entries<'static>>>),
    /// As the texts of a folder say it, by an index in memory.
    #[cfg(feature = "families")]
    Folder(FolderTokenizer<'static>),
}

/// The memory that `nanoembed_plan_model` and `nanoembed_model_init` use while they run over a file,
/// put into `*bytes`: some 100 bytes a tensor, and 6 KB where there are transformers. Reads the
/// file's first 64 bytes. A model's workspace can be lent for that.
///
/// # Safety
///
/// `source` is what its type says, `bytes` points to memory for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_scratch(
    source: *const nanoembed_source,
    bytes: *mut usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, source) = unsafe { (pointer::out(bytes)?, Bytes::new(source)?) };
        out.write(scratch_bytes(&source)?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Reads a file but for its weights and says how much memory the encoder in it takes. BERT encoders
/// in `.weights` files may lie in storage; other families, and `.amb` and GGUF files, must be in
/// memory. `options` may be NULL.
///
/// Where texts cannot be tokenised without a heap, as the model's tokenizer does it, the setting is
/// refused by its name; with `NANOEMBED_VOCABULARY_NONE` the model takes token ids.
///
/// A model that compares texts has 0 dimensions, and is for `nanoembed_score`.
///
/// `NANOEMBED_OTHER_MODEL` for a model that continues texts; `NANOEMBED_UNSUPPORTED_AMB` or
/// `NANOEMBED_UNSUPPORTED_GGUF` if the build leaves the format out.
///
/// # Safety
///
/// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes,
/// `plan` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_model(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    scratch: *mut u8,
    scratch_bytes: usize,
    plan: *mut nanoembed_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, (_, opening)) = unsafe {
            (versioned::room(plan)?, Opening::new(source, options, (scratch, scratch_bytes))?)
        };
        out.write(opening.plan()?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the encoder in a file in `memory`, and puts the handle, which lies there, into
/// `*model`. `options` may be NULL; they must be those of the plan. `scratch` is used only
/// meanwhile.
///
/// Nothing is copied from the file: it must stay as it is as long as the model is used. There is
/// nothing to close.
///
/// # Safety
///
/// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes,
/// aligned to `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the model is used. `model`
/// points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_init(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    memory: *mut u8,
    memory_bytes: usize,
    scratch: *mut u8,
    scratch_bytes: usize,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, (source, opening)) = unsafe {
            (
                pointer::out(model)?,
                Lent::new(memory, memory_bytes)?,
                Opening::new(source, options, (scratch, scratch_bytes))?,
            )
        };
        let needed = opening.model_bytes()?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let handle: *mut nanoembed_model = lent.place(1)?;
        // SAFETY: the place was taken for it, and may hold anything.
        let opened = unsafe {
            (&raw mut (*handle).source).write(source);
            (&raw mut (*handle).owned_bytes).write(0);
            Opened {
                kind: &mut *(&raw mut (*handle).kind).cast(),
                tokenizer: &mut *(&raw mut (*handle).tokenizer).cast(),
            }
        };
        opening.open(&mut lent, opened)?;
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// What the model is.
///
/// # Safety
///
/// `model` is NULL or a model, `info` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_get_info(
    model: *const nanoembed_model,
    info: *mut nanoembed_model_info,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, out) = unsafe { (pointer::get(model)?, versioned::room(info)?) };
        let info = model.kind.info();
        let has_tokenizer = u32::from(!matches!(model.tokenizer, Tokenizer::None));
        out.write(nanoembed_model_info {
            has_tokenizer: info.has_tokenizer | has_tokenizer,
            ..info
        });
        Ok(())
    };
    answer(make())
}

const _: () = assert!(size_of::<nanoembed_status>() == 4);
