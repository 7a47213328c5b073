//! Opening an encoder of BERT's family.

use core::mem::MaybeUninit;

use nanoembed_core::describe::BertConfig;
use nanoembed_core::kernel::{self, Kernels, RowSummary};
use nanoembed_core::model::{Encoder, Layer, Needs, Plan, Transformer, Weights, Workspace};
use nanoembed_core::source::stored::{Contents, StoredWeights};
use nanoembed_core::token::{SpecialIds, Vocabulary, WordPiece};
use nanoembed_core::{Error, ErrorKind};

use super::file::File;
use super::pass::{Pass, ready};
use super::scratch::PassMemory;
use super::{Opened, vocabulary};
use crate::encoder_model::{EncoderModel, Head, Network, bert_sizes};
use crate::leaf::{self, Part};
use crate::memory::{Lent, LentSlice, Sum, number};
use crate::model_handle::{Kind, nanoembed_model};
use crate::model_options::{
    NANOEMBED_ACTIVATIONS_FIXED, NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_INDEXED,
    NANOEMBED_VOCABULARY_NONE, nanoembed_model_options, nanoembed_plan, nanoembed_vocabulary,
    quantizes,
};
use crate::model_tokenizer::Tokenizer;
use crate::source::Bytes;
use crate::status::Outcome;
use crate::status::{Failure, NANOEMBED_NEEDS_MEMORY};
use crate::tokenizer_index;
use crate::workspace;

/// The description of a file, before there is memory for its model.
pub(crate) struct BertOpening {
    source: Bytes,
    file: &'static File,
    config: BertConfig,
    plan: Plan,
    fixed: bool,
    vocabulary: nanoembed_vocabulary,
}

