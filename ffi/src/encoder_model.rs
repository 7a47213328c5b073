//! Encoders and cross-encoders in lent memory, and running them in a workspace.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::folder::FolderPrompts;
use nanoembed_core::kernel::{Kernels, RowSummary};
use nanoembed_core::model::CrossEncoder;
use nanoembed_core::model::{
    Batch, Config, Encoder, FixedMemory, FixedNeeds, HeadLayer, Layer, Plan, Run, Workspace,
};
use nanoembed_core::source::folder_tokenizer::TokenizingNeeds;
use nanoembed_core::token::Encoded;

use crate::chosen::{self, Chosen, Prompt};
use crate::folder_tokenizer::{self, tokenizing_floats};
use crate::leaf::{self, Part};
use crate::memory::LentSlice;
use crate::model_options::FIXED;
use crate::model_tokenizer::Tokenizer;
use crate::scratch::{Scratch, Sizes};
use crate::source::Bytes;
use crate::status::{INVALID, Outcome, TOO_SMALL};

/// The memory of layers after the pooling, and of their weights; BERT has none.
#[derive(Debug)]
pub(crate) struct Head<T: 'static>(Option<Part<leaf::Families, LentSlice<T>>>);

impl<T> Head<T> {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn new(leaf: leaf::Families, memory: &'static mut [T]) -> Self {
        Self(Some(Part::new(leaf, LentSlice(memory))))
    }
}

impl<T> AsRef<[T]> for Head<T> {
    fn as_ref(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |memory| memory.as_ref())
    }
}

impl<T> AsMut<[T]> for Head<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self.0.as_mut().map_or(&mut [], |memory| memory.as_mut())
    }
}

/// A model that embeds texts.
pub(crate) type Embedder = Encoder<LentSlice<Layer>, Head<HeadLayer>, Head<f32>>;

/// An encoder of any family.
#[derive(Debug)]
pub(crate) struct EncoderModel {
    pub(crate) network: Network,
    pub(crate) kernels: Kernels,
    pub(crate) summaries: &'static [RowSummary],
    pub(crate) plan: Plan,
    /// The number of tokens of a text that the model was made for.
    pub(crate) max_tokens: usize,
    /// True if everything is computed in integers.
    pub(crate) fixed: bool,
    /// `None` for BERT in its own layout.
    pub(crate) texts: Option<Part<leaf::Families, TextSettings>>,
}

/// The computation of a model.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // in memory that is lent
pub(crate) enum Network {
    Encoder(Embedder),
    CrossEncoder(Part<leaf::Families, CrossEncoder<LentSlice<Layer>, Head<f32>>>),
}

/// The settings of texts that a folder describes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextSettings {
    /// Floats of scratch memory that the head takes.
    pub(crate) scratch: usize,
    /// The memory that tokenising a text takes.
    pub(crate) tokenizing: TokenizingNeeds,
    pub(crate) prompts: FolderPrompts<'static>,
}

/// The memory of a workspace for BERT in its own layout, whose short texts are computed together.
pub(crate) fn bert_sizes(config: &Config, plan: &Plan, fixed: bool) -> Outcome<Sizes> {
    // A text has two tokens at least.
    let (ids, texts) = (plan.tokens, plan.tokens / 2);
    if fixed && FIXED {
        let FixedNeeds { words, codes, bytes } = FixedNeeds::new(config, plan)?;
        // And the embedding.
        let words = words.checked_add(config.hidden).ok_or(TOO_SMALL)?;
        return Ok(Sizes { bytes, words, codes, ids, texts, ..Sizes::NONE });
    }
    let needs = Workspace::needs(config, plan)?;
    Ok(Sizes { floats: needs.floats, bytes: needs.bytes, ids, texts, ..Sizes::NONE })
}

/// The memory of a workspace for a model that a folder describes. A text is tokenised in the memory
/// in which its embedding is computed later.
pub(crate) fn family_sizes(
    config: &Config,
    plan: &Plan,
    texts: &TextSettings,
    compares: bool,
) -> Outcome<Sizes> {
    let TextSettings { scratch, tokenizing, prompts } = texts;
    let needs = Workspace::needs(config, plan)?;
    let floats = needs.floats.checked_add(*scratch).ok_or(TOO_SMALL)?;
    let floats = floats.max(tokenizing_floats(tokenizing)?);
    let prompt = if tokenizing.after > 0 { prompts.longest().max(chosen::LEAST) } else { 0 };
    // The types of a pair's tokens.
    let types = if compares { plan.tokens } else { 0 };
    let bytes = needs.bytes.checked_add(types).ok_or(TOO_SMALL)?;
    Ok(Sizes { floats, bytes, ids: plan.tokens, prompt, ..Sizes::NONE })
}

impl Network {
    pub(crate) fn config(&self) -> &Config {
        match self {
            Self::Encoder(model) => model.config(),
            Self::CrossEncoder(model) => model.config(),
        }
    }

    /// Elements of an embedding; 0 for a model that compares texts.
    pub(crate) fn dimensions(&self) -> usize {
        match self {
            Self::Encoder(model) => model.dimensions(),
            Self::CrossEncoder(_) => 0,
        }
    }
}

