//! Llama and its like: which layers there are, in which order UQFF 0.x numbers them, and what GGUF
//! calls them.
//!
//! The order is that of `IsqModel::get_layers` in mistral.rs: `lm_head`, then of each layer q, k,
//! v, o, gate, up, down.

use std::path::Path;

use nanoembed_core::describe::gguf::{GgufArchitecture, Key, gguf_architecture};
use nanoembed_core::event::Value as Stored;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::limit::{self, Limit};
use nanoembed_core::model::gguf_names::DECODER;
use nanoembed_core::model::{Names, Order, Tensor, TensorName, decoder_names};
use nanoembed_core::tensor::Shape;
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde_json::Value;

use crate::error::{Error, Result, name_of};
use crate::folder::json_file::{TreeFault, tree};
use crate::sizes;

/// The sizes of a model that names, order and shapes follow from.
#[derive(Clone, Debug, PartialEq)]
pub struct Llama {
    pub architecture: GgufArchitecture,
    pub layers: u32,
    pub heads: u32,
    pub kv_heads: u32,
    hidden: u32,
    head_dim: u32,
    intermediate: u32,
    /// Unknown in GGUF files that do not say it.
    vocabulary: Option<u32>,
    /// A setting that the metadata written here has no words for.
    unwritten: Option<String>,
    /// True if the output layer is the table of embeddings.
    tied: bool,
}

/// The layers that are quantised, in the order of UQFF 0.x.
pub(super) const PARTS: [Tensor; 7] = [
    Tensor::Query,
    Tensor::Key,
    Tensor::Value,
    Tensor::AttentionOutput,
    Tensor::Gate,
    Tensor::Up,
    Tensor::Down,
];

/// Further tensors of such models.
const OTHERS: [Tensor; 9] = [
    Tensor::Embeddings,
    Tensor::Norm,
    Tensor::Output,
    Tensor::AttentionNorm,
    Tensor::AttentionEndNorm,
    Tensor::FeedForwardNorm,
    Tensor::FeedForwardEndNorm,
    Tensor::QueryNorm,
    Tensor::KeyNorm,
];

/// The suffix after the number of a decoder's layer in the Hugging Face name of one of [`PARTS`].
pub(super) fn layer_part(place: usize) -> Option<&'static str> {
    decoder_names(Order::Pre).name_of(*PARTS.get(place)?)?.strip_prefix('.')
}

/// The index in [`PARTS`] of the part with this name after the number of a layer.
pub(super) fn layer_place(part: &str) -> Option<usize> {
    (0..PARTS.len()).find(|place| layer_part(*place) == Some(part))
}

/// The order of norms in the models of an architecture, which decides their names.
pub fn order_of(architecture: Option<GgufArchitecture>) -> Order {
    match architecture {
        Some(GgufArchitecture::Gemma3) => Order::Sandwich,
        _ => Order::Pre,
    }
}

