//! What is known of a file before there is memory for its model, and what its model is made of.

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
use crate::memory::{Lent, LentSlice, Sum};
use crate::model::{
    NANOEMBED_ACTIVATIONS_AUTO, NANOEMBED_ACTIVATIONS_FIXED, NANOEMBED_ACTIVATIONS_FLOAT,
    NANOEMBED_ACTIVATIONS_QUANTIZED, NANOEMBED_VOCABULARY_AUTO, NANOEMBED_VOCABULARY_IN_FILE,
    NANOEMBED_VOCABULARY_INDEXED, NANOEMBED_VOCABULARY_NONE, Tokenizer, nanoembed_model,
    nanoembed_model_options, nanoembed_vocabulary,
};
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{Failure, INVALID, Outcome, TOO_SMALL};

/// The largest token or metadata entry.
const LEAST_BUFFER_BYTES: usize = 4096;

/// Bytes that [`Opening::new`] uses while it runs.
pub(crate) fn open_bytes() -> Outcome<usize> {
    let mut sum = Sum::default();
    sum.add::<embd::Decoder<TENSORS>>(1)?;
    sum.add::<TensorPlace>(TENSORS)?;
    sum.add::<u8>(LEAST_BUFFER_BYTES)?;
    Ok(sum.bytes())
}

/// What is known of a file before there is memory for the model.
pub(crate) struct Opening {
    pub(crate) source: Bytes,
    contents: Contents<'static>,
    pub(crate) config: BertConfig,
    pub(crate) plan: Plan,
    pub(crate) fixed: bool,
    vocabulary: nanoembed_vocabulary,
}

impl Opening {
    /// # Safety
    ///
    /// The pointers are what the functions that take them say.
    pub(crate) unsafe fn new(
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

    pub(crate) fn weights(&self) -> impl Weights {
        StoredWeights::new(&self.source, |name: &str| self.contents.tensor(name))
    }

    /// What kernels want to know of the weights. Whoever reads these from storage has no memory to
    /// spare for it.
    fn summaries(&self) -> Outcome<usize> {
        if self.source.memory().is_none() || self.fixed || !self.plan.quantized {
            return Ok(0);
        }
        let kernels = kernel::detect();
        Ok(nanoembed_core::model::summaries(&self.weights(), &self.config, &kernels)?)
    }

    pub(crate) fn summarize(
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

    pub(crate) fn model_bytes(&self) -> Outcome<usize> {
        let (samples, slots) = self.index_sizes();
        let mut sum = Sum::default();
        sum.add::<nanoembed_model>(1)?;
        sum.add::<Layer>(self.config.layers)?;
        sum.add::<RowSummary>(self.summaries()?)?;
        sum.add::<u32>(samples)?;
        sum.add::<u32>(slots)?;
        Ok(sum.bytes())
    }

    pub(crate) fn tokenizer(&self, lent: &mut Lent) -> Outcome<Tokenizer> {
        let Some(tokens) = self.contents.tokens() else { return Ok(Tokenizer::None) };
        let is_asked = self.config.has_added_tokens || self.config.has_default_prompt;
        if is_asked && self.vocabulary != NANOEMBED_VOCABULARY_NONE {
            return Err(Failure::Core(Error::without_offset(ErrorKind::UnsupportedSetting)));
        }
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