impl EncoderModel {
    pub(crate) fn config(&self) -> &Config {
        self.network.config()
    }

    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        if let Some(texts) = &self.texts {
            let compares = matches!(self.network, Network::CrossEncoder(_));
            return family_sizes(self.config(), &self.plan, texts, compares);
        }
        bert_sizes(self.config(), &self.plan, self.fixed)
    }

    /// Floats of scratch memory that the head takes.
    fn head_floats(&self) -> usize {
        self.texts.as_ref().map_or(0, |texts| texts.scratch)
    }

    /// The most tokens of one text.
    pub(crate) fn most(&self) -> usize {
        self.config().positions.min(self.plan.tokens)
    }

    /// Returns true if short texts are computed together.
    pub(crate) const fn packs(&self) -> bool {
        self.texts.is_none()
    }

    /// Chooses the prompt before texts.
    pub(crate) fn set_prompt(
        &self,
        tokenizer: &Tokenizer,
        scratch: &mut Scratch,
        prompt: &mut Prompt,
        chosen: Chosen<'_>,
    ) -> Outcome {
        let (Some(texts), Tokenizer::Folder(tokenizer)) = (&self.texts, tokenizer) else {
            return Ok(());
        };
        prompt.choose(&texts.prompts, chosen)?;
        if !texts.prompts.are_pooled && !prompt.text().is_empty() {
            let memory = folder_tokenizer::tokenizing(&texts.tokenizing, scratch.floats.0)?;
            prompt.skip(tokenizer.tokens_of_prompt(prompt.text(), memory)?);
        }
        Ok(())
    }

    /// The ids of a text after its prompt.
    pub(crate) fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        scratch: &mut Scratch,
        prompt: &Prompt,
        text: &str,
        ids: &mut [u32],
    ) -> Outcome<Encoded> {
        if let (Some(texts), Tokenizer::Folder(tokenizer)) = (&self.texts, tokenizer) {
            let memory = folder_tokenizer::tokenizing(&texts.tokenizing, scratch.floats.0)?;
            return Ok(tokenizer.encode_after(prompt.text(), text, ids, memory)?);
        }
        tokenizer.by_word_pieces(text, ids)
    }

    /// The embeddings of texts.
    pub(crate) fn run(
        &self,
        source: &Bytes,
        scratch: &mut Scratch,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Outcome {
        let model = match &self.network {
            Network::Encoder(model) => model,
            Network::CrossEncoder(_) => return Err(ErrorKind::OtherModel.into()),
        };
        if self.fixed && FIXED {
            return self.run_fixed(model, source, scratch, texts, out);
        }
        let (head, floats) =
            scratch.floats.0.split_at_mut_checked(self.head_floats()).ok_or(TOO_SMALL)?;
        let mut workspace = Workspace::new(model.config(), &self.plan, floats, scratch.bytes.0)?;
        let run = Run { summaries: self.summaries, ..Run::new(source, &self.kernels) };
        Ok(model.embed(&run, texts, &mut workspace, head, out)?)
    }

    /// The same in integers; only the results are converted.
    fn run_fixed(
        &self,
        model: &Embedder,
        source: &Bytes,
        scratch: &mut Scratch,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Outcome {
        let Scratch { words, codes, bytes, .. } = scratch;
        let hidden = model.config().hidden;
        let (vector, words) = words.0.split_at_mut_checked(hidden).ok_or(TOO_SMALL)?;
        let one = if model.embedding.normalize { 1 << 30 } else { 1 << 16 };
        let mut rest = texts.ids;
        for (length, out) in texts.lengths.iter().zip(out.chunks_exact_mut(hidden.max(1))) {
            let (ids, others) = rest.split_at_checked(*length).ok_or(INVALID)?;
            rest = others;
            let memory = FixedMemory { words: &mut *words, codes: codes.0, bytes: bytes.0 };
            model.embed_fixed(source, &self.plan, ids, memory, vector)?;
            for (to, from) in out.iter_mut().zip(&*vector) {
                *to = *from as f32 / one as f32;
            }
        }
        Ok(())
    }

    /// The score of a document as an answer to a query.
    pub(crate) fn score(
        &self,
        source: &Bytes,
        tokenizer: &Tokenizer,
        scratch: &mut Scratch,
        pair: [&str; 2],
        ids: &mut [u32],
    ) -> Outcome<f32> {
        let (Network::CrossEncoder(model), Some(texts)) = (&self.network, &self.texts) else {
            return Err(ErrorKind::OtherModel.into());
        };
        if model.labels() != 1 {
            return Err(ErrorKind::OtherModel.into());
        }
        let Tokenizer::Folder(tokenizer) = tokenizer else {
            return Err(ErrorKind::MissingVocabulary.into());
        };
        let memory = folder_tokenizer::tokenizing(&texts.tokenizing, scratch.floats.0)?;
        let Scratch { floats, bytes, .. } = scratch;
        let (types, bytes) = bytes.0.split_at_mut_checked(ids.len()).ok_or(TOO_SMALL)?;
        let found = tokenizer.encode_pair(pair, (&mut *ids, &mut *types), memory)?;
        let pair = ids.get(..found.tokens).zip(types.get(..found.tokens)).ok_or(TOO_SMALL)?;
        let (lengths, (ids, types)) = ([found.tokens], pair);
        let text = Batch { types, ..Batch::new(ids, &lengths) };
        let (head, floats) = floats.0.split_at_mut_checked(self.head_floats()).ok_or(TOO_SMALL)?;
        let mut workspace = Workspace::new(model.config(), &self.plan, floats, bytes)?;
        let run = Run { summaries: self.summaries, ..Run::new(source, &self.kernels) };
        let mut score = [0.0];
        model.classify(&run, &text, &mut workspace, head, &mut score)?;
        let [score] = score;
        Ok(score)
    }
}
