//! Encoders of all families in GGUF's metadata, as llama.cpp computes them.
//!
//! | architecture | model |
//! |---|---|
//! | `bert` | BERT; RoBERTa and XLM-RoBERTa, whose positions begin at 0 here; DistilBERT |
//! | `nomic-bert` | BERT with rotary positions and a gate |
//! | `nomic-bert-moe` | BERT with rotary positions and, in some layers, experts |
//! | `jina-bert-v2` | BERT with ALiBi and a gate; for code with norms of queries and keys |
//! | `jina-bert-v3` | BERT with rotary positions |
//! | `modern-bert` | norms first, rotary positions of two bases, windows, a gate |
//! | `gemma-embedding` | Gemma 3 without a causal mask; 1 is already added to norms |
//! | `gemma-embedding2` | the same with a further input of each layer, and other heads without a window |
//! | `eurobert` | Llama without a causal mask |
//! | `qwen3` | Llama with norms of queries and keys |
//! | `t5encoder` | norms first, relative position buckets, ReLU or, with a gate, tanh GELU |

use super::GgufArchitecture;
use super::key::Key;
use super::keys::Keys;
use super::refusal::{GgufRefusal, Outcome};
use super::scaling::position_divisor;
use super::tensors::{LOGITS, head_tensors};
use super::value::unsigned;
use super::windows::{LISTED, listed_window};
use crate::event::Value;
use crate::kernel::root;
use crate::limit::Limit;
use crate::model::config::Rope;
use crate::model::gguf_names;
use crate::model::{
    Activation, Attention, ClassifierModel, Config, Embedding, FamilyModel, FeedForward, Heads,
    Mask, Mixture, Order, QueryKeyNorm, Relative, RelativeBuckets, Rotary, Window,
};

/// The distance from which on keys share T5's last bucket: a constant of llama.cpp.
pub const T5_DISTANCE: usize = 128;

/// The default base of rotary frequencies.
const BASE: f32 = 10_000.0;

const SWA: Key = Key::SlidingWindow;
const PATTERN: Key = Key::SlidingWindowPattern;
const LAYER_EPSILON: Key = Key::LayerNormEpsilon;
const RMS_EPSILON: Key = Key::RmsNormEpsilon;

/// The model of a supported architecture; `None` for others.
pub(crate) fn read<'a>(keys: &Keys<'a>) -> Option<Outcome<'a, FamilyModel>> {
    let architecture = GgufArchitecture::from_name(keys.architecture)?;
    let read = match architecture {
        GgufArchitecture::Bert => bert,
        GgufArchitecture::NomicBert => nomic_bert,
        GgufArchitecture::NomicBertMoe => nomic_bert_moe,
        GgufArchitecture::JinaBertV2 => jina_bert_v2,
        GgufArchitecture::JinaBertV3 => jina_bert,
        GgufArchitecture::ModernBert => modern_bert,
        GgufArchitecture::GemmaEmbedding => gemma,
        GgufArchitecture::GemmaEmbedding2 => gemma_2,
        GgufArchitecture::EuroBert => eurobert,
        GgufArchitecture::Qwen3 => qwen,
        GgufArchitecture::T5Encoder => t5,
        _ => return None,
    };
    Some(read(keys).and_then(|(family, config)| {
        Ok(FamilyModel {
            family,
            config,
            names: gguf_names::encoder(&config),
            biases: architecture.biases(),
            classifier: classifier(keys)?,
        })
    }))
}

/// The `pooling_type` of models that compare texts.
const RANK: u32 = 4;

/// The head of a model that compares texts; `None` for models that embed them.
fn classifier<'a>(keys: &Keys<'a>) -> Outcome<'a, Option<ClassifierModel>> {
    if keys.value(Key::PoolingType).and_then(unsigned) != Some(RANK) {
        return Ok(None);
    }
    let head = match GgufArchitecture::from_name(keys.architecture) {
        Some(GgufArchitecture::Bert) => ClassifierModel::GGUF,
        Some(GgufArchitecture::Qwen3) => ClassifierModel::GGUF_CAUSAL,
        _ => {
            let only = "models that rank texts (4) are known of `bert` and `qwen3` alone";
            return Err(keys.refuse(Key::PoolingType, only));
        }
    };
    let mut tensors = head_tensors(&head).iter();
    if let Some(missing) = tensors.find(|name| keys.file.tensor(name).is_none()) {
        return Err(GgufRefusal::missing(missing));
    }
    let rows = keys.file.tensor(LOGITS).map_or(0, |it| it.header().shape.rows());
    Ok(Some(match head.token_score {
        Some(_) => head,
        None => ClassifierModel { labels: Limit::SIZE.check(rows).unwrap_or(0), ..head },
    }))
}