impl Llama {
    /// Reads a `config.json` of Hugging Face.
    pub fn from_config(path: &Path) -> Result<Self> {
        let text = crate::files::whole_file::read_text(path)
            .map_err(|error| Error::reading(name_of(path), &error))?;
        let refuse = |kind, message: String| Error::input(kind, message).at(name_of(path));
        let config = tree(text.as_bytes()).map_err(|fault| match fault {
            TreeFault::Memory(error) => Error::in_file(name_of(path), error),
            TreeFault::Invalid(error) => refuse(ErrorKind::BadJson, error.to_string()),
        })?;
        let kind = config.get("model_type").and_then(Value::as_str).unwrap_or("unnamed");
        let Some(architecture) = GgufArchitecture::from_decoder_type(kind) else {
            return Err(unknown(kind, &name_of(path)));
        };
        let number = |key: &str| {
            config.get(key).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok())
        };
        let size = |key: &str| {
            let missing =
                || refuse(ErrorKind::MissingMetadata, format!("there is no size `{key}`"));
            number(key).filter(|size| *size > 0).ok_or_else(missing)
        };
        let layers = layers(size("num_hidden_layers")?, "num_hidden_layers")
            .map_err(|failure| failure.at(name_of(path)))?;
        let (hidden, heads) = (size("hidden_size")?, size("num_attention_heads")?);
        Ok(Self {
            architecture,
            layers,
            heads,
            kv_heads: number("num_key_value_heads").filter(|n| *n > 0).unwrap_or(heads),
            hidden,
            head_dim: number("head_dim").filter(|n| *n > 0).unwrap_or(hidden / heads),
            intermediate: size("intermediate_size")?,
            vocabulary: Some(size("vocab_size")?),
            unwritten: unwritten(&config, architecture),
            tied: config
                .get("tie_word_embeddings")
                .and_then(Value::as_bool)
                .unwrap_or(architecture == GgufArchitecture::Gemma3),
        })
    }

    /// Reads the metadata of a GGUF file.
    pub fn from_gguf(gguf: &Gguf<'_>, file: &str) -> Result<Self> {
        let refuse = |kind, message: String| Error::input(kind, message).at(file);
        let kind = gguf_architecture(gguf).unwrap_or("unnamed");
        let architecture = GgufArchitecture::from_name(kind);
        let Some(architecture) = architecture.filter(|architecture| architecture.is_written())
        else {
            return Err(unknown(kind, file));
        };
        let value = |key: Key| gguf.value(&format!("{kind}.{}", key.name()));
        let number = |key| match value(key) {
            Some(Stored::Unsigned(number)) => u32::try_from(number).ok().filter(|n| *n > 0),
            _ => None,
        };
        let size = |key: Key| {
            let missing = || {
                let message = format!("there is no size `{kind}.{}`", key.name());
                refuse(ErrorKind::MissingMetadata, message)
            };
            number(key).ok_or_else(missing)
        };
        let layers = layers(size(Key::BlockCount)?, "block_count").map_err(|it| it.at(file))?;
        let (hidden, heads) = (size(Key::EmbeddingLength)?, size(Key::HeadCount)?);
        Ok(Self {
            architecture,
            layers,
            heads,
            kv_heads: number(Key::HeadCountKv).unwrap_or(heads),
            hidden,
            head_dim: number(Key::KeyLength).unwrap_or(hidden / heads),
            intermediate: size(Key::FeedForwardLength)?,
            vocabulary: number(Key::VocabularySize),
            // Such a file's metadata is copied as it is.
            unwritten: None,
            tied: gguf.tensor("output.weight").is_none(),
        })
    }

    /// The number of layers that UQFF 0.x numbers.
    pub const fn numbered(&self) -> u64 {
        1 + 7 * self.layers as u64
    }

    /// The name of a layer of UQFF 0.x.
    pub fn name(&self, number: u32) -> Option<String> {
        let Some(place) = number.checked_sub(1) else { return Some("lm_head".into()) };
        let suffix = layer_part(usize::try_from(place % 7).ok()?)?;
        let layer = place / 7;
        (layer < self.layers).then(|| format!("model.layers.{layer}.{suffix}"))
    }

    /// The number of a layer in UQFF 0.x.
    pub fn number(&self, name: &str) -> Option<u32> {
        if name == "lm_head" {
            return Some(0);
        }
        let (layer, suffix) = name.strip_prefix("model.layers.")?.split_once('.')?;
        let layer: u32 = layer.parse().ok().filter(|layer| *layer < self.layers)?;
        let place = layer_place(suffix)?;
        layer.checked_mul(7)?.checked_add(u32::try_from(place).ok()?)?.checked_add(1)
    }

    /// Refuses a layer of UQFF 0.x whose shape is not the one that the model has at its number.
    pub fn check_shape(&self, number: u32, shape: &Shape) -> Result<()> {
        let (query, key) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let expected = match number.checked_sub(1).map(|place| place % 7) {
            None => [self.vocabulary.unwrap_or(0), self.hidden],
            Some(0) => [query, self.hidden],
            Some(1 | 2) => [key, self.hidden],
            Some(3) => [self.hidden, query],
            Some(4 | 5) => [self.intermediate, self.hidden],
            Some(_) => [self.hidden, self.intermediate],
        };
        let expected = expected.map(u64::from);
        if shape.dims() == expected {
            return Ok(());
        }
        let name = self.name(number).unwrap_or_else(|| "no layer".into());
        let message = format!(
            "layer {number} is {:?}, but `{name}`, which the config says it is, would be {expected:?}",
            shape.dims()
        );
        Err(Error::input(ErrorKind::WrongShape, message).with_hint(NAMES_HINT))
    }

    /// Into how many heads the rows of a tensor (under the name of Hugging Face) are divided that
    /// GGUF has in another order; `None` for all others.
    pub fn reordered_heads(&self, name: &str) -> Option<usize> {
        if self.architecture != GgufArchitecture::Llama {
            return None;
        }
        let module = name.strip_suffix(".weight").or_else(|| name.strip_suffix(".bias"))?;
        let heads = match module.strip_prefix("model.layers.")?.split_once('.')?.1 {
            "self_attn.q_proj" => self.heads,
            "self_attn.k_proj" => self.kv_heads,
            _ => return None,
        };
        usize::try_from(heads).ok()
    }

    /// The constant added to the weights of a norm (under the name of Hugging Face) for GGUF: 1 in
    /// models that add it whenever they norm.
    pub fn added_for_ggml(&self, name: &str) -> Option<f32> {
        (self.architecture == GgufArchitecture::Gemma3 && name.ends_with("norm.weight"))
            .then_some(1.0)
    }

    /// The ggml name of a Hugging Face tensor.
    pub fn ggml_name(&self, name: &str) -> Option<String> {
        ggml_name(name, order_of(Some(self.architecture)))
    }

    /// The Hugging Face name of a ggml tensor.
    pub fn hugging_face_name(&self, name: &str) -> Option<String> {
        hugging_face_name(name, order_of(Some(self.architecture)))
    }

    /// A setting of the model that GGUF has no words for, so that a file would be of another
    /// model.
    pub fn unwritten(&self) -> Option<&str> {
        self.unwritten.as_deref()
    }

    /// The rows of the table of embeddings, where they are known.
    pub fn vocabulary(&self) -> Option<usize> {
        usize::try_from(self.vocabulary?).ok()
    }

    /// True if the output layer is the table of embeddings.
    pub const fn is_tied(&self) -> bool {
        self.tied
    }
}

