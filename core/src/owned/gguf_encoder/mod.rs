//! Encoders of all families in GGUF files, as llama.cpp's converter writes them.
//!
//! What they are is read by `describe::gguf`.

mod fault;
mod tokenizer;

use alloc::vec::Vec;

pub use self::fault::GgufFault;
use super::Pipeline;
use super::folder::{Described, EncoderSettings, FolderModel, Modules, PoolingModule};
use crate::describe::gguf::{
    GgufArchitecture, Key, Keys, Recipe, check_tensors, gguf_architecture, gguf_is_encoder,
    read_encoder, tensor_name,
};
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::{Boxed, collected, copied, push};
use crate::model::{DenseActivation, DenseModule, DenseSettings, HeadModule};

/// An encoder in a GGUF file: all but its weights.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GgufEncoder {
    /// What the file says of the model, as if a folder did.
    pub model: FolderModel,
    /// Its tokenizer.
    pub tokenizer: Pipeline,
}

impl GgufEncoder {
    /// Returns true for a file with an encoder that is read here: any but BERT with WordPiece, which
    /// [`Encoder::from_bert`](super::Encoder::from_bert) opens.
    #[must_use]
    pub fn is_in(file: &Gguf<'_>) -> bool {
        gguf_is_encoder(file) && !is_plain_bert(file)
    }

    /// Reads the settings and the tokenizer.
    ///
    /// # Errors
    ///
    /// The key or tensor that is at fault; [`ErrorKind::SplitFile`] for one of several files that
    /// hold a model; [`ErrorKind::UnsupportedArchitecture`]; [`ErrorKind::MissingVocabulary`];
    /// [`ErrorKind::BadVocabulary`].
    pub fn read<'a>(file: &Gguf<'a>) -> Result<Self, GgufFault<'a>> {
        if file.split().is_some() {
            return Err(Error::without_offset(ErrorKind::SplitFile).into());
        }
        let unsupported = Error::without_offset(ErrorKind::UnsupportedArchitecture);
        let architecture = gguf_architecture(file).ok_or(unsupported)?;
        let keys = Keys::encoder(*file, architecture);
        let family = read_encoder(&keys).ok_or(unsupported)??;
        let recipe = Recipe::read(&keys, &family)?;
        check_tensors(file, &family)?;
        let tokenizer = tokenizer::read(&keys)?;
        keys.finish()?;
        if tokenizer.count() as usize > family.config.vocabulary {
            return Err(Error::without_offset(ErrorKind::BadVocabulary).into());
        }
        let compares = family.classifier.is_some();
        let model = FolderModel {
            // Models that compare texts have their head alone.
            modules: (!compares).then(|| modules(&recipe)).transpose()?,
            described: Described::Transformer(Boxed::new(family)?),
            settings: EncoderSettings::default(),
            tokenizer_limit: Some(recipe.max_tokens as u64),
            compares,
            on_scores: None,
        };
        Ok(Self { model, tokenizer })
    }

    /// What the model calls the tensor that the file calls `name`.
    #[must_use]
    pub fn tensor_name(name: &str) -> &str {
        tensor_name(name)
    }
}

/// Whether a file has a BERT whose tokenizer is WordPiece, with the tensors that BERT has: DistilBERT
/// has no token types, and queries, keys and values may lie in one.
fn is_plain_bert(file: &Gguf<'_>) -> bool {
    let is_bert = gguf_architecture(file) == Some(GgufArchitecture::Bert.name());
    let own = file.value(Key::OwnTokenizer.name()).is_some();
    let tokenizer = file.value(Key::TokenizerModel.name());
    let has = |name| file.tensor(name).is_some();
    let is_distilled = has("position_embd.weight") && !has("token_types.weight");
    let is_other = own || is_distilled || has("blk.0.attn_qkv.weight");
    is_bert && !is_other && !matches!(tokenizer, Some(Value::Text("t5" | "gpt2" | "llama")))
}

/// What follows the transformer, as a folder's modules.
fn modules(recipe: &Recipe) -> Result<Modules, Error> {
    let mut head = Vec::new();
    for layer in &recipe.dense {
        let settings = DenseSettings {
            inputs: layer.inputs,
            outputs: layer.outputs,
            bias: false,
            activation: DenseActivation::Identity,
            gives_scores: false,
        };
        let folder = copied(layer.folder.trim_end_matches('/'))?;
        push(&mut head, HeadModule::Dense(DenseModule { folder, settings }))?;
    }
    let modes = collected([recipe.pooling])?;
    Ok(Modules {
        pooling: Some(PoolingModule { modes, leaves_out_prompt: recipe.leaves_out_prompt }),
        head,
        normalize: recipe.normalize,
        ..Modules::default()
    })
}
