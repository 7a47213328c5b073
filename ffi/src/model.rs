//! Opening a model: how much memory it takes, and a handle in that memory.

use core::mem::size_of;

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd;
use nanoembed_core::kernel::{self, Kernels, RowSummary};
use nanoembed_core::model::stored::{
    Contents, StoredIds, StoredTokens, StoredWeights, TensorPlace,
};
use nanoembed_core::model::{Bert, BertConfig, Layer, Needs, Plan, Weights, Workspace};
use nanoembed_core::token::{Entries, HashVocabulary, SortedVocabulary, SpecialIds, WordPiece};
use nanoembed_core::{Error, ErrorKind};

use crate::decoder::TENSORS;
use crate::memory::{Lent, LentSlice, Sum, number};
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    INVALID, Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report,
};

/// How the model computes: a choice of `nanoembed_model_options`.
pub type nanoembed_activations = u32;
/// As the model was made for: quantised if its 8-bit weights were calibrated for that or weights are in blocks of a scale
/// each, else in 32-bit floats.
pub const NANOEMBED_ACTIVATIONS_AUTO: nanoembed_activations = 0;
/// In 32-bit floats: as precise as the weights are.
pub const NANOEMBED_ACTIVATIONS_FLOAT: nanoembed_activations = 1;
/// Quantised where weights are 8-bit or in blocks: faster, and the same bits on every machine.
pub const NANOEMBED_ACTIVATIONS_QUANTIZED: nanoembed_activations = 2;
/// In integers alone, for processors without an FPU; the same bits on every machine. Needs weights of 8 bits, and a
/// library built with the feature `fixed`: without it NANOEMBED_INVALID_ARGUMENT.
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

/// How a model is to be opened. Start from `nanoembed_model_options_default`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct nanoembed_model_options {
    /// Tokens that a workspace has room for: the longest text, or several short ones together; longer texts are truncated.
    /// 0 for as many as the model uses (256 unless its file says otherwise).
    pub tokens: u32,
    /// Bytes of weights that are read at a time from storage; 0 for the least. More means fewer, larger reads.
    pub tile_bytes: u32,
    /// How the model computes.
    pub activations: nanoembed_activations,
    /// How tokens are found.
    pub vocabulary: nanoembed_vocabulary,
    /// Tokens that pass through the feed-forward layers together; 0 for as many as is fast. Fewer take less memory, and
    /// weights in storage are read anew for each block.
    pub block_tokens: u32,
}

/// How much memory a model takes, to the byte: with less a call answers `NANOEMBED_BUFFER_TOO_SMALL`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_plan {
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

/// What a model is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_model_info {
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

/// A sentence embedder over a `.weights` file. Immutable: several threads may use it at once, each with a workspace of
/// its own.
#[derive(Debug)]
pub struct nanoembed_model {
    pub(crate) source: Bytes,
    pub(crate) bert: Bert<LentSlice<Layer>>,
    pub(crate) kernels: Kernels,
    pub(crate) summaries: &'static [RowSummary],
    pub(crate) plan: Plan,
    /// Whether everything is computed in integers.
    pub(crate) fixed: bool,
    pub(crate) tokenizer: Tokenizer,
    /// Bytes that the heap gave for this model; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Tokenizer {
    None,
    /// By the file's own order of its tokens.
    InFile(WordPiece<SortedVocabulary<'static, StoredTokens<Bytes>, StoredIds<Bytes>>>),
    /// By an index in memory.
    Indexed(WordPiece<HashVocabulary<'static, Entries<'static>>>),
}

/// The largest token or metadata entry.
const LEAST_BUFFER_BYTES: usize = 4096;

/// The memory that `nanoembed_plan_model` and `nanoembed_model_init` use while they run: at least these many bytes. A
/// model's workspace can be lent for that.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_scratch_bytes() -> usize {
    open_bytes().unwrap_or(usize::MAX)
}