/// A setting that changes the model and is not written into GGUF files here.
fn unwritten(config: &Value, architecture: GgufArchitecture) -> Option<String> {
    let is_gemma = architecture == GgufArchitecture::Gemma3;
    let activation = if is_gemma { "gelu_pytorch_tanh" } else { "silu" };
    let activation = [activation.into()];
    // llama.cpp has no such biases in other models.
    let has_no_biases = is_gemma || architecture == GgufArchitecture::Qwen3;
    let biases: (&str, &[Value]) = ("attention_bias", &[Value::Bool(false)]);
    let usual: [(&str, &[Value]); 3] = [
        ("use_sliding_window", &[Value::Bool(false)]),
        ("quantization_config", &[]),
        ("hidden_act", &activation),
    ];
    usual.into_iter().chain(has_no_biases.then_some(biases)).find_map(|(key, usual)| {
        let value = config.get(key).filter(|value| !value.is_null() && !usual.contains(value))?;
        Some(format!("`{key}` is {value}"))
    })
}

const NAMES_HINT: &str =
    "name the layers with `--names FILE`: JSON `{\"0\": \"lm_head\", …}` or lines `0 lm_head`";

/// The error of a model whose layers have unknown names. It may be passed over, so that memory for
/// it is refused as any other.
fn unknown(kind: &str, place: &str) -> Error {
    let message = limit::formatted(format_args!(
        "names and order of layers are known for Llama, Mistral, Qwen 2 and 3 and Gemma 3, not for `{kind}`"
    ));
    match message.and_then(|message| Ok((message, limit::copied(NAMES_HINT)?))) {
        Ok((message, hint)) => {
            Error::input(ErrorKind::BadMetadata, message).at(place).with_hint(hint)
        }
        Err(error) => Error::in_file(place, error),
    }
}

/// True if `name` is that of a layer which is quantised in such models, as decoders or embedding
/// models call it.
pub fn is_layer(name: &str) -> bool {
    let inside = || {
        let name = name.strip_prefix("model.").unwrap_or(name);
        let (layer, suffix) = name.strip_prefix("layers.")?.split_once('.')?;
        layer.parse::<u32>().ok()?;
        layer_place(suffix)
    };
    name == "lm_head" || inside().is_some()
}

/// The GGUF name of a Hugging Face tensor, for a decoder with norms in this order.
pub fn ggml_name(name: &str, order: Order) -> Option<String> {
    translated_part(name, decoder_names(order), &DECODER)
}

/// The Hugging Face name of a GGUF tensor.
pub fn hugging_face_name(name: &str, order: Order) -> Option<String> {
    translated_part(name, &DECODER, decoder_names(order))
}

/// The name under `to` of a tensor that files of both formats have.
fn translated_part(name: &str, from: &Names, to: &Names) -> Option<String> {
    let parts = from.parts(name)?;
    let is_one = PARTS.iter().chain(&OTHERS).any(|known| *known == parts.tensor);
    let layer = match parts.layer {
        Some(layer) => Some(layer.parse::<u32>().ok()?.to_string()),
        None => None,
    };
    let parts = TensorName { layer: layer.as_deref(), ..parts };
    is_one.then(|| spelled(&parts, to)).flatten()
}

