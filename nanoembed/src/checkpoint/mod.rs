//! Models to be converted: sizes and habits, vocabulary, tensors, wherever they come from.
//!
//! | source | file |
//! |---|---|
//! | a Hugging Face folder | `hugging_face`, `settings`, `vocabulary` |
//! | all weights of a model, UQFF's residual file among them | `model_files` |
//! | weights into which an adapter is merged | `adapted` |
//! | an EMBD `.weights` file of either variant | `weights` |
//! | a GGUF file | `gguf` |

pub(crate) mod adapted;
pub mod gguf;
pub mod hugging_face;
pub mod model_files;
pub(crate) mod sentence_transformer;
pub mod settings;
pub mod tensor;
pub mod vocabulary;
pub mod weights;
pub mod wordpiece;

use std::time::SystemTime;

use nanoembed_core::{Error as CoreError, limit};

use crate::error::{Error, Result};
use crate::pairs::Pairs;
use settings::Settings;
use tensor::Tensor;
use vocabulary::WordPieceVocabulary;

/// A BERT encoder, ready to be written in another form.
pub struct Checkpoint<'a> {
    /// The name that messages give to the source.
    pub name: String,
    pub settings: Settings,
    pub vocabulary: Option<WordPieceVocabulary>,
    /// The encoder's tensors in the order of the EMBD specification, under the specification's
    /// names.
    pub tensors: Vec<Tensor<'a>>,
    /// Tensors of the source that the encoder does not need.
    pub left_out: Vec<String>,
    /// When the source's newest file was changed.
    pub modified: Option<SystemTime>,
}

impl Checkpoint<'_> {
    /// The metadata of a `.weights` file: the model's settings and its added tokens.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn metadata(&self) -> Result<Pairs> {
        let failed = |error| Error::in_file(&self.name, error);
        let mut metadata = self.settings.metadata().map_err(failed)?;
        let added = self.vocabulary.iter().filter_map(|it| it.added_metadata().transpose());
        for pair in added {
            limit::push(&mut metadata, pair.map_err(failed)?).map_err(failed)?;
        }
        Ok(metadata)
    }

    /// The tokens of the vocabulary, if there is one.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn tokens(&self) -> Result<Vec<&[u8]>> {
        let tokens = self.vocabulary.as_ref().map(|it| it.tokens.as_slice()).unwrap_or_default();
        let tokens = limit::exactly(tokens.iter().map(Vec::as_slice));
        tokens.map_err(|error| Error::in_file(&self.name, error))
    }
}

/// The names of the tensors before the layers, in the order of the specification.
pub const EMBEDDING_TENSORS: [&str; 5] = [
    "embeddings.word_embeddings.weight",
    "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight",
    "embeddings.LayerNorm.weight",
    "embeddings.LayerNorm.bias",
];

/// Suffixes after `encoder.layer.N.` in the names of a layer's tensors, in the order of the
/// specification.
pub const LAYER_TENSORS: [&str; 16] = [
    "attention.self.query.weight",
    "attention.self.query.bias",
    "attention.self.key.weight",
    "attention.self.key.bias",
    "attention.self.value.weight",
    "attention.self.value.bias",
    "attention.output.dense.weight",
    "attention.output.dense.bias",
    "attention.output.LayerNorm.weight",
    "attention.output.LayerNorm.bias",
    "intermediate.dense.weight",
    "intermediate.dense.bias",
    "output.dense.weight",
    "output.dense.bias",
    "output.LayerNorm.weight",
    "output.LayerNorm.bias",
];

/// The names of the pooler, which mean and CLS pooling have no use for.
pub const POOLER_TENSORS: [&str; 2] = ["pooler.dense.weight", "pooler.dense.bias"];

/// The names of all tensors of an encoder with `layers` layers, in the order of the specification.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn tensor_names(layers: usize, pooler: bool) -> Result<Vec<String>, CoreError> {
    let embeddings = EMBEDDING_TENSORS.iter().map(|&name| limit::copied(name));
    let of_layer = |layer: usize| {
        LAYER_TENSORS
            .iter()
            .map(move |suffix| limit::formatted(format_args!("encoder.layer.{layer}.{suffix}")))
    };
    let layers = (0..layers).flat_map(of_layer);
    let pooler = POOLER_TENSORS.iter().filter(|_| pooler).map(|&name| limit::copied(name));
    limit::gathered(embeddings.chain(layers).chain(pooler))
}