/// The `model_type` of a model and the configuration of its transformer.
type Family = (&'static str, Config);

fn bert<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let config = like_bert(keys)?;
    let activation = match keys.text(Key::OwnActivation)? {
        None | Some("gelu") => Activation::Gelu,
        Some("gelu_new") => Activation::GeluTanh,
        Some(_) => {
            let only = "only gelu and gelu_new are honoured";
            return Err(keys.refuse(Key::OwnActivation, only));
        }
    };
    let feed_forward = FeedForward::Plain(activation);
    Ok(("bert", Config { feed_forward, ..config }))
}

fn nomic_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let config = turned(keys, like_bert(keys)?)?;
    let feed_forward = FeedForward::Gated(Activation::Silu);
    Ok(("nomic_bert", Config { feed_forward, ..config }))
}

fn nomic_bert_moe<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let config = turned(keys, like_bert(keys)?)?;
    let mixture = Mixture {
        activation: Activation::Gelu,
        experts: keys.needed(Key::Experts, Limit::SIZE)?,
        used: keys.needed(Key::ExpertsUsed, Limit::SIZE)?,
        every: keys.needed(Key::ExpertsEvery, Limit::LAYERS)?,
    };
    if mixture.used > mixture.experts {
        return Err(keys.refuse(Key::ExpertsUsed, "there are not as many experts"));
    }
    Ok(("nomic_bert", Config { feed_forward: FeedForward::Mixed(mixture), ..config }))
}

fn jina_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let config = turned(keys, like_bert(keys)?)?;
    Ok(("jina_embeddings_v3", config))
}

/// The settings of Jina's models of version 2. llama.cpp takes the first half of a joined matrix for
/// the gate, which in models for code is the second: they need both apart.
fn jina_bert_v2<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    const GATE: &str = "blk.0.ffn_gate.weight";
    let config = like_bert(keys)?;
    let config = Config {
        embedding: Embedding { positions: None, ..config.embedding },
        relative: Some(Relative::Alibi),
        feed_forward: FeedForward::Gated(Activation::Gelu),
        ..config
    };
    let has = |name| keys.file.tensor(name).is_some();
    match has("blk.0.attn_q_norm.weight") {
        true if !has(GATE) => Err(GgufRefusal::missing(GATE)),
        true => Ok(("jina_bert", config.normed_twice())),
        false => Ok(("jina_bert", config)),
    }
}

fn modern_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let config = turned(keys, like_bert(keys)?)?;
    let activation = match keys.text(Key::HiddenActivation)? {
        None | Some("gelu") => Activation::Gelu,
        Some("silu") => Activation::Silu,
        Some(_) => {
            return Err(keys.refuse(Key::HiddenActivation, "only gelu and silu are honoured"));
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
    Ok(("modernbert", config))
}

fn gemma<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let config = like_llama(keys, Mask::Full)?;
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let scale = root::sqrt_f32(config.hidden as f32);
    let config = Config {
        embedding: Embedding { scale, ..config.embedding },
        attention: Attention { query_key_norm: Some(QueryKeyNorm::Head), ..config.attention },
        order: Order::Sandwich,
        feed_forward: FeedForward::Gated(Activation::GeluTanh),
        ..config
    };
    let window = keys.needed(SWA, Limit::SIZE)?;
    let config = windowed(keys, config, window, Turn { every: 6, is_first: false })?;
    Ok(("gemma3_text", config))
}

