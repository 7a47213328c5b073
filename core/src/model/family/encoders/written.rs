//! Writes an encoder as the text of a `config.json` that [`read_config`](super::read_config) reads.

use core::fmt::{self, Display, Formatter};

use super::model::{ClassifierModel, FamilyModel};
use super::{JINA_V2, distilbert, gemma2, jina_v2, nomic, t5};
use crate::kernel::root;
use crate::model::config::{
    Attention, Config, Heads, Mask, Mixture, NormKind, Order, RelativeBuckets, Rope, Rotary,
};
use crate::model::family::settings::{OF_BERT, SizeNames};
use crate::text::json::{Comma, List, Members, Quoted};

/// Displays the `config.json` of an encoder whose settings come from another format.
///
/// What it cannot express is missing in the text: the model that is read from it has to be compared
/// by [`difference`](FamilyModel::difference).
#[derive(Clone, Copy, Debug)]
pub struct ConfigJson<'m>(pub &'m FamilyModel);

impl Display for ConfigJson<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(model) = self;
        let mut members = Members::new(f)?;
        let family = model.written_family();
        members.text("model_type", if family == JINA_V2 { "bert" } else { family })?;
        if let Some(classifier) = &model.classifier {
            let name = ["BertForSequenceClassification"];
            members.put("architectures", &List(name.iter().map(Quoted)))?;
            members.put("num_labels", &classifier.labels)?;
        }
        match family {
            "distilbert" => distil_bert(&model.config, &mut members)?,
            "modernbert" => modern_bert(model, &mut members)?,
            "gemma3_text" => gemma(model, &mut members)?,
            gemma2::TEXT => gemma_2(model, &mut members)?,
            JINA_V2 => jina_v2(model, &mut members)?,
            "nomic_bert" if model.config.mixture().is_some() => nomic(model, &mut members)?,
            "t5" => t5(&model.config, &mut members)?,
            "eurobert" | "qwen2" | "qwen3" => llama_like(model, &mut members)?,
            _ => bert_like(&model.config, &mut members)?,
        }
        members.finish()
    }
}

impl FamilyModel {
    /// The `model_type` under which the model is written: GGUF calls DistilBERT, which has no token
    /// types, BERT.
    fn written_family(&self) -> &'static str {
        match self.family {
            "bert" if !self.config.embedding.token_types => "distilbert",
            family => family,
        }
    }

    /// The part that differs in `other`; `None` if it computes the same from the same weights, under
    /// whatever names, with 1 subtracted from the norms' weights if it adds that.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let [a, b] = [&self.config, &other.config];
        let window = |config: &Config, layer| {
            let window = config.attention.window.filter(|window| window.is_in(layer));
            window.map(|window| window.reach)
        };
        let [a_scale, b_scale] = [a, b].map(scale);
        let have_windows = (0..a.layers).all(|layer| window(a, layer) == window(b, layer));
        let have_scale = (a_scale - b_scale).abs() <= 1e-6 * a_scale;
        let have_head = self.classifier.map(unnamed) == other.classifier.map(unnamed);
        [
            ("the windows of its layers", have_windows),
            ("its factor on attention scores", have_scale),
            ("the epsilon of its norms", a.epsilon == b.epsilon),
            ("its activation", a.feed_forward == b.feed_forward),
            ("its rotary positions", a.rotary == b.rotary),
            ("its biases", self.biases == other.biases),
            ("its head", have_head),
            ("its configuration", compared_whole(a) == compared_whole(b)),
        ]
        .into_iter()
        .find_map(|(name, is_same)| (!is_same).then_some(name))
    }
}

/// The factor on scores.
fn scale(config: &Config) -> f32 {
    #[allow(clippy::cast_precision_loss)] // heads are small
    let usual = 1.0 / root::sqrt_f32(config.heads.size as f32);
    config.attention.scale.unwrap_or(usual)
}

/// A configuration without the settings that are compared separately.
fn compared_whole(config: &Config) -> Config {
    let norm = match config.norm {
        NormKind::Rms { .. } => NormKind::Rms { one_plus: false },
        NormKind::Layer => NormKind::Layer,
    };
    let attention = Attention { window: None, scale: None, ..config.attention };
    Config { norm, attention, ..*config }
}

/// A head without the names of its tensors.
fn unnamed(head: ClassifierModel) -> ClassifierModel {
    let no_name = |_| "";
    let (hidden, norm) = (head.hidden.map(no_name), head.norm.map(no_name));
    ClassifierModel { hidden, norm, output: "", ..head }
}