impl BertOpening {
    pub(super) fn new(
        source: Bytes,
        options: &nanoembed_model_options,
        memory: PassMemory,
    ) -> Outcome<&'static Self> {
        let mut memory: Pass<Self> = ready(memory)?;
        if !memory.file.parse_whole(&source)? {
            memory.pass(&source)?;
        }
        let Pass { file, opening, .. } = memory;
        let config = file.config().map_err(|why| other_kind(&source, why))?;
        // A pass does not look for added tokens.
        let bytes = source.memory().filter(|_| leaf::Parsed::built_in().is_ok());
        if let Some(bytes) = bytes.filter(|_| config.has_added_tokens) {
            file.parse(bytes)?;
        }
        let plan = plan(&source, file, &config, options)?;
        let vocabulary = vocabulary::chosen(options.vocabulary, &source);
        let fixed = options.activations == NANOEMBED_ACTIVATIONS_FIXED;
        let opening = opening.write(Self { source, file, config, plan, fixed, vocabulary });
        opening.check_vocabulary()?;
        Ok(opening)
    }

    pub(super) fn plan(&self) -> Outcome<nanoembed_plan> {
        let Self { config, plan, .. } = self;
        Ok(nanoembed_plan {
            model_bytes: self.model_bytes()?,
            workspace_bytes: workspace::bytes(&bert_sizes(config, plan, self.fixed)?)?,
            dimensions: number(config.hidden),
            tokens: number(plan.tokens),
            tile_bytes: number(plan.tile_bytes),
            quantized: plan.quantized.into(),
            ..nanoembed_plan::default()
        })
    }

    pub(super) fn open(&self, lent: &mut Lent, opened: Opened<'_>) -> Outcome {
        self.model(lent, opened.kind)?;
        self.tokenizer(lent, opened.tokenizer)
    }

    #[inline(never)] // so that the tokenizer has its stack to itself
    fn model(&self, lent: &mut Lent, kind: &mut MaybeUninit<Kind>) -> Outcome {
        let layers = LentSlice(lent.filled(self.config.layers, Layer::EMPTY)?);
        let (plan, fixed) = (self.plan, self.fixed);
        let leaf = leaf::Encoders::built_in()?;
        let kind = kind.write(Kind::Encoder(Part::new(
            leaf,
            EncoderModel {
                network: Network::Encoder(Encoder {
                    transformer: Transformer::unlocated(self.config.transformer, layers),
                    embedding: self.config.embedding(),
                    head: Head::NONE,
                    floats: Head::NONE,
                }),
                kernels: kernel::detect(),
                summaries: &[],
                plan,
                max_tokens: self.config.max_tokens,
                fixed,
                texts: None,
            },
        )));
        if let Kind::Encoder(model) = kind
            && let EncoderModel { network, kernels, summaries, .. } = &mut **model
            && let Network::Encoder(encoder) = network
        {
            let transformer = &mut encoder.transformer;
            transformer.locate(&self.weights())?;
            if kernels.summarize_row.is_some() {
                *summaries = self.summarize(transformer, kernels, lent)?;
            }
        }
        Ok(())
    }

    fn check_vocabulary(&self) -> Outcome {
        if self.vocabulary == NANOEMBED_VOCABULARY_NONE {
            return Ok(());
        }
        let refuse = |setting| Err(Failure::from(ErrorKind::UnsupportedSetting).about(setting));
        if self.config.has_default_prompt {
            return refuse("default_prompt_name");
        }
        if self.config.has_added_tokens && matches!(self.file, File::Passed(_)) {
            return refuse("added_tokens");
        }
        let is_indexed = self.vocabulary == NANOEMBED_VOCABULARY_INDEXED;
        let (offset, there) = match self.file {
            File::Passed(contents) => {
                let tokens = contents.tokens().ok_or(ErrorKind::MissingVocabulary)?;
                if tokens.count as usize > self.config.vocabulary {
                    return Err(Error::new(tokens.offset, ErrorKind::BadVocabulary).into());
                }
                let is_in_memory = self.source.memory().is_some();
                let there =
                    if is_indexed { is_in_memory } else { contents.token_index().is_some() };
                (tokens.offset, there)
            }
            File::Parsed(model) => {
                model.word_pieces(&self.config)?;
                (0, is_indexed)
            }
        };
        if there { Ok(()) } else { Err(Error::new(offset, ErrorKind::IndexRequired).into()) }
    }

    fn weights(&self) -> impl Weights {
        StoredWeights::new(&self.source, |name: &str| self.file.tensor(name))
    }

    /// The number of row sums that the kernels need; none for weights in storage, whose devices
    /// have no memory to spare for them.
    fn summaries(&self) -> Outcome<usize> {
        if self.source.memory().is_none() || self.fixed || !self.plan.quantized {
            return Ok(0);
        }
        let kernels = kernel::detect();
        Ok(nanoembed_core::model::summaries(&self.weights(), &self.config, &kernels)?)
    }

    fn summarize(
        &self,
        transformer: &Transformer<LentSlice<Layer>>,
        kernels: &Kernels,
        lent: &mut Lent,
    ) -> Outcome<&'static [RowSummary]> {
        let summaries = lent.filled(self.summaries()?, RowSummary::EMPTY)?;
        if !summaries.is_empty() {
            transformer.summarize(&self.source, kernels, &mut [], summaries)?;
        }
        Ok(summaries)
    }

    pub(super) fn model_bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_model>(1)?;
        sum.add::<Layer>(self.config.layers)?;
        sum.add::<RowSummary>(self.summaries()?)?;
        match self.file {
            File::Passed(contents) => {
                if let (NANOEMBED_VOCABULARY_INDEXED, Some(tokens)) =
                    (self.vocabulary, contents.tokens())
                {
                    vocabulary::add_bytes(tokens.count, &mut sum)?;
                }
            }
            File::Parsed(_) if self.vocabulary == NANOEMBED_VOCABULARY_NONE => {}
            File::Parsed(model) => {
                tokenizer_index::add_bytes(&model.word_pieces(&self.config)?.needs(), &mut sum)?;
            }
        }
        Ok(sum.bytes())
    }

    #[inline(never)] // within `nanoembed_model_init` it is 600 bytes more
    fn tokenizer(&self, lent: &mut Lent, into: &mut MaybeUninit<Tokenizer>) -> Outcome {
        into.write(Tokenizer::None);
        let contents = match self.file {
            File::Passed(contents) => contents,
            File::Parsed(_) if self.vocabulary == NANOEMBED_VOCABULARY_NONE => {
                return Ok(());
            }
            File::Parsed(model) => {
                let source = model.word_pieces(&self.config)?;
                let memory = tokenizer_index::memory(&source.needs(), lent)?;
                into.write(Tokenizer::Indexed(source.open(memory)?));
                return Ok(());
            }
        };
        let Some(tokens) = contents.tokens() else { return Ok(()) };
        let normalization = self.config.normalization();
        match (self.vocabulary, contents.token_index(), self.source.memory()) {
            (NANOEMBED_VOCABULARY_IN_FILE, Some(index), _) => {
                let vocabulary = vocabulary::in_file(&self.source, tokens, index)?;
                let special = special(contents, &vocabulary)?;
                into.write(Tokenizer::InFile(WordPiece::new(vocabulary, special, normalization)?));
            }
            (NANOEMBED_VOCABULARY_INDEXED, _, Some(file)) => {
                let start = usize::try_from(tokens.offset).unwrap_or(usize::MAX);
                let entries = file.get(start..).unwrap_or_default();
                let vocabulary = vocabulary::indexed(entries, tokens, lent)?;
                let special = special(contents, &vocabulary)?;
                into.write(Tokenizer::Indexed(WordPiece::new(vocabulary, special, normalization)?));
            }
            _ => {}
        }
        Ok(())
    }
}

fn special(contents: &Contents<'_>, vocabulary: &impl Vocabulary) -> Outcome<SpecialIds> {
    match contents.special() {
        Some(special) => Ok(special),
        None => Ok(SpecialIds::find(vocabulary)?),
    }
}

/// The error for a model in storage that is not BERT: static models and other families must be in
/// memory.
fn other_kind(source: &Bytes, why: Failure) -> Failure {
    let has_others = leaf::Families::built_in().is_ok() || leaf::Tables::built_in().is_ok();
    let is_other = why.status() == u32::from(ErrorKind::UnsupportedArchitecture.code());
    let is_stored = source.memory().is_none();
    if has_others && is_other && is_stored { Failure::here(NANOEMBED_NEEDS_MEMORY) } else { why }
}

#[inline(never)] // so that reading the file has its stack to itself
fn plan(
    source: &Bytes,
    file: &File,
    config: &BertConfig,
    options: &nanoembed_model_options,
) -> Outcome<Plan> {
    let weights = StoredWeights::new(source, |name: &str| file.tensor(name));
    let tokens = match options.tokens {
        0 => config.max_tokens,
        tokens => tokens as usize,
    };
    // Says also what is missing.
    let made_for = nanoembed_core::model::plan(&weights, config, tokens)?;
    let quantized = quantizes(options.activations, made_for.quantized)?;
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