fn open_bytes() -> Outcome<usize> {
    let mut sum = Sum::default();
    sum.add::<embd::Decoder<TENSORS>>(1)?;
    sum.add::<TensorPlace>(TENSORS)?;
    sum.add::<u8>(LEAST_BUFFER_BYTES)?;
    Ok(sum.bytes())
}

/// What is known of a file before there is memory for the model.
struct Opening {
    source: Bytes,
    contents: Contents<'static>,
    config: BertConfig,
    plan: Plan,
    fixed: bool,
    vocabulary: nanoembed_vocabulary,
}

impl Opening {
    /// # Safety
    ///
    /// The pointers are what the functions that take them say.
    unsafe fn new(
        source: *const nanoembed_source,
        options: *const nanoembed_model_options,
        (scratch, scratch_bytes): (*mut u8, usize),
    ) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let (source, options, mut lent) = unsafe {
            let options = if options.is_null() {
                nanoembed_model_options::default()
            } else {
                *pointer::get(options)?
            };
            (Bytes::new(source)?, options, Lent::new(scratch, scratch_bytes)?)
        };
        let decoder: *mut embd::Decoder<TENSORS> = lent.place(1)?;
        let tensors = lent.filled(TENSORS, TensorPlace::EMPTY)?;
        if lent.left() < LEAST_BUFFER_BYTES {
            return Err(TOO_SMALL);
        }
        // SAFETY: bytes may be zeros; the decoder's place was taken for it.
        let (buffer, decoder) = unsafe {
            decoder.write(embd::Decoder::new(Mode::Lenient));
            let left = lent.left() / crate::memory::ALIGN * crate::memory::ALIGN;
            (lent.zeroed::<u8>(left)?, &mut *decoder)
        };
        let contents = Contents::read(&source, decoder, buffer, tensors)?;
        let config = contents.config()?;
        let plan = plan(&source, &contents, &config, &options)?;
        let vocabulary = match options.vocabulary {
            NANOEMBED_VOCABULARY_AUTO if source.memory().is_some() => NANOEMBED_VOCABULARY_INDEXED,
            NANOEMBED_VOCABULARY_AUTO => NANOEMBED_VOCABULARY_IN_FILE,
            chosen @ NANOEMBED_VOCABULARY_NONE..=NANOEMBED_VOCABULARY_INDEXED => chosen,
            _ => return Err(INVALID),
        };
        let fixed = options.activations == NANOEMBED_ACTIVATIONS_FIXED;
        let opening = Self { source, contents, config, plan, fixed, vocabulary };
        opening.check_vocabulary()?;
        Ok(opening)
    }

    fn check_vocabulary(&self) -> Outcome {
        if self.vocabulary == NANOEMBED_VOCABULARY_NONE {
            return Ok(());
        }
        let tokens = self.contents.tokens().ok_or(ErrorKind::MissingVocabulary)?;
        if tokens.count as usize > self.config.vocabulary {
            return Err(Error::new(tokens.offset, ErrorKind::BadVocabulary).into());
        }
        let is_indexed = self.vocabulary == NANOEMBED_VOCABULARY_INDEXED;
        let there = if is_indexed {
            self.source.memory().is_some()
        } else {
            self.contents.token_index().is_some()
        };
        if there { Ok(()) } else { Err(Error::new(tokens.offset, ErrorKind::IndexRequired).into()) }
    }

    /// Elements of the memory for an index over the tokens: samples, and slots.
    fn index_sizes(&self) -> (usize, usize) {
        match self.contents.tokens() {
            Some(tokens) if self.vocabulary == NANOEMBED_VOCABULARY_INDEXED => {
                let slots = HashVocabulary::<Entries<'_>>::slots_needed(tokens.count);
                (Entries::samples_needed(tokens.count), slots)
            }
            _ => (0, 0),
        }
    }

    fn weights(&self) -> impl Weights {
        StoredWeights::new(&self.source, |name: &str| self.contents.tensor(name))
    }

    /// What kernels want to know of the weights. Whoever reads these from storage has no memory to spare for it.
    fn summaries(&self) -> Outcome<usize> {
        if self.source.memory().is_none() || self.fixed || !self.plan.quantized {
            return Ok(0);
        }
        let kernels = kernel::detect();
        Ok(nanoembed_core::model::summaries(&self.weights(), &self.config, &kernels)?)
    }

    fn summarize(
        &self,
        bert: &Bert<LentSlice<Layer>>,
        kernels: &Kernels,
        lent: &mut Lent,
    ) -> Outcome<&'static [RowSummary]> {
        let summaries = lent.filled(self.summaries()?, RowSummary::EMPTY)?;
        if !summaries.is_empty() {
            bert.summarize(&self.source, kernels, &mut [], summaries)?;
        }
        Ok(summaries)
    }

    fn model_bytes(&self) -> Outcome<usize> {
        let (samples, slots) = self.index_sizes();
        let mut sum = Sum::default();
        sum.add::<nanoembed_model>(1)?;
        sum.add::<Layer>(self.config.layers)?;
        sum.add::<RowSummary>(self.summaries()?)?;
        sum.add::<u32>(samples)?;
        sum.add::<u32>(slots)?;
        Ok(sum.bytes())
    }

    fn tokenizer(&self, lent: &mut Lent) -> Outcome<Tokenizer> {
        let Some(tokens) = self.contents.tokens() else { return Ok(Tokenizer::None) };
        let normalization = self.config.normalization();
        match (self.vocabulary, self.contents.token_index(), self.source.memory()) {
            (NANOEMBED_VOCABULARY_IN_FILE, Some(index), _) => {
                let strings = StoredTokens::new(self.source, tokens, index);
                let ids = StoredIds::new(self.source, tokens.count, index);
                let vocabulary = SortedVocabulary::new(strings, ids)?;
                let special = self.special(&vocabulary)?;
                Ok(Tokenizer::InFile(WordPiece::new(vocabulary, special, normalization)?))
            }
            (NANOEMBED_VOCABULARY_INDEXED, _, Some(file)) => {
                let (samples, slots) = self.index_sizes();
                let (samples, slots) = (lent.filled(samples, 0)?, lent.filled(slots, 0)?);
                let start = usize::try_from(tokens.offset).unwrap_or(usize::MAX);
                let entries = file.get(start..).unwrap_or_default();
                let entries =
                    Entries::sample(entries, tokens.offset, tokens.count, tokens.prefix, samples)?;
                let vocabulary = HashVocabulary::build(entries, slots)?;
                let special = self.special(&vocabulary)?;
                Ok(Tokenizer::Indexed(WordPiece::new(vocabulary, special, normalization)?))
            }
            _ => Ok(Tokenizer::None),
        }
    }

    fn special(&self, vocabulary: &impl nanoembed_core::token::Vocabulary) -> Outcome<SpecialIds> {
        match self.contents.special() {
            Some(special) => Ok(special),
            None => Ok(SpecialIds::find(vocabulary)?),
        }
    }
}