fn sizes(config: &Config, names: &SizeNames, members: &mut Members<'_, '_>) -> fmt::Result {
    for (name, size) in [
        (names.layers, config.layers),
        (names.hidden, config.hidden),
        (names.heads, config.heads.query),
        (names.intermediate, config.intermediate),
        ("vocab_size", config.vocabulary),
    ] {
        members.put(name, &size)?;
    }
    names.positions.map_or(Ok(()), |name| members.put(name, &config.positions))
}

/// The name of the activation, as BERT spells it.
fn activation(config: &Config) -> &'static str {
    let used = config.feed_forward.activation();
    let found = OF_BERT.iter().find(|(_, known)| *known == used);
    // BERT has no SiLU.
    found.map_or("silu", |(name, _)| name)
}

fn bert_like(config: &Config, members: &mut Members<'_, '_>) -> fmt::Result {
    sizes(config, &SizeNames::USUAL, members)?;
    members.text("hidden_act", activation(config))?;
    members.put("layer_norm_eps", &Exact(config.epsilon))?;
    members.put("type_vocab_size", &u8::from(config.embedding.token_types))?;
    config.rotary.map_or(Ok(()), |rotary| members.put("rope_parameters", &RopeJson(rotary.global)))
}

/// The settings of NomicBERT with experts, as in the hub's own code.
fn nomic(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    let FamilyModel { config, biases, .. } = model;
    sizes(config, &nomic::HUB, members)?;
    members.text(nomic::ACTIVATION, nomic::WITHOUT_GATE)?;
    members.put(nomic::EPSILON, &Exact(config.epsilon))?;
    members.put("type_vocab_size", &u8::from(config.embedding.token_types))?;
    if let Some(rotary) = config.rotary {
        members.put(nomic::BASE, &Exact(rotary.global.base))?;
    }
    for (name, has_bias) in nomic::BIASES.iter().zip([biases.attention, biases.up, biases.down]) {
        members.put(name, &has_bias)?;
    }
    if let Some(Mixture { experts, used, every, .. }) = config.mixture() {
        members.put(nomic::EXPERTS, experts)?;
        members.put(nomic::EXPERTS_USED, used)?;
        members.put(nomic::EXPERTS_EVERY, every)?;
    }
    Ok(())
}

fn jina_v2(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    bert_like(&model.config, members)?;
    members.text(jina_v2::POSITIONS, jina_v2::ALIBI)?;
    members.text(jina_v2::FEED_FORWARD, jina_v2::GATED)?;
    let is_for_code = model.config.order == Order::PostTwice;
    let origin = if is_for_code { jina_v2::WITH_NORMS } else { jina_v2::USUAL };
    members.text(jina_v2::ORIGIN, origin)
}

fn distil_bert(config: &Config, members: &mut Members<'_, '_>) -> fmt::Result {
    sizes(config, &distilbert::SIZES, members)?;
    members.text("activation", activation(config))
}

fn t5(config: &Config, members: &mut Members<'_, '_>) -> fmt::Result {
    sizes(config, &t5::SIZES, members)?;
    members.put(t5::HEAD, &config.heads.size)?;
    members.put(t5::EPSILON, &Exact(config.epsilon))?;
    if let Some(RelativeBuckets { buckets, distance }) = config.buckets() {
        members.put(t5::BUCKETS, buckets)?;
        members.put(t5::DISTANCE, distance)?;
    }
    let known = t5::PROJECTIONS.iter().find(|(_, known, _)| *known == config.feed_forward);
    known.map_or(Ok(()), |(name, ..)| members.text(t5::PROJECTION, name))
}

fn modern_bert(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    let FamilyModel { config, biases, .. } = model;
    sizes(config, &SizeNames::USUAL, members)?;
    members.text("hidden_activation", activation(config))?;
    members.put("norm_eps", &Exact(config.epsilon))?;
    members.put("attention_bias", &biases.attention)?;
    members.put("mlp_bias", &biases.up)?;
    members.put("norm_bias", &biases.norms)?;
    windows(config, ("local_attention", 2), members)
}

fn gemma(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    let config = &model.config;
    shared_heads(model, members)?;
    members.text("hidden_activation", "gelu_pytorch_tanh")?;
    members.put("use_bidirectional_attention", &(config.attention.mask == Mask::Full))?;
    let scale = f64::from(scale(config));
    members.put("query_pre_attn_scalar", &(1.0 / (scale * scale)))?;
    windows(config, ("sliding_window", 2), members)
}