/// The name under `to` of the tensor that is called `name` under `from`.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub fn translated(name: &str, from: &Names, to: &Names) -> Result<Option<String>, CoreError> {
    let Some(parts) = from.parts(name) else { return Ok(None) };
    let (mut name, mut written) = (String::new(), Ok(()));
    let found = to.spell(&parts, &mut |part| {
        if written.is_ok() {
            written = limit::write(&mut name, part);
        }
    });
    written.map(|()| found.map(|_| name))
}

/// A name with the number of a layer, which is not long.
fn spelled(parts: &TensorName<'_>, names: &Names) -> Option<String> {
    let mut name = String::new();
    names.spell(parts, &mut |part| name.push_str(part))?;
    Some(name)
}

/// A number of layers that is not too large.
fn layers(layers: u32, name: &str) -> Result<u32> {
    sizes::size(Limit::LAYERS, name, layers.into()).map(|_| layers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llama() -> Llama {
        Llama {
            architecture: GgufArchitecture::Llama,
            layers: 2,
            heads: 4,
            kv_heads: 2,
            hidden: 16,
            head_dim: 4,
            intermediate: 32,
            vocabulary: Some(100),
            unwritten: None,
            tied: false,
        }
    }

    #[test]
    fn every_number_has_a_name_and_every_name_its_number() {
        let llama = llama();
        for number in 0..15 {
            let name = llama.name(number).unwrap();
            assert_eq!(llama.number(&name), Some(number), "{name}");
            let weight = format!("{name}.weight");
            let theirs = llama.ggml_name(&weight).unwrap();
            assert_eq!(llama.hugging_face_name(&theirs), Some(weight));
        }
        assert_eq!((llama.name(15), llama.numbered()), (None, 15));
        assert_eq!(llama.name(1).unwrap(), "model.layers.0.self_attn.q_proj");
        assert_eq!(llama.name(14).unwrap(), "model.layers.1.mlp.down_proj");
        for unknown in
            ["model.layers.2.mlp.up_proj", "model.norm", "lm", "model.layers.x.mlp.up_proj"]
        {
            assert_eq!(llama.number(unknown), None);
        }
    }

    #[test]
    fn shapes_tell_a_wrong_order() {
        let llama = llama();
        let shape = |dims: &[u64]| Shape::new(dims).unwrap();
        llama.check_shape(0, &shape(&[100, 16])).unwrap();
        llama.check_shape(2, &shape(&[8, 16])).unwrap();
        llama.check_shape(14, &shape(&[16, 32])).unwrap();
        assert!(llama.check_shape(7, &shape(&[32, 16])).is_err());
    }

    #[test]
    fn only_queries_and_keys_have_another_order() {
        let llama = llama();
        let heads = |name: &str| llama.reordered_heads(name);
        assert_eq!(heads("model.layers.1.self_attn.q_proj.weight"), Some(4));
        assert_eq!(heads("model.layers.1.self_attn.k_proj.bias"), Some(2));
        assert_eq!(heads("model.layers.1.self_attn.v_proj.weight"), None);
        let qwen = Llama { architecture: GgufArchitecture::Qwen2, ..llama };
        assert_eq!(qwen.reordered_heads("model.layers.1.self_attn.q_proj.weight"), None);
    }

    #[test]
    fn norms_of_gemma_have_names_of_their_own_and_are_shifted() {
        let llama = llama();
        let gemma = Llama { architecture: GgufArchitecture::Gemma3, ..llama.clone() };
        let after = "model.layers.1.post_attention_layernorm.weight";
        assert_eq!(llama.ggml_name(after).unwrap(), "blk.1.ffn_norm.weight");
        assert_eq!(gemma.ggml_name(after).unwrap(), "blk.1.post_attention_norm.weight");
        for norm in OTHERS {
            let own = decoder_names(Order::Sandwich).name_of(norm);
            let Some(own) = own.filter(|own| own.starts_with('.')) else { continue };
            let name = format!("model.layers.0{own}.weight");
            let theirs = gemma.ggml_name(&name).unwrap();
            assert_eq!(gemma.hugging_face_name(&theirs), Some(name.clone()));
            assert_eq!(
                (gemma.added_for_ggml(&name), llama.added_for_ggml(&name)),
                (Some(1.0), None)
            );
        }
        assert_eq!(gemma.added_for_ggml("model.norm.weight"), Some(1.0));
        assert_eq!(gemma.added_for_ggml("model.layers.0.mlp.up_proj.weight"), None);
    }
}
