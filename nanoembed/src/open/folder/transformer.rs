//! An encoder of a folder, ready to run.

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{Batch, FamilyModel, Parallel, Plan, Way, Ways};
use nanoembed_core::owned::folder::Modules;
use nanoembed_core::owned::{
    DenseLayer, Pipeline, PipelineSession, Recipe, Session, TextEncoder, TokenizedPair,
};
use nanoembed_core::token::SpecialTokens;

use super::asked::Asked;
use super::files::EncoderFolder;
use crate::causal::weights::ModelWeights;
use crate::error::Result;
use crate::pool::Pool;
use crate::tokenizer::Tokens;

/// An encoder that borrows from the files of its folder.
pub(crate) struct FolderTransformer<'f> {
    weights: ModelWeights<'f>,
    encoder: TextEncoder,
    tokenizer: Pipeline,
    scratch: Pool<PipelineSession>,
    max_tokens: usize,
}

impl<'f> FolderTransformer<'f> {
    /// The encoder in `folder`, which its `config.json` describes as `model`.
    pub(crate) fn open(folder: &'f EncoderFolder, model: &FamilyModel) -> Result<Self> {
        let max_tokens = folder.max_tokens(model.config.positions)?;
        let recipe = recipe(folder)?;
        let weights = folder.weights()?;
        let asked = Asked::of(&weights);
        let encoder = TextEncoder::open(&asked, model, recipe);
        let encoder = encoder.map_err(|error| asked.failure(&folder.name(), error))?;
        let tokenizer = folder.tokenizer()?;
        Ok(Self { weights, encoder, tokenizer, scratch: Pool::default(), max_tokens })
    }

    pub(crate) const fn encoder(&self) -> &TextEncoder {
        &self.encoder
    }

    /// How many tokens of a text the model was made for.
    pub(crate) const fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    pub(crate) fn plan(&self, tokens: usize) -> Plan {
        self.encoder.plan(tokens)
    }

    pub(crate) fn session_for(&self, plan: Plan) -> Result<Session, CoreError> {
        self.encoder.session_for(plan)
    }

    /// The first `limit` tokens of `text`.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        self.borrowing(|session| {
            let found = self.tokenizer.encode(text, limit, SpecialTokens::AsTokens, session)?;
            Ok(Tokens { ids: found.ids, truncated: found.truncated })
        })
    }

    /// Two texts, of which the longer one is cut first.
    pub(crate) fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
    ) -> Result<TokenizedPair, CoreError> {
        self.borrowing(|session| self.tokenizer.encode_pair(first, second, limit, session))
    }

    /// Tokens of `prompt` with what stands before it, without what would stand behind it.
    pub(crate) fn tokens_of_prompt(&self, prompt: &str) -> Result<usize, CoreError> {
        let with = self.encode(prompt, usize::MAX)?.ids;
        let nothing = self.encode("", usize::MAX)?.ids;
        let has_end =
            nothing.len() > 1 || nothing.last().is_some_and(|end| with.last() == Some(end));
        Ok(with.len() - usize::from(has_end && nothing.last() == with.last()))
    }

    /// The embeddings of tokenised texts.
    pub(crate) fn embed(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        texts: &Batch<'_>,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        let skipped = if skipped > 0 { vec![skipped; texts.lengths.len()] } else { Vec::new() };
        self.encoder.embed(&self.weights, session, parallel, texts, &skipped, out)
    }

    /// The logits of tokenised pairs.
    pub(crate) fn classify(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.encoder.classify(&self.weights, session, parallel, texts, out)
    }

    fn borrowing<R>(
        &self,
        act: impl FnOnce(&mut PipelineSession) -> Result<R, CoreError>,
    ) -> Result<R, CoreError> {
        let mut session = self.scratch.take().unwrap_or_default();
        let done = act(&mut session);
        self.scratch.give(session);
        done
    }
}

/// What stands behind the transformer. Without `modules.json` it is the mean, at length 1.
fn recipe(folder: &EncoderFolder) -> Result<Recipe> {
    let Some(Modules { pooling, dense, normalize, .. }) = folder.modules() else {
        return Ok(Recipe { pooling: Way::Mean.into(), dense: Vec::new(), normalize: true });
    };
    let ways = pooling.iter().flat_map(|pooling| &pooling.ways);
    let pooling = ways.fold(Ways::NONE, |ways, way| ways.with(*way));
    let dense = dense.iter().map(|module| {
        folder.module(&module.folder, |weights| {
            DenseLayer::read(weights, "linear", module.activation)
        })
    });
    Ok(Recipe { pooling, dense: dense.collect::<Result<_>>()?, normalize: *normalize })
}