fn gemma_2(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    let config = &model.config;
    shared_heads(model, members)?;
    members.text("hidden_activation", "gelu_pytorch_tanh")?;
    members.put(gemma2::PER_LAYER, &config.per_layer.unwrap_or(0))?;
    members.put(gemma2::PROJECTION, &config.final_projection.unwrap_or(0))?;
    if let Some(heads) = config.global_heads {
        members.put(gemma2::BY_LAYERS, &GlobalHeads(heads, config))?;
    }
    windows(config, ("sliding_window", 1), members)
}

/// Displays the heads of each layer without a window.
struct GlobalHeads<'c>(Heads, &'c Config);

impl Display for GlobalHeads<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(Heads { size, key_value, .. }, config) = self;
        let mut comma = Comma::default();
        f.write_str("{")?;
        for layer in (0..config.layers).filter(|layer| !config.has_window(*layer)) {
            comma.write(f)?;
            write!(f, r#""{layer}":{{"head_dim":{size},"num_key_value_heads":{key_value}}}"#)?;
        }
        f.write_str("}")
    }
}

fn llama_like(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    let config = &model.config;
    shared_heads(model, members)?;
    members.text("hidden_act", activation(config))?;
    if config.attention.mask == Mask::Full && model.family != "eurobert" {
        members.put("is_causal", &false)?;
    }
    config.rotary.map_or(Ok(()), |rotary| members.put("rope_parameters", &RopeJson(rotary.global)))
}

/// The settings of models in which several queries share a key.
fn shared_heads(model: &FamilyModel, members: &mut Members<'_, '_>) -> fmt::Result {
    let FamilyModel { config, biases, .. } = model;
    sizes(config, &SizeNames::USUAL, members)?;
    members.put("head_dim", &config.heads.size)?;
    members.put("num_key_value_heads", &config.heads.key_value)?;
    members.put("rms_norm_eps", &Exact(config.epsilon))?;
    members.put("attention_bias", &biases.attention)
}

/// The window, whose size under `name` is `sides` times its reach, the layers that have it, and
/// their positions.
fn windows(
    config: &Config,
    (name, sides): (&str, usize),
    members: &mut Members<'_, '_>,
) -> fmt::Result {
    let window = config.attention.window;
    if let Some(window) = window {
        members.put(name, &window.reach.saturating_mul(sides).max(1))?;
    }
    let layers = (0..config.layers).map(|layer| {
        let has_window = window.is_some_and(|window| window.is_in(layer));
        Quoted(if has_window { "sliding_attention" } else { "full_attention" })
    });
    members.put("layer_types", &List(layers))?;
    config.rotary.map_or(Ok(()), |rotary| members.put("rope_parameters", &ByLayers(rotary)))
}

/// Displays rotary positions that differ in layers with a window.
struct ByLayers(Rotary);

impl Display for ByLayers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut members = Members::new(f)?;
        members.put("full_attention", &RopeJson(self.0.global))?;
        members.put("sliding_attention", &RopeJson(self.0.local))?;
        members.finish()
    }
}

/// Displays rotary positions with one divisor of all positions.
struct RopeJson(Rope);

impl Display for RopeJson {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(rope) = self;
        let mut members = Members::new(f)?;
        members.put("rope_theta", &Exact(rope.base))?;
        if rope.position_divisor == 1.0 {
            members.text("rope_type", "default")?;
        } else {
            members.text("rope_type", "linear")?;
            members.put("factor", &Exact(rope.position_divisor))?;
        }
        members.finish()
    }
}

/// Displays a number so that reading it gives the same one.
struct Exact(f32);

impl Display for Exact {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;
    use crate::model::config::Window;
    use crate::model::family::encoders::read_config;
    use crate::text::json::Value;

    fn read(text: &str) -> FamilyModel {
        read_config(Value::parse(text, 0).unwrap()).unwrap()
    }