fn plan(
    source: &Bytes,
    contents: &Contents<'_>,
    config: &BertConfig,
    options: &nanoembed_model_options,
) -> Outcome<Plan> {
    let weights = StoredWeights::new(source, |name: &str| contents.tensor(name));
    let tokens = match options.tokens {
        0 => config.max_tokens,
        tokens => tokens as usize,
    };
    if tokens < 2 {
        return Err(INVALID);
    }
    // Says also what is missing.
    let made_for = nanoembed_core::model::plan(&weights, config, tokens)?;
    let quantized = match options.activations {
        NANOEMBED_ACTIVATIONS_AUTO => made_for.quantized,
        NANOEMBED_ACTIVATIONS_FLOAT => false,
        NANOEMBED_ACTIVATIONS_QUANTIZED => true,
        NANOEMBED_ACTIVATIONS_FIXED if crate::embed::FIXED => true,
        _ => return Err(INVALID),
    };
    let tile_bytes = match (source.memory(), options.tile_bytes) {
        (Some(_), _) => 0,
        (None, 0) => Needs::least_tile_bytes(config),
        (None, bytes) => bytes as usize,
    };
    let block = options.block_tokens as usize;
    let plan = Plan { tile_bytes, quantized, block, ..made_for };
    Workspace::needs(config, &plan)?;
    Ok(plan)
}

