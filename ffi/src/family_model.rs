//! A transformer of any family that has been opened, and running it in a workspace.

use core::mem::size_of_val;

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::folder::FolderPrompts;
use nanoembed_core::kernel::{Kernels, RowSummary};
use nanoembed_core::model::folder_tokenizer::{TokenizingMemory, TokenizingNeeds};
use nanoembed_core::model::{
    Batch, Config, CrossEncoder, Encoder, HeadLayer, Layer, Plan, Run, Workspace,
};
use nanoembed_core::token::Encoded;

use crate::chosen::{self, Chosen, Prompt};
use crate::embed::{Scratch, Sizes};
use crate::folder_tokenizer::{self, tokenizing_floats};
use crate::memory::{Lent, LentSlice};
use crate::model::Tokenizer;
use crate::source::Bytes;
use crate::status::{Outcome, TOO_SMALL};

/// A transformer with what stands behind it.
#[derive(Debug)]
pub(crate) struct FamilyModel {
    pub(crate) kind: FamilyKind,
    pub(crate) kernels: Kernels,
    pub(crate) summaries: &'static [RowSummary],
    pub(crate) plan: Plan,
    /// Floats of scratch memory that the head takes.
    pub(crate) room: usize,
    /// Tokens of a text that the model was made to use.
    pub(crate) max_tokens: usize,
    /// What a text takes while it is tokenised.
    pub(crate) tokenizing: TokenizingNeeds,
    /// What may stand before texts.
    pub(crate) prompts: FolderPrompts<'static>,
}

/// A transformer with its head.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // in memory that is lent
pub(crate) enum FamilyKind {
    Encoder(Encoder<LentSlice<Layer>, &'static mut [HeadLayer], &'static mut [f32]>),
    CrossEncoder(CrossEncoder<LentSlice<Layer>, &'static mut [f32]>),
}

impl FamilyKind {
    pub(crate) const fn config(&self) -> &Config {
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

/// What a workspace takes. A text is tokenised in the memory that its embedding is computed in
/// later.
pub(crate) fn sizes(
    config: &Config,
    plan: &Plan,
    room: usize,
    (tokenizing, prompts): (&TokenizingNeeds, &FolderPrompts<'_>),
    compares: bool,
) -> Outcome<Sizes> {
    let needs = Workspace::needs(config, plan)?;
    let floats = needs.floats.checked_add(room).ok_or(TOO_SMALL)?;
    let floats = floats.max(tokenizing_floats(tokenizing)?);
    let prompt = if tokenizing.behind > 0 { prompts.longest().max(chosen::LEAST) } else { 0 };
    // The types of a pair's tokens.
    let types = if compares { plan.tokens } else { 0 };
    let bytes = needs.bytes.checked_add(types).ok_or(TOO_SMALL)?;
    Ok(Sizes { floats, bytes, ids: plan.tokens, prompt, ..Sizes::NONE })
}

impl FamilyModel {
    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        let texts = (&self.tokenizing, &self.prompts);
        let compares = matches!(self.kind, FamilyKind::CrossEncoder(_));
        sizes(self.kind.config(), &self.plan, self.room, texts, compares)
    }

    /// Tokens of one text.
    pub(crate) fn most(&self) -> usize {
        self.kind.config().positions.min(self.plan.tokens)
    }

    /// Chooses what stands before texts.
    pub(crate) fn set_prompt(
        &self,
        tokenizer: &Tokenizer,
        scratch: &mut Scratch,
        prompt: &mut Prompt,
        chosen: Chosen<'_>,
    ) -> Outcome {
        let Tokenizer::Folder(tokenizer) = tokenizer else { return Ok(()) };
        prompt.choose(&self.prompts, chosen)?;
        if !self.prompts.are_pooled && !prompt.text().is_empty() {
            let tokens = tokenizer.tokens_of_prompt(prompt.text(), self.tokenizing(scratch)?)?;
            prompt.skip(tokens);
        }
        Ok(())
    }

    /// Makes ids of a text behind its prompt.
    pub(crate) fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        scratch: &mut Scratch,
        (prompt, text): (&Prompt, &str),
        ids: &mut [u32],
    ) -> Outcome<Encoded> {
        let memory = self.tokenizing(scratch)?;
        folder_tokenizer::tokenize_in(tokenizer, (prompt.text(), text), ids, memory)
    }

    /// Memory for a text while it is tokenised.
    fn tokenizing(&self, scratch: &mut Scratch) -> Outcome<TokenizingMemory<'static>> {
        let floats = &mut *scratch.floats.0;
        // SAFETY: it is the workspace's, aligned to what is lent, and nothing else is done with it
        // before the text has its ids. What is left in it are floats like any other bits.
        let mut lent = unsafe { Lent::new(floats.as_mut_ptr().cast(), size_of_val(floats))? };
        folder_tokenizer::tokenizing(&self.tokenizing, &mut lent)
    }

    /// Embeds a text of which the tokens are known, and how many of the first do not count.
    pub(crate) fn run(
        &self,
        source: &Bytes,
        scratch: &mut Scratch,
        (ids, skipped): (&[u32], usize),
        out: &mut [f32],
    ) -> Outcome {
        let Scratch { floats, bytes, .. } = scratch;
        let (room, floats) = floats.0.split_at_mut_checked(self.room).ok_or(TOO_SMALL)?;
        let FamilyKind::Encoder(model) = &self.kind else {
            return Err(ErrorKind::OtherModel.into());
        };
        let mut workspace = Workspace::new(model.config(), &self.plan, floats, bytes.0)?;
        let run = Run { summaries: self.summaries, ..Run::new(source, &self.kernels) };
        let lengths = [ids.len()];
        let text = Batch { skipped, ..Batch::new(ids, &lengths) };
        Ok(model.embed(&run, &text, &mut workspace, room, out)?)
    }

    /// How well a document answers a query.
    pub(crate) fn score(
        &self,
        source: &Bytes,
        tokenizer: &Tokenizer,
        scratch: &mut Scratch,
        (query, document): (&str, &str),
        ids: &mut [u32],
    ) -> Outcome<f32> {
        let FamilyKind::CrossEncoder(model) = &self.kind else {
            return Err(ErrorKind::OtherModel.into());
        };
        if model.labels() != 1 {
            return Err(ErrorKind::OtherModel.into());
        }
        let Tokenizer::Folder(tokenizer) = tokenizer else {
            return Err(ErrorKind::MissingVocabulary.into());
        };
        let memory = self.tokenizing(scratch)?;
        let Scratch { floats, bytes, .. } = scratch;
        let (types, bytes) = bytes.0.split_at_mut_checked(ids.len()).ok_or(TOO_SMALL)?;
        let found = tokenizer.encode_pair([query, document], (&mut *ids, &mut *types), memory)?;
        let pair = ids.get(..found.tokens).zip(types.get(..found.tokens)).ok_or(TOO_SMALL)?;
        let (lengths, (ids, types)) = ([found.tokens], pair);
        let text = Batch { types, ..Batch::new(ids, &lengths) };
        let (room, floats) = floats.0.split_at_mut_checked(self.room).ok_or(TOO_SMALL)?;
        let mut workspace = Workspace::new(model.config(), &self.plan, floats, bytes)?;
        let run = Run { summaries: self.summaries, ..Run::new(source, &self.kernels) };
        let mut score = [0.0];
        model.classify(&run, &text, &mut workspace, room, &mut score)?;
        let [score] = score;
        Ok(score)
    }
}