    /// Every family is read from its own settings, written and read again.
    #[test]
    fn what_is_written_is_read_again() {
        const SIZES: &str = r#""num_hidden_layers": 7, "hidden_size": 8, "num_attention_heads": 2,
            "intermediate_size": 16, "vocab_size": 9, "max_position_embeddings": 32"#;
        const WINDOWS: &str = r#""layer_types": ["full_attention", "sliding_attention",
            "sliding_attention", "full_attention", "full_attention", "sliding_attention",
            "full_attention"], "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 4, "rope_theta": 5e5},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}"#;
        const LINEAR: &str = r#""rope_parameters": {"rope_type": "linear", "factor": 3,
            "rope_theta": 1000.1}"#;
        let gemma_2 = |heads| {
            std::format!(
                r#"{heads}"head_dim": 6, "num_key_value_heads": 1, "sliding_window": 11,
                "hidden_size_per_layer_input": 12, "embedding_dim": 10, {WINDOWS}"#
            )
        };
        let alibi = |code| {
            std::format!(
                r#""position_embedding_type": "alibi", "feed_forward_type": "geglu",
                "_name_or_path": "{code}""#
            )
        };
        for (family, further) in [
            ("bert", r#""layer_norm_eps": 1e-5, "hidden_act": "gelu_new""#),
            ("bert", r#""num_labels": 3, "architectures": ["BertForSequenceClassification"]"#),
            ("bert", &alibi(jina_v2::USUAL)),
            ("bert", &alibi(jina_v2::WITH_NORMS)),
            ("nomic_bert", r#""hidden_act": "gelu""#),
            ("nomic_bert", LINEAR),
            ("jina_embeddings_v3", LINEAR),
            ("modernbert", r#""global_attn_every_n_layers": 3, "local_attention": 10"#),
            ("modernbert", WINDOWS),
            (
                "gemma3_text",
                r#""head_dim": 6, "num_key_value_heads": 1, "sliding_window": 12,
                "use_bidirectional_attention": true, "query_pre_attn_scalar": 20"#,
            ),
            ("embedding_gemma2_text", &gemma_2("")),
            (
                "embedding_gemma2_text",
                &gemma_2(
                    r#""per_layer_config": {"3": {"head_dim": 8}, "0": {"head_dim": 8},
                "4": {"head_dim": 8}, "6": {"head_dim": 8, "num_key_value_heads": 1}}, "#,
                ),
            ),
            ("eurobert", r#""num_key_value_heads": 1, "head_dim": 10"#),
            ("qwen3", r#""num_key_value_heads": 1, "head_dim": 10, "is_causal": false"#),
            ("qwen3", r#""num_key_value_heads": 2, "head_dim": 4, "attention_bias": true"#),
        ] {
            let text = std::format!("{{\"model_type\": \"{family}\", {SIZES}, {further}}}");
            let model = read(&text);
            let written = ConfigJson(&model).to_string();
            let again = read(&written);
            assert_eq!(model.difference(&again), None, "{family}: {again:?}, not {model:?}");
            assert_eq!((again.family, again.names), (model.family, model.names));
            assert_eq!(ConfigJson(&again).to_string(), written);
        }
        for further in [
            r#""feed_forward_proj": "gated-gelu", "layer_norm_epsilon": 1e-5"#,
            r#""d_kv": 5, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 9"#,
        ] {
            let text = std::format!(
                r#"{{"model_type": "t5", "num_layers": 2, "d_model": 8, "num_heads": 2, "d_ff": 16,
                "vocab_size": 9, {further}}}"#
            );
            let model = read(&text);
            assert_eq!(read(&ConfigJson(&model).to_string()), model);
        }
        let nomic = r#"{"model_type": "nomic_bert", "n_layer": 3, "n_embd": 8, "n_head": 2,
            "n_inner": 16, "vocab_size": 9, "n_positions": 32, "activation_function": "gelu",
            "num_experts": 5, "moe_top_k": 2, "moe_every_n_layers": 2, "qkv_proj_bias": false,
            "type_vocab_size": 1, "rotary_emb_base": 1000}"#;
        let nomic = read(nomic);
        assert_eq!(read(&ConfigJson(&nomic).to_string()), nomic);
        let distil = r#"{"model_type": "distilbert", "n_layers": 2, "dim": 8, "n_heads": 2,
            "hidden_dim": 16, "vocab_size": 9, "max_position_embeddings": 32}"#;
        let distil = read(distil);
        assert_eq!(read(&ConfigJson(&distil).to_string()), distil);
        assert_eq!(
            read(&ConfigJson(&FamilyModel { family: "bert", ..distil }).to_string()),
            distil
        );
    }

    #[test]
    fn what_a_family_cannot_say_is_a_difference() {
        let text = r#"{"model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 8, "head_dim": 4,
            "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 16,
            "vocab_size": 9, "max_position_embeddings": 32}"#;
        let model = read(text);
        let changed = |change: &dyn Fn(&mut Config)| {
            let mut changed = model;
            change(&mut changed.config);
            changed.difference(&read(&ConfigJson(&changed).to_string()))
        };
        assert_eq!(changed(&|config| config.norm = NormKind::Rms { one_plus: true }), None);
        let scale = changed(&|config| config.attention.scale = Some(0.25));
        assert_eq!(scale, Some("its factor on attention scores"));
        let scaled = changed(&|config| config.embedding.scale = 2.0);
        assert_eq!(scaled, Some("its configuration"));
        let window = Some(Window::all_but(3, 0, 0));
        let windows = changed(&|config| config.attention.window = window);
        assert_eq!(windows, Some("the windows of its layers"));
    }
}
