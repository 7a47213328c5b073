//! `adapter_config.json`: a LoRA adapter as peft saves it. E. Hu et al., "LoRA: Low-Rank Adaptation
//! of Large Language Models", 2021.

use super::texts::{ReadText, TextPath, Texts};
use crate::text::json::{LexemeKind, Object, Read, Value};

/// The configuration of an adapter.
pub const ADAPTER: &str = "adapter_config.json";

/// Irrelevant members: training, and the choice of the matrices, which the weights repeat.
const IRRELEVANT: &[&str] = &[
    "auto_mapping",
    "exclude_modules",
    "inference_mode",
    "layers_pattern",
    "layers_to_transform",
    "lora_dropout",
    "megatron_core",
    "peft_version",
    "qalora_group_size",
    "revision",
    "runtime_config",
    "target_modules",
    "task_type",
];

/// Members that would make it another adapter, which are `null`, `false` or empty here.
const OTHERS: &[&str] = &[
    "alora_invocation_tokens",
    "arrow_config",
    "corda_config",
    "ensure_weight_tying",
    "eva_config",
    "fan_in_fan_out",
    "layer_replication",
    "loftq_config",
    "lora_bias",
    "megatron_config",
    "modules_to_save",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_dora",
    "use_qalora",
];

/// The settings of a LoRA adapter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AdapterSettings<'a> {
    /// The path or the name of the model that is adapted, as JSON spells it.
    pub base: Option<&'a str>,
    /// True if products are divided by the square root of their rank instead of the rank.
    pub by_root: bool,
    /// The rank of products: the inner size of the two factors.
    pub rank: f64,
    /// What products are multiplied by.
    pub alpha: f64,
    ranks: Option<Value<'a>>,
    alphas: Option<Value<'a>>,
}

impl<'a> AdapterSettings<'a> {
    /// Reads the settings of the model's adapter; `None` if it has none.
    ///
    /// # Errors
    ///
    /// Any fault of the text; [`UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting) for other
    /// adapters than LoRA, and for its variants.
    pub fn read(texts: &dyn Texts<'a>) -> ReadText<'a, Option<Self>> {
        let path = TextPath::own(ADAPTER);
        let text = path.text(texts)?;
        text.map(|text| path.object(text, Self::from_object)).transpose()
    }

    fn from_object(settings: &Object<'a>) -> Read<'a, Self> {
        settings.neutral("peft_type", "only LORA is merged", |it| it.is_text("LORA"))?;
        settings.neutral("bias", "only \"none\" is merged", |it| it.is_text("none"))?;
        // The others change the weights of the model that is adapted.
        settings.neutral(
            "init_lora_weights",
            "only true, false, \"gaussian\" and \"orthogonal\" leave the model as it is",
            |it| it.as_bool().is_some() || it.is_text("gaussian") || it.is_text("orthogonal"),
        )?;
        for name in OTHERS {
            settings.neutral(name, "only plain LoRA is merged", is_off)?;
        }
        let positive = |value: Value<'_>| value.as_f64().filter(|it| it.is_finite() && *it > 0.0);
        let [ranks, alphas] = ["rank_pattern", "alpha_pattern"].map(|name| {
            let pattern = settings.object(name)?.map(|pattern| pattern.value());
            let mut values = pattern.iter().flat_map(Value::members);
            match values.all(|(_, value)| positive(value).is_some()) {
                true => Ok(pattern),
                false => Err(settings.bad(name, "positive numbers are needed")),
            }
        });
        let number = |name: &'static str| match settings.get(name) {
            Some(value) => {
                positive(value).ok_or_else(|| settings.bad(name, "a positive number is needed"))
            }
            None => Ok(8.0),
        };
        let read = Self {
            base: settings.text("base_model_name_or_path")?,
            by_root: settings.truth("use_rslora")?.unwrap_or(false),
            rank: number("r")?,
            alpha: number("lora_alpha")?,
            ranks: ranks?,
            alphas: alphas?,
        };
        settings.finish(IRRELEVANT)?;
        Ok(read)
    }

    /// The ranks of products that have others: regular expressions that describe the end of a
    /// matrix's name after a dot, or all of it, as JSON spells them. The first that fits counts.
    pub fn ranks(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        numbers(self.ranks)
    }

    /// The factors of products that have others, as for [`ranks`](Self::ranks).
    pub fn alphas(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        numbers(self.alphas)
    }
}

fn numbers<'a>(patterns: Option<Value<'a>>) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
    let members = patterns.into_iter().flat_map(|patterns| patterns.members());
    members.filter_map(|(pattern, value)| Some((pattern, value.as_f64()?)))
}

/// Returns true for `false` and for an empty object or list.
fn is_off(value: Value<'_>) -> bool {
    match value.kind() {
        LexemeKind::BeginObject => value.members().count() == 0,
        LexemeKind::BeginArray => value.items().count() == 0,
        _ => value.as_bool() == Some(false),
    }
}