/// Fills `options` with the defaults.
///
/// # Safety
///
/// `options` is NULL or points to memory for options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_options_default(
    options: *mut nanoembed_model_options,
) -> nanoembed_status {
    // SAFETY: the caller's promise.
    answer(unsafe { pointer::out(options) }.map(|options| {
        options.write(nanoembed_model_options::default());
    }))
}

/// Reads a `.weights` file but for its weights and says how much memory the model in it takes. `options` may be NULL.
///
/// # Safety
///
/// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes, `plan` to memory for one.
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
        let (out, opening) = unsafe {
            (pointer::out(plan)?, Opening::new(source, options, (scratch, scratch_bytes))?)
        };
        let plan = &opening.plan;
        out.write(nanoembed_plan {
            model_bytes: opening.model_bytes()?,
            workspace_bytes: crate::embed::workspace_bytes(&opening.config, plan, opening.fixed)?,
            dimensions: number(opening.config.hidden),
            tokens: number(plan.tokens),
            tile_bytes: number(plan.tile_bytes),
            quantized: plan.quantized.into(),
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the model in a `.weights` file in `memory`, and puts the handle, which lies there, into `*model`. `options` may
/// be NULL; they must be those of the plan. `scratch` is used only meanwhile.
///
/// Nothing is copied from the file: it must stay as it is as long as the model is used. There is nothing to close.
///
/// # Safety
///
/// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes, aligned to
/// `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the model is used. `model` points to memory for a pointer.
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
        let (out, mut lent, opening) = unsafe {
            (
                pointer::out(model)?,
                Lent::new(memory, memory_bytes)?,
                Opening::new(source, options, (scratch, scratch_bytes))?,
            )
        };
        if memory_bytes < opening.model_bytes()? {
            return Err(TOO_SMALL);
        }
        let handle: *mut nanoembed_model = lent.place(1)?;
        let layers = LentSlice(lent.filled(opening.config.layers, Layer::EMPTY)?);
        let bert = Bert::open(&opening.weights(), opening.config, layers)?;
        let kernels = kernel::detect();
        let summaries: &[RowSummary] = match kernels.summarize_row {
            Some(_) => opening.summarize(&bert, &kernels, &mut lent)?,
            None => &[],
        };
        let tokenizer = opening.tokenizer(&mut lent)?;
        let Opening { source, plan, fixed, .. } = opening;
        let made = nanoembed_model {
            source,
            bert,
            kernels,
            summaries,
            plan,
            fixed,
            tokenizer,
            owned_bytes: 0,
        };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
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
        let (model, out) = unsafe { (pointer::get(model)?, pointer::out(info)?) };
        let config = model.bert.config();
        out.write(nanoembed_model_info {
            dimensions: number(config.hidden),
            layers: number(config.layers),
            heads: number(config.heads),
            intermediate: number(config.intermediate),
            positions: number(config.positions),
            max_tokens: number(config.max_tokens),
            vocabulary: number(config.vocabulary),
            has_tokenizer: (!matches!(model.tokenizer, Tokenizer::None)).into(),
            workspace_tokens: number(model.plan.tokens),
            quantized: model.plan.quantized.into(),
        });
        Ok(())
    };
    answer(make())
}

const _: () = assert!(size_of::<nanoembed_status>() == 4);
