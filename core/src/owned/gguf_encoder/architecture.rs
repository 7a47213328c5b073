//! What a GGUF file says of an encoder's transformer, as llama.cpp computes it.
//!
//! | architecture | what it is |
//! |---|---|
//! | `bert` | BERT; RoBERTa and XLM-RoBERTa, whose positions begin at 0 here; DistilBERT |
//! | `nomic-bert` | BERT with rotary positions and a gate |
//! | `jina-bert-v3` | BERT with rotary positions |
//! | `modern-bert` | norms first, rotary positions of two bases, windows, a gate |
//! | `gemma-embedding` | Gemma 3 that sees both ways; norms have 1 added to them already |
//! | `eurobert` | Llama that sees both ways |
//! | `qwen3` | Llama with norms of queries and keys |

use super::keys::{Keys, Outcome};
use super::names::{POST, PRE};
use crate::describe::gguf::GgufRefusal;
use crate::describe::gguf::{LISTED, listed_window, position_divisor};
use crate::event::Value;
use crate::kernel::root;
use crate::limit::Limit;
use crate::model::config::Rope;
use crate::model::{
    Activation, Attention, Biases, Config, Embedding, FamilyModel, FeedForward, Heads, Mask, Names,
    Order, Rotary, Window,
};

/// The base of rotary frequencies, unless the file says another.
const BASE: f32 = 10_000.0;

const SWA: &str = "attention.sliding_window";
const PATTERN: &str = "attention.sliding_window_pattern";
const LAYER_EPSILON: &str = "attention.layer_norm_epsilon";
const RMS_EPSILON: &str = "attention.layer_norm_rms_epsilon";

/// The model of an architecture that is known; `None` for others.
pub(super) fn read<'a>(keys: &Keys<'a>) -> Option<Outcome<'a, FamilyModel>> {
    let read = match keys.architecture {
        "bert" => bert,
        "nomic-bert" => nomic_bert,
        "jina-bert-v3" => jina_bert,
        "modern-bert" => modern_bert,
        "gemma-embedding" => gemma,
        "eurobert" => eurobert,
        "qwen3" => qwen,
        _ => return None,
    };
    Some(read(keys))
}

fn bert<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    let config = like_bert(keys)?;
    let activation = match keys.text("nanoembed.hidden_act")? {
        None | Some("gelu") => Activation::Gelu,
        Some("gelu_new") => Activation::GeluTanh,
        Some(_) => {
            let only = "only gelu and gelu_new are honoured";
            return Err(keys.refuse("nanoembed.hidden_act", only));
        }
    };
    let feed_forward = FeedForward::Plain(activation);
    Ok(model("bert", Config { feed_forward, ..config }, &POST, Biases::ALL))
}

fn nomic_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    let config = turned(keys, like_bert(keys)?)?;
    let feed_forward = FeedForward::Gated(Activation::Silu);
    let biases = Biases { norms: true, ..Biases::NONE };
    Ok(model("nomic_bert", Config { feed_forward, ..config }, &POST, biases))
}

fn jina_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    let config = turned(keys, like_bert(keys)?)?;
    Ok(model("jina_embeddings_v3", config, &POST, Biases::ALL))
}

fn modern_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    let config = turned(keys, like_bert(keys)?)?;
    let activation = match keys.text("hidden_activation")? {
        None | Some("gelu") => Activation::Gelu,
        Some("silu") => Activation::Silu,
        Some(_) => {
            return Err(keys.refuse("hidden_activation", "only gelu and silu are honoured"));
        }
    };
    let config = Config {
        embedding: Embedding { token_types: false, ..config.embedding },
        order: Order::Pre,
        feed_forward: FeedForward::Gated(activation),
        first_norm: false,
        final_norm: true,
        ..config
    };
    let window = keys.size(SWA, Limit::SIZE)?.filter(|size| *size > 0);
    let config = match window {
        Some(size) => windowed(keys, config, size, Turn { every: 3, is_first: true })?,
        None => config,
    };
    Ok(model("modernbert", config, &PRE, Biases::NONE))
}

fn gemma<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    let config = like_llama(keys, Mask::Full)?;
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let scale = root::sqrt_f32(config.hidden as f32);
    let config = Config {
        embedding: Embedding { scale, ..config.embedding },
        attention: Attention { query_key_norm: true, ..config.attention },
        order: Order::Sandwich,
        feed_forward: FeedForward::Gated(Activation::GeluTanh),
        ..config
    };
    let window = keys.needed(SWA, Limit::SIZE)?;
    let config = windowed(keys, config, window, Turn { every: 6, is_first: false })?;
    Ok(model("gemma3_text", config, &PRE, Biases::NONE))
}

fn eurobert<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    Ok(model("eurobert", like_llama(keys, Mask::Full)?, &PRE, Biases::NONE))
}

fn qwen<'a>(keys: &Keys<'a>) -> Outcome<'a, FamilyModel> {
    let mask = match keys.truth("attention.causal")? {
        Some(false) => Mask::Full,
        _ => Mask::Causal,
    };
    let config = like_llama(keys, mask)?;
    let attention = Attention { query_key_norm: true, ..config.attention };
    Ok(model("qwen3", Config { attention, ..config }, &PRE, Biases::NONE))
}

const fn model(
    family: &'static str,
    config: Config,
    names: &'static Names,
    biases: Biases,
) -> FamilyModel {
    FamilyModel { family, config, names, biases, classifier: None }
}

