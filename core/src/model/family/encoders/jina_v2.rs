//! Jina embeddings v2: BERT with ALiBi in place of a position table, and gates. Files say `bert`.
//!
//! Its code exists in two versions, which `auto_map` names:
//!
//! | `jina-bert-implementation` | `jina-bert-v2-qk-post-norm` |
//! |---|---|
//! | English, German, Chinese | code |
//! | the gate is the first half of its matrix | the gate is the second half |
//! | | norms of whole queries and keys |
//! | | the attention's input is added to its normed sum once more, and the result is normed |

use super::model::{FamilyBiases, FamilyModel};
use crate::model::config::{
    Activation, Attention, Config, Embedding, FeedForward, Order, QueryKeyNorm, Relative,
};
use crate::model::family::bert::bert_names;
use crate::model::family::settings::{Activations, Settings, SizeNames};
use crate::model::family::tensors::{Names, Tensor};
use crate::text::json::{Read, Value};

pub(super) const POSITIONS: &str = "position_embedding_type";
pub(super) const ALIBI: &str = "alibi";
pub(super) const FEED_FORWARD: &str = "feed_forward_type";
pub(super) const GATED: &str = "geglu";
pub(super) const ORIGIN: &str = "_name_or_path";
const CODE: &str = "auto_map";

/// The repository of each version's code.
pub(super) const USUAL: &str = "jinaai/jina-bert-implementation";
pub(super) const WITH_NORMS: &str = "jinaai/jina-bert-v2-qk-post-norm";

const ONLY_GELU: Activations = &[("gelu", Activation::Gelu)];

const NAMES: Names = bert_names!(
    // Gate and up in one matrix, as in GGUF.
    (Tensor::Up, ".mlp.gated_layers"),
    (Tensor::Down, ".mlp.wo"),
    (Tensor::FeedForwardNorm, ".mlp.layernorm"),
);

const NAMES_WITH_NORMS: Names = bert_names!(
    (Tensor::QueryNorm, ".attention.self.layer_norm_q"),
    (Tensor::KeyNorm, ".attention.self.layer_norm_k"),
    (Tensor::AttentionEndNorm, ".layer_norm_1"),
    (Tensor::UpGate, ".mlp.up_gated_layer"),
    // Names of llama.cpp for the halves, which GGUF files have apart.
    (Tensor::Gate, ".mlp.gated_layers_w"),
    (Tensor::Up, ".mlp.gated_layers_v"),
    (Tensor::Down, ".mlp.down_layer"),
    (Tensor::FeedForwardNorm, ".layer_norm_2"),
);

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["layer_types"])?;
    settings.off(&["is_decoder"])?;
    settings.only(POSITIONS, "only alibi is honoured", &[ALIBI])?;
    // The pooling of the code's own `encode`; sentence-transformers has a module for it.
    settings.only("emb_pooler", "only mean is honoured", &["mean"])?;
    // The table's shape contains the number of types. ALiBi has no limit of its own.
    settings.known(&["type_vocab_size", "model_max_length"]);
    let said = settings.object.needed(FEED_FORWARD, settings.object.get(FEED_FORWARD))?;
    if !said.is_text(GATED) {
        return Err(settings.object.unsupported(FEED_FORWARD, "only geglu is honoured"));
    }
    let usual = Activation::Gelu;
    let activation =
        settings.activation("hidden_act", usual, ONLY_GELU, "only gelu is honoured")?;
    let sized = settings.sized(&SizeNames::USUAL, Config::BERT)?;
    settings.even_heads(&SizeNames::USUAL, &sized)?;
    let config = Config {
        embedding: Embedding { positions: None, ..sized.embedding },
        relative: Some(Relative::Alibi),
        epsilon: settings.positive("layer_norm_eps")?.unwrap_or(1e-12),
        feed_forward: FeedForward::Gated(activation),
        ..sized
    };
    let (config, names) = match has_norms(settings)? {
        true => (config.normed_twice(), &NAMES_WITH_NORMS),
        false => (config, &NAMES),
    };
    let biases = FamilyBiases { up: false, ..FamilyBiases::ALL };
    Ok(FamilyModel { family: "", config, names, biases, classifier: None })
}

impl Config {
    /// The settings of Jina's version for code.
    pub(crate) const fn normed_twice(self) -> Self {
        let query_key_norm = Some(QueryKeyNorm::Vector);
        let attention = Attention { query_key_norm, ..self.attention };
        Self { attention, order: Order::PostTwice, ..self }
    }
}

/// Returns true for the version with norms of queries and keys.
fn has_norms<'t>(settings: &Settings<'_, 't>) -> Read<'t, bool> {
    let text = |value: Value<'t>| value.as_text();
    let class = settings.object.get(CODE).and_then(|map| map.member("AutoModel")).and_then(text);
    // Without the code's repository the name tells where the model comes from.
    let origin = settings.object.get(ORIGIN).and_then(text);
    let repository = class.and_then(|class| {
        let end = class.as_bytes().windows(2).position(|pair| pair == b"--")?;
        class.get(..end)
    });
    match repository.or(origin) {
        Some(USUAL) => Ok(false),
        Some(WITH_NORMS) => Ok(true),
        _ => {
            let only = "only jina-bert-implementation and jina-bert-v2-qk-post-norm are honoured";
            Err(settings.object.unsupported(CODE, only))
        }
    }
}
