//! Encoders of all families, read from their `config.json`: each file here interprets the settings
//! of one family and lists the names of its tensors.
//!
//! Every member of the file is used, listed in [`irrelevant::CONFIG`], or rejected by name.

mod albert;
mod bert;
mod deberta;
mod distilbert;
mod eurobert;
mod gemma;
mod gemma2;
mod gte;
mod jina;
mod jina_v2;
mod masked;
mod model;
mod modernbert;
mod mpnet;
mod nomic;
mod prefix;
mod qwen;
mod roberta;
mod t5;
mod written;

pub use masked::MaskedModel;
pub use model::{ClassifierModel, FamilyBiases, FamilyModel, TokenScore, on_logits_of};
pub use prefix::Prefixed;
pub use written::ConfigJson;

use model::USUAL_LABELS;

use crate::error::{Error, ErrorKind};
use crate::limit::Limit;
use crate::model::config::Mask;
use crate::model::family::settings::{Settings, irrelevant};
use crate::model::head::dense::DenseActivation;
use crate::model::head::pooling::PoolingMode;
use crate::text::json::{Fault, Object, Read, Value};

/// Reads the settings of a family.
type ReadFamily = for<'o, 't> fn(&Settings<'o, 't>) -> Read<'t, FamilyModel>;

/// Families by their `model_type`, without [`JINA_V2`].
const FAMILIES: &[(&str, ReadFamily)] = &[
    ("albert", albert::read),
    ("bert", bert::read),
    ("camembert", roberta::read),
    ("deberta-v2", deberta::read),
    ("distilbert", distilbert::read),
    (gemma2::FULL, gemma2::read),
    (gemma2::TEXT, gemma2::read_text),
    ("eurobert", eurobert::read),
    ("gemma3_text", gemma::read),
    ("gte", gte::read),
    ("jina_embeddings_v3", jina::read),
    ("modernbert", modernbert::read),
    ("mpnet", mpnet::read),
    ("new", gte::read),
    ("nomic_bert", nomic::read),
    ("qwen2", qwen::read_2),
    ("qwen3", qwen::read_3),
    ("roberta", roberta::read),
    ("t5", t5::read),
    ("xlm-roberta", roberta::read),
];

/// The family of models whose `model_type` is `bert` and whose positions are ALiBi's.
const JINA_V2: &str = "jina_bert";

/// The family whose files may describe a decoder beside the encoder, which is not used.
const WITH_DECODER: &str = "t5";

/// Reads the encoder described by a `config.json`.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedArchitecture`] at `model_type` for another family;
/// [`ErrorKind::MissingMetadata`], [`ErrorKind::BadMetadata`], [`ErrorKind::OverLimit`] or
/// [`ErrorKind::UnsupportedSetting`] at the member that is missing, invalid, too large, or
/// unsupported.
pub fn read_config<'t>(config: Value<'t>) -> Read<'t, FamilyModel> {
    read(config, None)
}

/// Reads the causal model described by a `config.json`, whose head makes the logits of `score`
/// alone.
///
/// # Errors
///
/// As [`read_config`].
pub fn read_scoring_config<'t>(config: Value<'t>, score: TokenScore) -> Read<'t, FamilyModel> {
    read(config, Some(score))
}

fn read<'t>(config: Value<'t>, score: Option<TokenScore>) -> Read<'t, FamilyModel> {
    let object = Object::new(config)?;
    let settings = Settings { object: &object };
    let kind = object.needed("model_type", object.get("model_type"))?;
    let has_alibi = || object.get(jina_v2::POSITIONS).is_some_and(|it| it.is_text(jina_v2::ALIBI));
    let family = match kind.is_text("bert") && has_alibi() {
        true => Some((JINA_V2, jina_v2::read as ReadFamily)),
        false => FAMILIES.iter().copied().find(|(name, _)| kind.is_text(name)),
    };
    let Some((name, read)) = family else {
        let error = Error::new(kind.offset(), ErrorKind::UnsupportedArchitecture);
        return Err(Fault { error, key: "model_type", only: "" });
    };
    settings.reject_unsupported()?;
    match name == WITH_DECODER {
        true => settings.known(&["is_encoder_decoder"]),
        false => settings.off(&["is_encoder_decoder"])?,
    }
    // Used by heads for masked words and for generation.
    settings.known(&["tie_word_embeddings", "bos_token_id", "eos_token_id"]);
    let found = FamilyModel { family: name, ..read(&settings)? };
    let classifier = match score {
        Some(score) => Some(scoring(&settings, &found, score)?),
        None => classifier(&settings, &found)?,
    };
    settings.known(&[ON_LOGITS]);
    object.finish(irrelevant::CONFIG)?;
    Ok(FamilyModel { classifier, ..found })
}