/// The settings of BERT and what is made of it, with a table of positions.
fn like_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, Config> {
    sees_both_ways(keys)?;
    let has_types = keys.file.tensor("token_types.weight").is_some();
    let embedding = Embedding { token_types: has_types, ..Config::BERT.embedding };
    let epsilon = epsilon(keys, LAYER_EPSILON)?;
    sized(keys, Config { embedding, epsilon, ..Config::BERT })
}

/// The settings of Llama and what is made of it.
fn like_llama<'a>(keys: &Keys<'a>, mask: Mask) -> Outcome<'a, Config> {
    if mask == Mask::Full && keys.architecture != "qwen3" {
        sees_both_ways(keys)?;
    }
    let epsilon = epsilon(keys, RMS_EPSILON)?;
    let attention = Attention { mask, ..Config::LLAMA.attention };
    turned(keys, sized(keys, Config { attention, epsilon, ..Config::LLAMA })?)
}

fn sees_both_ways<'a>(keys: &Keys<'a>) -> Outcome<'a, ()> {
    match keys.truth("attention.causal")? {
        Some(true) => Err(keys.refuse("attention.causal", "only false is honoured")),
        _ => Ok(()),
    }
}

fn epsilon<'a>(keys: &Keys<'a>, key: &'static str) -> Outcome<'a, f32> {
    keys.positive(key)?.ok_or(GgufRefusal::missing(key))
}

/// `config` with the sizes of the model.
fn sized<'a>(keys: &Keys<'a>, config: Config) -> Outcome<'a, Config> {
    let hidden = keys.needed("embedding_length", Limit::SIZE)?;
    let query = keys.needed("attention.head_count", Limit::SIZE)?;
    let key_value = keys.size("attention.head_count_kv", Limit::SIZE)?.unwrap_or(query);
    let usual = hidden.checked_div(query).unwrap_or(0);
    let size = keys.size("attention.key_length", Limit::SIZE)?.unwrap_or(usual);
    let heads = Heads { query, key_value, size };
    if size == 0 || heads.width() > Limit::SIZE.most || query.checked_rem(key_value) != Some(0) {
        return Err(keys.refuse("attention.head_count", "it does not fit the other sizes"));
    }
    if keys.size("attention.value_length", Limit::SIZE)?.is_some_and(|length| length != size) {
        let only = "only values as long as keys are honoured";
        return Err(keys.refuse("attention.value_length", only));
    }
    let scale = keys.positive("attention.scale")?;
    let rows = keys.file.tensor("token_embd.weight").map_or(0, |it| it.header().shape.rows());
    let missing = || GgufRefusal::missing("token_embd.weight");
    Ok(Config {
        layers: keys.needed("block_count", Limit::LAYERS)?,
        heads,
        hidden,
        intermediate: keys.needed("feed_forward_length", Limit::SIZE)?,
        vocabulary: Limit::SIZE.check(rows).ok().filter(|rows| *rows > 0).ok_or_else(missing)?,
        positions: keys.needed("context_length", Limit::SIZE)?,
        attention: Attention { scale, ..config.attention },
        ..config
    })
}

/// `config` with rotary positions instead of a table.
fn turned<'a>(keys: &Keys<'a>, config: Config) -> Outcome<'a, Config> {
    let size = config.heads.size;
    let dimensions = keys.size("rope.dimension_count", Limit::SIZE)?.unwrap_or(size);
    if dimensions != size || !size.is_multiple_of(2) {
        return Err(keys.refuse("rope.dimension_count", "only whole heads are turned"));
    }
    let base = keys.positive("rope.freq_base")?.unwrap_or(BASE);
    let mut rope = Rope::new(dimensions, base, config.positions);
    rope.position_divisor = divisor(keys)?;
    Ok(Config {
        embedding: Embedding { positions: None, ..config.embedding },
        rotary: Some(Rotary { global: rope, local: rope }),
        ..config
    })
}

/// What positions are divided by.
fn divisor<'a>(keys: &Keys<'a>) -> Outcome<'a, f32> {
    const KIND: &str = "rope.scaling.type";
    const FACTOR: &str = "rope.scaling.factor";
    let found = position_divisor(keys.text(KIND)?, keys.number(FACTOR)?);
    let found = found.ok_or_else(|| keys.refuse(KIND, "only none and linear are honoured"))?;
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    let divisor = found as f32;
    match divisor.is_finite() && divisor > 0.0 {
        true => Ok(divisor),
        false => Err(keys.refuse(FACTOR, "a positive number is needed here")),
    }
}

/// Which layers see all tokens: one of so many, the first or the last of each turn.
#[derive(Clone, Copy)]
struct Turn {
    every: usize,
    is_first: bool,
}

/// `config` with a window, half of which lies on each side, in all layers but those of `usual`.
fn windowed<'a>(keys: &Keys<'a>, config: Config, size: usize, usual: Turn) -> Outcome<'a, Config> {
    let reach = size / 2;
    let window = match keys.value(PATTERN) {
        Some(Value::Array { .. }) => {
            let key = [keys.architecture, ".", PATTERN].concat();
            listed_window(&keys.file, &key, reach, config.layers)
                .ok_or_else(|| keys.refuse(PATTERN, LISTED))?
        }
        _ => {
            let every = keys.size(PATTERN, Limit::LAYERS)?.unwrap_or(usual.every);
            let first = if usual.is_first { 0 } else { every.saturating_sub(1) };
            Some(Window::all_but(reach, every, first))
        }
    };
    let local_base = keys.positive("rope.freq_base_swa")?.unwrap_or(BASE);
    let rotary = config.rotary.map(|Rotary { global, .. }| {
        let local = Rope { base: local_base, position_divisor: 1.0, ..global };
        Rotary { global, local }
    });
    Ok(Config { attention: Attention { window, ..config.attention }, rotary, ..config })
}
