//! DeBERTa of versions 2 and 3: BERT with disentangled attention in place of a position table.

use super::bert::bert_like;
use super::model::{ClassifierModel, FamilyBiases, FamilyModel};
use crate::kernel::root;
use crate::limit::Limit;
use crate::model::config::{Attention, Config, Disentangled, Embedding, Relative};
use crate::model::family::settings::Settings;
use crate::model::family::tensors::{Names, Tensor};
use crate::model::head::dense::DenseActivation;
use crate::text::json::{Read, Value};

const NAMES: Names = Names {
    layers: "encoder.layer.",
    tensors: &[
        (Tensor::Embeddings, "embeddings.word_embeddings"),
        (Tensor::Positions, "embeddings.position_embeddings"),
        (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
        (Tensor::EmbeddingNorm, "embeddings.LayerNorm"),
        (Tensor::RelativeVectors, "encoder.rel_embeddings"),
        (Tensor::RelativeNorm, "encoder.LayerNorm"),
        (Tensor::Query, ".attention.self.query_proj"),
        (Tensor::Key, ".attention.self.key_proj"),
        (Tensor::Value, ".attention.self.value_proj"),
        (Tensor::AttentionOutput, ".attention.output.dense"),
        (Tensor::AttentionNorm, ".attention.output.LayerNorm"),
        (Tensor::Up, ".intermediate.dense"),
        (Tensor::Down, ".output.dense"),
        (Tensor::FeedForwardNorm, ".output.LayerNorm"),
    ],
};

/// Settings of heads that are not used, of tokenizers, and of a convolution, which is rejected
/// itself.
const IRRELEVANT: &[&str] = &["legacy", "conv_act", "conv_groups", "pooler_hidden_size"];

const RELATIVE: &str = "relative_attention";
const TYPES: &str = "pos_att_type";
const SHARED: &str = "share_att_key";
const NORM: &str = "norm_rel_ebd";
const BUCKETS: &str = "position_buckets";
const DISTANCE: &str = "max_relative_positions";

pub(super) fn read<'t>(settings: &Settings<'_, 't>) -> Read<'t, FamilyModel> {
    settings.absent(&["auto_map", "layer_types"])?;
    settings.known(IRRELEVANT);
    settings.numbers(0.0, "convolutions are not honoured", &["conv_kernel_size"])?;
    settings.numbers(0.0, "only 0 is honoured", &["z_steps"])?;
    let config = bert_like(settings, 1e-7)?;
    same(settings, "embedding_size", config.hidden)?;
    same(settings, "attention_head_size", config.heads.size)?;
    let types = settings.object.integer("type_vocab_size")?.unwrap_or(0);
    let has_positions = settings.truth("position_biased_input", true)?;
    // Scores have three terms.
    #[allow(clippy::cast_precision_loss)] // heads are small
    let scale = 1.0 / root::sqrt_f32(config.heads.size as f32 * 3.0);
    let config = Config {
        embedding: Embedding {
            positions: has_positions.then_some(0),
            token_types: types > 0,
            ..config.embedding
        },
        relative: Some(Relative::Disentangled(disentangled(settings, &config)?)),
        attention: Attention { scale: Some(scale), ..config.attention },
        ..config
    };
    let classifier = match settings.classifies()? {
        true => Some(classifier(settings, &config)?),
        false => None,
    };
    Ok(FamilyModel { family: "", config, names: &NAMES, biases: FamilyBiases::ALL, classifier })
}

/// Rejects a size that is another than usual.
fn same<'t>(settings: &Settings<'_, 't>, name: &'static str, usual: usize) -> Read<'t, ()> {
    match settings.optional(name)? {
        Some(size) if size != usual => {
            Err(settings.object.unsupported(name, "only the usual size is honoured"))
        }
        _ => Ok(()),
    }
}

/// The table of vectors for offsets. Its queries and keys are made by the layers that make those of
/// tokens, and both are used.
fn disentangled<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, Disentangled> {
    let object = settings.object;
    for name in [RELATIVE, SHARED] {
        if !settings.truth(name, false)? {
            return Err(object.unsupported(name, "only true is honoured"));
        }
    }
    let types = object.needed(TYPES, object.get(TYPES))?;
    if !["c2p", "p2c"].iter().all(|name| lists(types, name)) || !lists_two(types) {
        return Err(object.unsupported(TYPES, "only p2c and c2p together are honoured"));
    }
    let norm = match object.get(NORM) {
        None => false,
        Some(norm) if norm.is_text("none") => false,
        Some(norm) if norm.is_text("layer_norm") => true,
        Some(_) => return Err(object.unsupported(NORM, "only none and layer_norm are honoured")),
    };
    let buckets = positive(settings, BUCKETS)?.unwrap_or(0);
    let distance = positive(settings, DISTANCE)?.unwrap_or(config.positions);
    Disentangled::new(buckets, distance, norm)
        .ok_or_else(|| object.bad(BUCKETS, "no bucket is left for far keys"))
}

/// The names in `types`, a list or a text with bars between them.
fn names<'t>(types: Value<'t>) -> impl Iterator<Item = &'t [u8]> {
    let text = types.as_text().unwrap_or_default();
    let listed = types.items().filter_map(|it| it.as_text().map(str::as_bytes));
    // Bytes, as the search for a character has a panic that firmware would have to link.
    let parts = text.as_bytes().split(|byte| *byte == b'|').map(<[u8]>::trim_ascii);
    parts.filter(|name| !name.is_empty()).chain(listed)
}

fn lists(types: Value<'_>, name: &str) -> bool {
    names(types).any(|known| known.eq_ignore_ascii_case(name.as_bytes()))
}

fn lists_two(types: Value<'_>) -> bool {
    names(types).count() == 2
}

/// A number; none of less than 1.
fn positive<'t>(settings: &Settings<'_, 't>, name: &'static str) -> Read<'t, Option<usize>> {
    match settings.object.get(name).and_then(|number| number.as_f64()) {
        Some(number) if number < 1.0 => Ok(None),
        _ => settings.limited(name, Limit::SIZE),
    }
}

/// The head: the first token's vector through a pooler with an activation of its own.
fn classifier<'t>(settings: &Settings<'_, 't>, config: &Config) -> Read<'t, ClassifierModel> {
    const ACTIVATION: &str = "pooler_hidden_act";
    same(settings, "pooler_hidden_size", config.hidden)?;
    let said = settings.object.get(ACTIVATION);
    let activation = match said {
        None => DenseActivation::Gelu,
        Some(said) if said.is_text("gelu") => DenseActivation::Gelu,
        Some(said) if said.is_text("tanh") => DenseActivation::Tanh,
        Some(_) => {
            return Err(settings.object.unsupported(ACTIVATION, "only gelu and tanh are honoured"));
        }
    };
    Ok(ClassifierModel { activation, ..ClassifierModel::BERT })
}