/// The family's head, if the file's architecture is a classifier.
fn classifier<'t>(
    settings: &Settings<'_, 't>,
    found: &FamilyModel,
) -> Read<'t, Option<ClassifierModel>> {
    if !settings.classifies()? {
        return Ok(None);
    }
    let Some(classifier) = found.classifier else {
        let only = "classifiers of this family are not known here";
        return Err(settings.object.unsupported("architectures", only));
    };
    check_mask(settings, found, &classifier)?;
    let (labels, on_logits) = (labels(settings)?, on_logits(settings)?);
    Ok(Some(ClassifierModel { labels, on_logits, is_tied: false, ..classifier }))
}

/// The head of a causal model that makes the logits of `score` alone.
fn scoring<'t>(
    settings: &Settings<'_, 't>,
    found: &FamilyModel,
    score: TokenScore,
) -> Read<'t, ClassifierModel> {
    let unsupported = |only| settings.object.unsupported("architectures", only);
    let head = found.classifier.filter(|head| head.pooling == PoolingMode::Last);
    let head =
        head.ok_or_else(|| unsupported("causal models of this family score nothing here"))?;
    if !settings.continues()? {
        return Err(unsupported("LogitScore scores the tokens of a causal model"));
    }
    check_mask(settings, found, &head)?;
    Ok(ClassifierModel {
        output: "lm_head",
        token_score: Some(score),
        padding: None,
        labels: 1,
        on_logits: on_logits(settings)?,
        ..head
    })
}

/// Rejects a model whose last token is pooled and that sees tokens after it: padding is cut off.
fn check_mask<'t>(
    settings: &Settings<'_, 't>,
    found: &FamilyModel,
    head: &ClassifierModel,
) -> Read<'t, ()> {
    if head.pooling == PoolingMode::Last && found.config.attention.mask == Mask::Full {
        return Err(settings.object.unsupported("is_causal", "only true is honoured with a head"));
    }
    Ok(())
}

/// The number of classes. If the two members contradict each other, versions of transformers differ
/// in which one they use.
fn labels<'t>(settings: &Settings<'_, 't>) -> Read<'t, usize> {
    const NUMBER: &str = "num_labels";
    let names = settings.object.object("id2label")?;
    let named = names.map(|names| names.value().members().count());
    match (named, settings.limited(NUMBER, Limit::SIZE)?) {
        (Some(named), Some(number)) if named != number => {
            let only = "`id2label` has another number of classes";
            Err(settings.object.unsupported(NUMBER, only))
        }
        (named, number) => Ok(named.or(number).unwrap_or(USUAL_LABELS)),
    }
}

/// The activation of logits in older cross-encoders.
const ON_LOGITS: &str = "sbert_ce_default_activation_function";

/// The activation that sentence-transformers' cross-encoders apply to logits.
fn on_logits<'t>(settings: &Settings<'_, 't>) -> Read<'t, Option<DenseActivation>> {
    const ONLY: &str = "it is no activation that is known here";
    let activation = |object: &Object<'t>, name| {
        let Some(class) = object.text(name)? else { return Ok(None) };
        let found = DenseActivation::from_torch_class(class);
        found.map(Some).ok_or_else(|| object.unsupported(name, ONLY))
    };
    let old = activation(settings.object, ON_LOGITS)?;
    let own = settings.object.object("sentence_transformers")?.map(|own| {
        let found = activation(&own, "activation_fn")?;
        own.finish(&["version"])?;
        Ok(found)
    });
    // The newer member takes precedence.
    Ok(own.transpose()?.flatten().or(old))
}
