//! A module of `modules.json`.
//!
//! There are three spellings of the types: `sentence_transformers.models.Pooling`, since version 6
//! `sentence_transformers.sentence_transformer.modules.pooling.Pooling`, and the bare name. PyLate
//! has a Dense of its own, `pylate.models.Dense.Dense`.

use crate::text::json::{LexemeKind, Object, Read, Value};

/// The largest number of modules, more than any model has.
pub(super) const MOST_MODULES: usize = 16;

/// The kind of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModuleKind {
    Transformer,
    /// A transformer whose output is the scores of a masked language model's head.
    Masked,
    /// A table with a row for each token.
    Table,
    /// A table with a row for each word.
    Words,
    Pooling,
    Dense,
    /// A linear layer that is applied to each token's vector.
    TokenDense,
    /// A MultiVectorMask: it chooses the tokens whose vectors count.
    TokenMask,
    /// The scaling of each token's vector to length 1.
    TokenNormalize,
    /// A linear layer that computes class scores.
    Scores,
    /// The logits of one or two tokens, as a score.
    LogitScore,
    /// The pooling of such scores.
    Splade,
    LayerNorm,
    Normalize,
    Dropout,
}

impl ModuleKind {
    /// Returns true if such a module may follow one of the kind `last`, or be the first.
    pub(super) const fn may_follow(self, last: Option<Self>) -> bool {
        matches!(
            (self, last),
            (Self::Transformer | Self::Masked | Self::Table | Self::Words, None)
                | (Self::Pooling, Some(Self::Transformer | Self::Words))
                | (Self::LogitScore, Some(Self::Transformer))
                | (Self::TokenDense, Some(Self::Transformer | Self::TokenDense))
                | (
                    Self::TokenMask | Self::TokenNormalize,
                    Some(
                        Self::Transformer
                            | Self::TokenDense
                            | Self::TokenMask
                            | Self::TokenNormalize
                    )
                )
                | (Self::Splade, Some(Self::Transformer | Self::Masked))
                | (Self::Dense | Self::LayerNorm | Self::Normalize, Some(Self::Table))
                | (
                    Self::Dense | Self::LayerNorm | Self::Normalize,
                    Some(Self::Pooling | Self::Dense | Self::LayerNorm | Self::Normalize)
                )
                | (Self::Dropout, Some(_))
        )
    }
}

/// The member with the name of a module's input.
pub(super) const INPUT: &str = "module_input_name";
/// The member with the name of a module's output.
pub(super) const OUTPUT: &str = "module_output_name";
/// The name of the vectors of tokens.
pub(super) const TOKENS: &str = "token_embeddings";

/// Rejects settings of a Normalize module other than that it scales the vectors called `vectors`.
pub(super) fn check_normalize<'t>(config: &Object<'t>, vectors: &str) -> Read<'t, ()> {
    for name in [INPUT, OUTPUT] {
        config.neutral(name, "only its usual input is scaled, in place", |value| {
            value.is_text(vectors)
        })?;
    }
    config.finish(&[])
}

/// A module in the list.
pub(super) struct Module<'t> {
    pub(super) kind: ModuleKind,
    pub(super) value: Value<'t>,
    /// Its folder, as spelled.
    pub(super) path: &'t str,
}

impl<'t> Module<'t> {
    pub(super) fn read(module: &Object<'t>) -> Read<'t, Self> {
        let kind = module.text("type")?;
        let kind = module.needed("type", kind)?;
        // Searches bytes: the compiler cannot rule out that `rsplit_once` panics.
        let dot = kind.bytes().rposition(|byte| byte == b'.');
        let name = kind.get(dot.map_or(0, |dot| dot.saturating_add(1))..).unwrap_or_default();
        let place = kind.get(..dot.unwrap_or(0)).unwrap_or_default();
        let is_known = place.is_empty() || place.starts_with("sentence_transformers.");
        let kind = match name {
            "Dense" if place.starts_with("pylate.") => Some(ModuleKind::TokenDense),
            _ if !is_known => None,
            "Transformer" => Some(ModuleKind::Transformer),
            "MLMTransformer" => Some(ModuleKind::Masked),
            "StaticEmbedding" => Some(ModuleKind::Table),
            "WordEmbeddings" => Some(ModuleKind::Words),
            "Pooling" => Some(ModuleKind::Pooling),
            "MultiVectorMask" => Some(ModuleKind::TokenMask),
            "Dense" => Some(ModuleKind::Dense),
            "LayerNorm" => Some(ModuleKind::LayerNorm),
            "Normalize" => Some(ModuleKind::Normalize),
            "SpladePooling" => Some(ModuleKind::Splade),
            "LogitScore" => Some(ModuleKind::LogitScore),
            "Dropout" => Some(ModuleKind::Dropout),
            _ => None,
        };
        let kind = kind
            .ok_or_else(|| module.unsupported("type", "a module of this kind is not known here"))?;
        let path = module.text("path")?.unwrap_or_default();
        check_rest(module)?;
        Ok(Self { kind, value: module.value(), path })
    }
}

/// Rejects members of a module that are neither its type nor its path.
pub(super) fn check_rest<'t>(module: &Object<'t>) -> Read<'t, ()> {
    module.neutral("kwargs", "no module is called with more than texts", |names| {
        names.kind() == LexemeKind::BeginArray || names.members().next().is_none()
    })?;
    module.finish(&["idx", "name"])
}