/// The settings of EmbeddingGemma 2. Keys without `_swa` at their ends are about layers without a
/// window.
fn gemma_2<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    sees_both_ways(keys)?;
    let layers = keys.needed(Key::BlockCount, Limit::LAYERS)?;
    let size = keys.needed(SWA, Limit::SIZE)?;
    let window = window(keys, layers, size, Turn { every: 6, is_first: false })?;
    let has_window = |layer: usize| window.is_some_and(|window| window.is_in(layer));
    let [local, global] = shared_heads(keys, layers, &has_window)?;
    let epsilon = epsilon(keys, RMS_EPSILON)?;
    let config = sized_with(keys, Config { epsilon, ..Config::LLAMA }, global)?;
    let usual = config.heads.size;
    let lengths = [Key::LocalKeyLength, Key::LocalValueLength];
    let heads = heads(keys, (config.heads.query, local), lengths, usual)?;
    let config = turned(keys, config)?;
    let dimensions = Key::LocalRopeDimensions;
    if keys.size(dimensions, Limit::SIZE)?.unwrap_or(heads.size) != heads.size
        || !heads.size.is_multiple_of(2)
    {
        return Err(keys.refuse(dimensions, "only whole heads are turned"));
    }
    let config = with_window(keys, config, window)?;
    let rotary = config.rotary.map(|Rotary { global, local }| {
        let local = Rope { dimensions: heads.size, ..local };
        Rotary { global, local }
    });
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let scale = root::sqrt_f32(config.hidden as f32);
    let config = Config {
        heads,
        global_heads: Some(config.heads).filter(|global| *global != heads),
        rotary,
        embedding: Embedding { scale, ..config.embedding },
        attention: Attention {
            mask: Mask::Full,
            query_key_norm: Some(QueryKeyNorm::Head),
            value_norm: true,
            scale: config.attention.scale.or(Some(1.0)),
            ..config.attention
        },
        order: Order::Sandwich,
        feed_forward: FeedForward::Gated(Activation::GeluTanh),
        per_layer: Some(keys.needed(Key::PerLayerLength, Limit::SIZE)?),
        final_projection: Some(keys.needed(Key::OutputLength, Limit::SIZE)?),
        ..config
    };
    Ok(("embedding_gemma2_text", config))
}

/// The heads of keys in layers with a window and in those without: a number, or a list with the same
/// number for all layers of a kind.
fn shared_heads<'a>(
    keys: &Keys<'a>,
    layers: usize,
    has_window: &dyn Fn(usize) -> bool,
) -> Outcome<'a, [Option<usize>; 2]> {
    const KEY: Key = Key::HeadCountKv;
    if !matches!(keys.value(KEY), Some(Value::Array { .. })) {
        return Ok([keys.size(KEY, Limit::SIZE)?; 2]);
    }
    let refuse = || {
        let reason =
            "a number, or one for each layer, the same in all layers of a kind, is honoured";
        keys.refuse(KEY, reason)
    };
    let spelled = keys.spelled(KEY).unwrap_or_default();
    let listed = || keys.file.elements(spelled).into_iter().flatten();
    if listed().take(layers.saturating_add(1)).count() != layers {
        return Err(refuse());
    }
    let [mut local, mut global] = [None; 2];
    for (layer, value) in listed().enumerate() {
        let number = unsigned(value).and_then(|it| Limit::SIZE.check(it.into()).ok());
        let number = number.filter(|number| *number > 0).ok_or_else(refuse)?;
        let kind = if has_window(layer) { &mut local } else { &mut global };
        if *kind.get_or_insert(number) != number {
            return Err(refuse());
        }
    }
    // Without layers of a kind any heads are theirs.
    Ok([local.or(global), global.or(local)])
}

fn eurobert<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    Ok(("eurobert", like_llama(keys, Mask::Full)?))
}

fn qwen<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    let mask = match keys.truth(Key::Causal)? {
        Some(false) => Mask::Full,
        _ => Mask::Causal,
    };
    let config = like_llama(keys, mask)?;
    let attention = Attention { query_key_norm: Some(QueryKeyNorm::Head), ..config.attention };
    Ok(("qwen3", Config { attention, ..config }))
}

