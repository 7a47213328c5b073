//! EmbeddingGemma and Qwen3-Embedding: which layers there are, and in which order UQFF 0.x numbers
//! them.
//!
//! The order is that of `get_layers` in `embedding_models` of mistral.rs 0.7: of each layer q, k, v,
//! o, gate, up, down. They have no output layer, and no `model.` before their names.

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::limit::Boxed;
use nanoembed_core::model::Config;
use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::tensor::Shape;
use nanoembed_core::text::json::{Fault, Value};

use super::llama::{PARTS, layer_part, layer_place};
use crate::error::{Error, Result, name_of};
use crate::folder::texts::FolderTexts;
use crate::stored::file_names::folder_of;

/// The sizes of such a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedder(Boxed<Config>);

/// Values of `model_type` of the models that mistral.rs embeds with.
const FAMILIES: [&str; 2] = ["gemma3_text", "qwen3"];

/// The name of the table of embeddings.
const EMBEDDINGS: &str = "embed_tokens";

/// Before the number of a layer.
const LAYERS: &str = "layers.";

/// True if a layer is called like one of these models.
pub fn is_name(layer: &str) -> bool {
    layer == EMBEDDINGS || layer.starts_with(LAYERS)
}

/// True if a layer of UQFF 1.x is the table of embeddings, of these models or of decoders. In 0.x
/// it is no layer.
pub fn is_table(layer: &str) -> bool {
    layer.strip_prefix("model.").unwrap_or(layer) == EMBEDDINGS
}

impl Embedder {
    /// Reads a `config.json`; `None` if it is of another family.
    pub fn from_config(path: &Path) -> Result<Option<Self>> {
        let text = crate::files::whole_file::read_text(path)
            .map_err(|error| Error::reading(name_of(path), &error))?;
        let Ok(config) = Value::parse(&text, 0) else { return Ok(None) };
        let is_one = |kind: Value<'_>| FAMILIES.iter().any(|family| kind.is_text(family));
        if !config.member("model_type").is_some_and(is_one) {
            return Ok(None);
        }
        let fault = |fault: Fault<'_>| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            FolderTexts::new(&folder_of(path)).explained(&FolderFault::new(&file, fault))
        };
        let model = nanoembed_core::model::read_config(config).map_err(fault)?;
        let config = Boxed::new(model.config);
        config
            .map(|config| Some(Self(config)))
            .map_err(|error| Error::in_file(name_of(path), error))
    }

    /// The number of layers that UQFF 0.x numbers.
    pub fn numbered(&self) -> u64 {
        self.0.layers as u64 * PARTS.len() as u64
    }

    /// The name of a layer of UQFF 0.x.
    pub fn name(&self, number: u32) -> Option<String> {
        let number = usize::try_from(number).ok()?;
        let suffix = layer_part(number % PARTS.len())?;
        let layer = number / PARTS.len();
        (layer < self.0.layers).then(|| format!("{LAYERS}{layer}.{suffix}"))
    }

    /// The number of a layer in UQFF 0.x.
    pub fn number(&self, name: &str) -> Option<u32> {
        let (layer, suffix) = name.strip_prefix(LAYERS)?.split_once('.')?;
        let layer: usize = layer.parse().ok().filter(|layer| *layer < self.0.layers)?;
        let place = layer_place(suffix)?;
        u32::try_from(layer * PARTS.len() + place).ok()
    }

    /// Refuses a layer of UQFF 0.x whose shape is not the one that the model has at its number.
    pub fn check_shape(&self, number: u32, shape: &Shape) -> Result<()> {
        let Config { hidden, intermediate, heads, .. } = *self.0;
        let (query, key) = (heads.query * heads.size, heads.key_value * heads.size);
        let expected = match usize::try_from(number).map(|number| number % PARTS.len()) {
            Ok(0) => [query, hidden],
            Ok(1 | 2) => [key, hidden],
            Ok(3) => [hidden, query],
            Ok(4 | 5) => [intermediate, hidden],
            _ => [hidden, intermediate],
        };
        if shape.dims() == expected.map(|size| size as u64) {
            return Ok(());
        }
        let name = self.name(number).unwrap_or_else(|| "no layer".into());
        let message = format!(
            "layer {number} is {:?}, but `{name}`, which the config says it is, would be {expected:?}",
            shape.dims()
        );
        Err(Error::input(ErrorKind::WrongShape, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedder() -> Embedder {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/qwen3_embedding");
        Embedder::from_config(&Path::new(folder).join("config.json")).unwrap().unwrap()
    }

    #[test]
    fn numbers_begin_with_the_first_query_and_there_is_no_output_layer() {
        let embedder = embedder();
        assert_eq!(embedder.numbered(), 21);
        assert_eq!(embedder.name(0).unwrap(), "layers.0.self_attn.q_proj");
        assert_eq!(embedder.name(13).unwrap(), "layers.1.mlp.down_proj");
        assert_eq!(embedder.name(21), None);
        for number in 0..21 {
            assert_eq!(embedder.number(&embedder.name(number).unwrap()), Some(number));
        }
        for other in
            ["embed_tokens", "lm_head", "model.layers.0.mlp.up_proj", "layers.3.mlp.up_proj"]
        {
            assert_eq!(embedder.number(other), None, "{other}");
        }
    }

    #[test]
    fn shapes_tell_a_wrong_order() {
        let shape = |dims: &[u64]| Shape::new(dims).unwrap();
        let embedder = embedder();
        for (number, dims) in [(0, [64, 48]), (1, [32, 48]), (3, [48, 64]), (12, [96, 48])] {
            embedder.check_shape(number, &shape(&dims)).unwrap();
        }
        assert!(embedder.check_shape(13, &shape(&[96, 48])).is_err());
    }

    #[test]
    fn other_families_are_none() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/bert_cased");
        let found = Embedder::from_config(&Path::new(folder).join("config.json"));
        assert_eq!(found.unwrap(), None);
    }
}
