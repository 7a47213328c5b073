//! A model that continues texts, ready to run, over files in memory or read piece by piece.

use nanoembed_core::describe::gguf::gguf_names_pooling;
use nanoembed_core::model::llama::{Activations, LlamaConfig, LlamaPlan, Output};
use nanoembed_core::owned::{CausalPooling, CausalSession, Decoder};
use nanoembed_core::source::ModelSource;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::chat_template::ChatTemplate;
use super::tokenizer::Tokenizer;
use super::weights::ModelWeights;
use crate::bytes::Bytes;
use crate::files::on_disk::OnDisk;

/// Tokens of a prompt that pass through the layers together.
pub(crate) const TOKENS_AT_ONCE: usize = 64;

/// The job that a decoder is made for, as far as its files tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// To continue texts: nothing is said of embeddings.
    Continue,
    /// To embed texts: its GGUF file names a pooling.
    Embed,
    /// Either: an `.amb` or `.weights` file has the pooling of the file that it was made of, which
    /// need not have named one.
    Unclear,
}

/// A causal model as its files describe it, not yet opened.
pub(crate) struct Found {
    pub(super) config: LlamaConfig,
    pub(super) weights: ModelWeights,
    pub(super) tokenizer: Tokenizer<'static>,
    /// True if the model was made for embeddings by its last token's state.
    pub(super) pools_last_token: bool,
    pub(super) purpose: Purpose,
    pub(super) chat_template: Option<ChatTemplate>,
}

impl Found {
    /// In a file whose bytes are `bytes`.
    pub(crate) fn in_model(bytes: &Bytes, model: &ModelSource<'_>) -> Result<Self, CoreError> {
        let config = model.causal_config()?;
        let tokenizer = Tokenizer::from_source(bytes, model)?.detached()?;
        let weights = match model {
            ModelSource::Amb(amb) => ModelWeights::from_file(bytes, amb.tensors())?,
            ModelSource::Embd(embd) => ModelWeights::from_file(bytes, embd.tensors())?,
            ModelSource::Gguf(gguf) => ModelWeights::from_file(bytes, gguf.tensors())?,
            _ => return Err(CoreError::new(0, ErrorKind::UnknownFormat)),
        };
        let pools_last_token = model.pools_last_token();
        let purpose = match model {
            ModelSource::Gguf(gguf) if gguf_names_pooling(gguf) => Purpose::Embed,
            ModelSource::Amb(_) | ModelSource::Embd(_) if pools_last_token => Purpose::Unclear,
            _ => Purpose::Continue,
        };
        let chat_template = match model {
            ModelSource::Gguf(gguf) => ChatTemplate::from_gguf(gguf, &tokenizer),
            _ => None,
        };
        Ok(Self { config, weights, tokenizer, pools_last_token, purpose, chat_template })
    }

    /// The model that this is.
    pub(crate) fn open(self) -> Result<CausalModel, CoreError> {
        let Self { config, weights, tokenizer, pools_last_token, purpose, chat_template } = self;
        let model = Decoder::open(&weights, config)?;
        Ok(CausalModel { weights, model, tokenizer, pools_last_token, purpose, chat_template })
    }
}

/// A causal model and where its weights are.
pub(crate) struct CausalModel {
    weights: ModelWeights,
    model: Decoder,
    pub(crate) tokenizer: Tokenizer<'static>,
    pools_last_token: bool,
    purpose: Purpose,
    chat_template: Option<ChatTemplate>,
}

impl CausalModel {
    pub(crate) const fn config(&self) -> &LlamaConfig {
        self.model.config()
    }

    /// True if the model was made for embeddings by its last token's state.
    pub(crate) const fn pools_last_token(&self) -> bool {
        self.pools_last_token
    }

    pub(crate) const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The chat template, if the model's files have one.
    pub(crate) const fn chat_template(&self) -> Option<&ChatTemplate> {
        self.chat_template.as_ref()
    }

    /// The model with weights that are read from `file` whenever they are needed.
    pub(crate) fn stored(self, file: OnDisk) -> Self {
        Self { weights: self.weights.stored(file), ..self }
    }

    pub(crate) const fn weights(&self) -> &ModelWeights {
        &self.weights
    }

    /// Memory for texts of up to `positions` tokens.
    pub(crate) fn session(
        &self,
        positions: usize,
        activations: Activations,
    ) -> Result<CausalSession, CoreError> {
        self.session_for(Self::plan(positions, activations))
    }

    /// Bytes of memory for texts of up to `positions` tokens.
    pub(crate) fn bytes_for(
        &self,
        positions: usize,
        activations: Activations,
    ) -> Result<usize, CoreError> {
        self.session_bytes(&Self::plan(positions, activations))
    }

    fn plan(positions: usize, activations: Activations) -> LlamaPlan {
        LlamaPlan { activations, ..LlamaPlan::new(TOKENS_AT_ONCE, positions) }
    }

    /// Memory for a plan.
    pub(crate) fn session_for(&self, plan: LlamaPlan) -> Result<CausalSession, CoreError> {
        self.model.session(plan)
    }

    /// Bytes of memory that a plan takes.
    pub(crate) fn session_bytes(&self, plan: &LlamaPlan) -> Result<usize, CoreError> {
        self.model.session_bytes(plan)
    }

    /// Runs the model on tokens that follow those of the session.
    pub(crate) fn forward(
        &self,
        session: &mut CausalSession,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<(), CoreError> {
        self.model.forward(&self.weights, session, ids, output)
    }

    /// The embedding of a text, into `out`.
    pub(crate) fn embed(
        &self,
        session: &mut CausalSession,
        ids: &[u32],
        pooling: CausalPooling,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.model.embed(&self.weights, session, ids, pooling, out)
    }
}