/// The settings of T5, which does not limit positions: the context length of the file is the usual
/// limit of texts.
fn t5<'a>(keys: &Keys<'a>) -> Outcome<'a, Family> {
    const BUCKETS: Key = Key::RelativeBuckets;
    sees_both_ways(keys)?;
    let buckets = keys.needed(BUCKETS, Limit::SIZE)?;
    let buckets = RelativeBuckets::new(buckets, T5_DISTANCE)
        .ok_or_else(|| keys.refuse(BUCKETS, "no bucket is left for far keys"))?;
    let epsilon = epsilon(keys, RMS_EPSILON)?;
    let relative = Some(Relative::Buckets(buckets));
    let sized = sized(keys, Config { epsilon, relative, ..Config::LLAMA })?;
    let has_gate = keys.file.tensor("enc.blk.0.ffn_gate.weight").is_some();
    let scale = Some(sized.attention.scale.unwrap_or(1.0));
    let config = Config {
        attention: Attention { mask: Mask::Full, scale, ..sized.attention },
        feed_forward: match has_gate {
            true => FeedForward::Gated(Activation::GeluTanh),
            false => FeedForward::Plain(Activation::Relu),
        },
        positions: Limit::SIZE.most,
        ..sized
    };
    Ok(("t5", config))
}

/// The settings of BERT-like models, with a position table.
fn like_bert<'a>(keys: &Keys<'a>) -> Outcome<'a, Config> {
    sees_both_ways(keys)?;
    let has_types = keys.file.tensor("token_types.weight").is_some();
    let embedding = Embedding { token_types: has_types, ..Config::BERT.embedding };
    let epsilon = epsilon(keys, LAYER_EPSILON)?;
    sized(keys, Config { embedding, epsilon, ..Config::BERT })
}

/// The settings of Llama-like models.
fn like_llama<'a>(keys: &Keys<'a>, mask: Mask) -> Outcome<'a, Config> {
    if mask == Mask::Full && keys.architecture != GgufArchitecture::Qwen3.name() {
        sees_both_ways(keys)?;
    }
    let epsilon = epsilon(keys, RMS_EPSILON)?;
    let attention = Attention { mask, ..Config::LLAMA.attention };
    turned(keys, sized(keys, Config { attention, epsilon, ..Config::LLAMA })?)
}

fn sees_both_ways<'a>(keys: &Keys<'a>) -> Outcome<'a, ()> {
    match keys.truth(Key::Causal)? {
        Some(true) => Err(keys.refuse(Key::Causal, "only false is honoured")),
        _ => Ok(()),
    }
}

fn epsilon<'a>(keys: &Keys<'a>, key: Key) -> Outcome<'a, f32> {
    keys.positive(key)?.ok_or(GgufRefusal::missing(key.name()))
}

/// `config` with the sizes of the model.
fn sized<'a>(keys: &Keys<'a>, config: Config) -> Outcome<'a, Config> {
    let key_value = keys.size(Key::HeadCountKv, Limit::SIZE)?;
    sized_with(keys, config, key_value)
}

/// The attention heads: `key_value` heads of keys for `query` of queries, as many if there is no
/// number. `key_length` and `value_length` have the elements of a head, `usual` if they are absent.
fn heads<'a>(
    keys: &Keys<'a>,
    (query, key_value): (usize, Option<usize>),
    [key_length, value_length]: [Key; 2],
    usual: usize,
) -> Outcome<'a, Heads> {
    let key_value = key_value.unwrap_or(query);
    let size = keys.size(key_length, Limit::SIZE)?.unwrap_or(usual);
    let heads = Heads { query, key_value, size };
    if size == 0 || heads.width() > Limit::SIZE.most || query.checked_rem(key_value) != Some(0) {
        return Err(keys.refuse(Key::HeadCount, "it does not fit the other sizes"));
    }
    if keys.size(value_length, Limit::SIZE)?.is_some_and(|length| length != size) {
        return Err(keys.refuse(value_length, "only values as long as keys are honoured"));
    }
    Ok(heads)
}

