//! A decoder that is ready to run, over files in memory or read piece by piece.

use nanoembed_core::event::{Event, Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::{self, Embd};
use nanoembed_core::format::finalfusion::Finalfusion;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::format::sniff;
use nanoembed_core::model::llama::{Activations, LlamaConfig, LlamaPlan, Output};
use nanoembed_core::model::{
    amb_config_value, amb_llama_config, embd_llama_config, embd_names_decoder, gguf_architecture,
    gguf_llama_config, gguf_model, gguf_pools_last_token,
};
use nanoembed_core::owned::{self, CausalSession};
use nanoembed_core::read::Slice;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::tokenizer::Tokenizer;
use super::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::files::on_disk::OnDisk;
use crate::open::model_file::ModelFile;
use crate::stored::files::room;

/// Tokens of a prompt that pass through the layers together.
pub(super) const TOKENS_AT_ONCE: usize = 64;

/// Whether the model in `file` is a decoder.
pub fn is_decoder(file: &ModelFile) -> bool {
    file.bundle().is_some() || has_decoder(file.bytes())
}

/// Whether a file has a decoder: an `.amb` or GGUF file that does not say that it is an encoder, or
/// a `.weights` file that says that it is none.
pub fn has_decoder(bytes: &[u8]) -> bool {
    match sniff(bytes) {
        Some(Format::Amb) => Amb::parse(bytes, Mode::Lenient).is_ok_and(|amb| {
            !matches!(amb_config_value(&amb, "architecture"), None | Some("custom"))
        }),
        Some(Format::Gguf) => Gguf::parse(bytes, Mode::Lenient)
            .is_ok_and(|file| gguf_architecture(&file).is_some_and(|name| name != "bert")),
        Some(Format::Embd) => names_decoder(bytes),
        _ => false,
    }
}

/// What is wrong with the structure of a file, so that a damaged model is not called another kind
/// of file.
fn parsed(bytes: &[u8]) -> Result<(), CoreError> {
    match sniff(bytes) {
        Some(Format::Amb) => Amb::parse(bytes, Mode::Lenient).map(|_| ()),
        Some(Format::Gguf) => {
            let gguf = Gguf::parse(bytes, Mode::Lenient)?;
            gguf_model(&gguf).map(|_| ())
        }
        Some(Format::Embd) => Embd::parse(bytes, Mode::Lenient).map(|_| ()),
        Some(Format::Finalfusion) => Finalfusion::parse(bytes, Mode::Lenient).map(|_| ()),
        Some(Format::Safetensors) => {
            Safetensors::parse(bytes, Mode::Lenient, &mut room(bytes)).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Whether the metadata of a `.weights` file says that it has a decoder. Nothing behind the
/// metadata is read: every encoder comes by here when the program starts.
fn names_decoder(bytes: &[u8]) -> bool {
    let decoder = embd::Decoder::<{ embd::DEFAULT_MAX_TENSORS }>::new(Mode::Lenient);
    let mut slice = Slice::new(decoder, bytes).without_data();
    let events = std::iter::from_fn(|| slice.next_event().ok().filter(|it| *it != Event::End));
    events
        .skip_while(|event| !matches!(event, Event::Metadata { .. }))
        .map_while(|event| match event {
            Event::Metadata { key, value } => Some((key, value)),
            _ => None,
        })
        .any(|(key, value)| key == "architecture" && embd_names_decoder(value))
}

/// What files say of a decoder.
pub(super) struct Found<'f> {
    pub(super) config: LlamaConfig,
    pub(super) weights: ModelWeights<'f>,
    pub(super) tokenizer: Tokenizer<'f>,
    /// Whether the model was made for embeddings by its last token's state.
    pub(super) pools_last_token: bool,
}

impl<'f> Found<'f> {
    /// In a file that holds everything.
    pub(super) fn in_file(bytes: &'f [u8]) -> Result<Self, CoreError> {
        let (config, tokenizer, weights, pools_last_token) = match sniff(bytes) {
            Some(Format::Amb) => {
                let amb = Amb::parse(bytes, Mode::Lenient)?;
                let weights = ModelWeights::of_file(bytes, amb.tensors());
                (amb_llama_config(&amb)?, Tokenizer::of_amb(bytes, &amb)?, weights, false)
            }
            Some(Format::Gguf) => {
                let file = Gguf::parse(bytes, Mode::Lenient)?;
                let weights = ModelWeights::of_file(bytes, file.tensors());
                let pools = gguf_pools_last_token(&file);
                (gguf_llama_config(&file)?, Tokenizer::of_gguf(bytes, &file)?, weights, pools)
            }
            Some(Format::Embd) => {
                let embd = Embd::parse(bytes, Mode::Lenient)?;
                let weights = ModelWeights::of_file(bytes, embd.tensors());
                (embd_llama_config(&embd)?, Tokenizer::of_embd(bytes, &embd)?, weights, false)
            }
            _ => return Err(CoreError::new(0, ErrorKind::UnknownFormat)),
        };
        Ok(Self { config, weights, tokenizer, pools_last_token })
    }
}

/// A decoder and where its weights are.
pub struct Decoder<'f> {
    weights: ModelWeights<'f>,
    model: owned::Decoder,
    pub tokenizer: Tokenizer<'f>,
    pools_last_token: bool,
}

impl<'f> Decoder<'f> {
    /// Opens the model in `file`; its weights stay where they are.
    pub fn open(file: &'f ModelFile) -> Result<Self> {
        let failed = |error| file.failure(error);
        if !is_decoder(file) && sniff(file.bytes()).is_some() {
            parsed(file.bytes()).map_err(failed)?;
            return Err(Error::input(
                ErrorKind::UnknownFormat,
                "this is no model that continues texts",
            )
            .at(file.name())
            .with_hint(
                "`nanoembed inspect FILE` says what it is; `nanoembed embed` runs encoders",
            ));
        }
        let found = match file.bundle() {
            Some(bundle) => bundle.found()?,
            None => Found::in_file(file.bytes()).map_err(failed)?,
        };
        Self::of(found).map_err(|error| match (error.kind(), file.bundle()) {
            (ErrorKind::MissingTensor, Some(bundle)) => {
                failed(error).with_hint(bundle.where_from())
            }
            _ => failed(error),
        })
    }

    /// Opens what was found.
    pub(super) fn of(found: Found<'f>) -> Result<Self, CoreError> {
        let Found { config, weights, tokenizer, pools_last_token } = found;
        let model = owned::Decoder::open(&weights, config)?;
        Ok(Self { weights, model, tokenizer, pools_last_token })
    }

    /// The same with weights that are read from `file`, which is the one it was opened from,
    /// whenever they are needed: the memory that it was opened in need not be kept.
    pub(super) fn stored(self, file: OnDisk) -> Result<Decoder<'static>, CoreError> {
        let Self { weights, model, tokenizer, pools_last_token } = self;
        let (weights, tokenizer) = (weights.stored(file), tokenizer.detached()?);
        Ok(Decoder { weights, model, tokenizer, pools_last_token })
    }

    pub const fn config(&self) -> &LlamaConfig {
        self.model.config()
    }

    /// Whether the model was made for embeddings by its last token's state.
    pub const fn pools_last_token(&self) -> bool {
        self.pools_last_token
    }

    pub(super) const fn weights(&self) -> &ModelWeights<'f> {
        &self.weights
    }

    /// Memory for texts of up to `positions` tokens.
    pub fn session(
        &self,
        positions: usize,
        activations: Activations,
    ) -> Result<CausalSession, CoreError> {
        let plan = LlamaPlan::new(TOKENS_AT_ONCE, positions);
        self.session_for(LlamaPlan { activations, ..plan })
    }

    /// Memory for a plan.
    pub fn session_for(&self, plan: LlamaPlan) -> Result<CausalSession, CoreError> {
        self.model.session(plan)
    }

    /// Bytes of memory that a plan takes.
    pub(super) fn session_bytes(&self, plan: &LlamaPlan) -> Result<usize, CoreError> {
        self.model.session_bytes(plan)
    }

    /// Takes tokens through the model behind those of the session.
    pub fn forward(
        &self,
        session: &mut CausalSession,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<(), CoreError> {
        self.model.forward(&self.weights, session, ids, output)
    }

    /// The embedding of a text, into `out`: the state of its last token, or the mean of all.
    pub fn embed(
        &self,
        session: &mut CausalSession,
        ids: &[u32],
        last_token: bool,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.model.embed(&self.weights, session, ids, last_token, out)
    }
}