/// `config` with the sizes of the model, which has so many heads of keys.
fn sized_with<'a>(
    keys: &Keys<'a>,
    config: Config,
    key_value: Option<usize>,
) -> Outcome<'a, Config> {
    let hidden = keys.needed(Key::EmbeddingLength, Limit::SIZE)?;
    let query = keys.needed(Key::HeadCount, Limit::SIZE)?;
    let usual = hidden.checked_div(query).unwrap_or(0);
    let lengths = [Key::KeyLength, Key::ValueLength];
    let heads = heads(keys, (query, key_value), lengths, usual)?;
    let scale = keys.positive(Key::AttentionScale)?;
    let rows = keys.file.tensor("token_embd.weight").map_or(0, |it| it.header().shape.rows());
    let missing = || GgufRefusal::missing("token_embd.weight");
    Ok(Config {
        layers: keys.needed(Key::BlockCount, Limit::LAYERS)?,
        heads,
        hidden,
        intermediate: keys.needed(Key::FeedForwardLength, Limit::SIZE)?,
        vocabulary: Limit::SIZE.check(rows).ok().filter(|rows| *rows > 0).ok_or_else(missing)?,
        positions: keys.needed(Key::ContextLength, Limit::SIZE)?,
        attention: Attention { scale, ..config.attention },
        ..config
    })
}

/// `config` with rotary positions instead of a table.
fn turned<'a>(keys: &Keys<'a>, config: Config) -> Outcome<'a, Config> {
    let size = config.heads.size;
    let dimensions = keys.size(Key::RopeDimensions, Limit::SIZE)?.unwrap_or(size);
    if dimensions != size || !size.is_multiple_of(2) {
        return Err(keys.refuse(Key::RopeDimensions, "only whole heads are turned"));
    }
    let base = keys.positive(Key::RopeBase)?.unwrap_or(BASE);
    let mut rope = Rope::new(dimensions, base, config.positions);
    rope.position_divisor = divisor(keys)?;
    Ok(Config {
        embedding: Embedding { positions: None, ..config.embedding },
        rotary: Some(Rotary { global: rope, local: rope }),
        ..config
    })
}

/// The divisor of positions.
fn divisor<'a>(keys: &Keys<'a>) -> Outcome<'a, f32> {
    const KIND: Key = Key::RopeScalingType;
    const FACTOR: Key = Key::RopeScalingFactor;
    let found = position_divisor(keys.text(KIND)?, keys.float(FACTOR)?);
    let found = found.ok_or_else(|| keys.refuse(KIND, "only none and linear are honoured"))?;
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    let divisor = found as f32;
    match divisor.is_finite() && divisor > 0.0 {
        true => Ok(divisor),
        false => Err(keys.refuse(FACTOR, "a positive number is needed here")),
    }
}

/// The layers without a window: one in each period, the first or the last.
#[derive(Clone, Copy)]
struct Turn {
    every: usize,
    is_first: bool,
}

/// `config` with a window in all layers except those of `usual`.
fn windowed<'a>(keys: &Keys<'a>, config: Config, size: usize, usual: Turn) -> Outcome<'a, Config> {
    let window = window(keys, config.layers, size, usual)?;
    with_window(keys, config, window)
}

/// The window, half of which is on each side, in those of `layers` that the file lists, or in all
/// except those of `usual`.
fn window<'a>(
    keys: &Keys<'a>,
    layers: usize,
    size: usize,
    usual: Turn,
) -> Outcome<'a, Option<Window>> {
    let reach = size / 2;
    match keys.value(PATTERN) {
        Some(Value::Array { .. }) => {
            listed_window(keys, reach, layers).ok_or_else(|| keys.refuse(PATTERN, LISTED))
        }
        _ => {
            let every = keys.size(PATTERN, Limit::LAYERS)?.unwrap_or(usual.every);
            let first = if usual.is_first { 0 } else { every.saturating_sub(1) };
            Ok(Some(Window::all_but(reach, every, first)))
        }
    }
}

/// `config` with this window, and rotary positions of their own in layers that have it.
fn with_window<'a>(keys: &Keys<'a>, config: Config, window: Option<Window>) -> Outcome<'a, Config> {
    let local_base = keys.positive(Key::RopeLocalBase)?.unwrap_or(BASE);
    let rotary = config.rotary.map(|Rotary { global, .. }| {
        let local = Rope { base: local_base, position_divisor: 1.0, ..global };
        Rotary { global, local }
    });
    Ok(Config { attention: Attention { window, ..config.attention }, rotary, ..config })
}
