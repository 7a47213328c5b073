//! ColBERT as its authors save it: `config.json` names the class `HF_ColBERT`, the linear layer after
//! the transformer is among its weights, and `artifact.metadata` states the tokens of texts.
//! O. Khattab, M. Zaharia, "ColBERT" (2020); K. Santhanam et al., "ColBERTv2" (2022).

use super::late_interaction::{
    Expansion, LateInteraction, LateOrigin, SideTokens, Skipped, most_tokens,
};
use super::texts::{ReadText, TextPath, Texts};
use super::{ARTIFACT, CONFIG};
use crate::leaf;
use crate::limit::Limit;
use crate::model::{DenseActivation, DenseSettings};
use crate::text::json::{Object, Read};

const CLASS: &str = "HF_ColBERT";

/// Members that say how the model was trained, and how an index of its vectors is made.
const IRRELEVANT: &[&str] = &[
    "accumsteps",
    "amp",
    "avoid_fork_if_possible",
    "bsize",
    "centroid_score_threshold",
    "checkpoint",
    "collection",
    "distillation_alpha",
    "doc_token",
    "experiment",
    "gpus",
    "ignore_scores",
    "index_bsize",
    "index_name",
    "index_path",
    "index_root",
    "kmeans_niters",
    "load_index_with_mmap",
    "lr",
    "maxsteps",
    "meta",
    "model_name",
    "name",
    "nbits",
    "ncells",
    "ndocs",
    "nranks",
    "nway",
    "overwrite",
    "queries",
    "query_token",
    "rank",
    "relative",
    "reranker",
    "resume",
    "root",
    "save_every",
    "total_visible_gpus",
    "triples",
    "use_ib_negatives",
    "use_rel_loss",
    "warmup",
    "warmup_bert",
];

/// Such a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Artifact<'a> {
    pub(super) late_interaction: LateInteraction<'a>,
    /// The layer that gives the vector of each token.
    pub(super) layer: DenseSettings,
}

impl<'a> Artifact<'a> {
    /// Reads the settings; `None` for models of other classes.
    pub(super) fn read(texts: &dyn Texts<'a>) -> ReadText<'a, Option<Self>> {
        const CLASSES: &str = "architectures";
        let path = TextPath::own(CONFIG);
        let Some(text) = path.text(texts)? else { return Ok(None) };
        let width = path.object(text, |config| {
            let is_colbert = config.items(CLASSES)?.any(|class| class.is_text(CLASS));
            if is_colbert { config.integer("hidden_size") } else { Ok(None) }
        });
        // Whoever reads the whole configuration says what is wrong with it.
        let Some(width) = width.ok().flatten() else { return Ok(None) };
        let only = "the build leaves out models of this kind";
        let leaf = leaf::Pipeline::built_in().map_err(|_| path.unsupported(CLASSES, only))?;
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        let path = TextPath::own(ARTIFACT);
        let text = path.text(texts)?.unwrap_or("{}");
        path.object(text, |artifact| Self::from_object(artifact, width, leaf)).map(Some)
    }

    fn from_object(
        artifact: &Object<'a>,
        width: usize,
        built_in: leaf::Pipeline,
    ) -> Read<'a, Self> {
        const SIZE: &str = "dim";
        for (name, usual) in [("similarity", "cosine"), ("interaction", "colbert")] {
            artifact.neutral(name, "only the usual one is done", |value| value.is_text(usual))?;
        }
        let side = |prefix, usual, length| -> Read<'a, SideTokens<'a>> {
            let prefix = artifact.text(prefix)?.unwrap_or(usual);
            let length = most_tokens(artifact, length)?;
            Ok(SideTokens { prefix, length, skips: false })
        };
        let query = side("query_token_id", "[unused0]", "query_maxlen")?;
        let document = side("doc_token_id", "[unused1]", "doc_maxlen")?;
        let length = query.length.unwrap_or(32);
        let is_attended = artifact.truth("attend_to_mask_tokens")?.unwrap_or(false);
        let skips = artifact.truth("mask_punctuation")?.unwrap_or(true);
        let outputs = artifact.integer(SIZE)?.unwrap_or(128);
        let outputs = Limit::SIZE.check(outputs).ok().filter(|size| *size > 0);
        let outputs = outputs.ok_or_else(|| artifact.bad(SIZE, "it is no number of elements"))?;
        artifact.finish(IRRELEVANT)?;
        let activation = DenseActivation::Identity;
        Ok(Self {
            late_interaction: LateInteraction {
                query: SideTokens { length: Some(length), ..query },
                document: SideTokens { skips, ..document },
                expansion: Some(Expansion { length, is_attended, token: None }),
                skipped: Skipped::Punctuation,
                origin: LateOrigin::Artifact,
                built_in,
            },
            layer: DenseSettings {
                inputs: width,
                outputs,
                bias: false,
                activation,
                gives_scores: false,
            },
        })
    }
}

#[cfg(all(test, feature = "pipeline"))]
mod tests {
    use super::*;
    use crate::error::ErrorKind::{BadMetadata, UnsupportedSetting};
    use crate::text::json::Value;
    use crate::text::json::tests::check;

    #[test]
    fn what_is_not_stated_is_as_in_colbert_v2() {
        let object = Object::new(Value::parse("{}", 0).unwrap()).unwrap();
        let Artifact { late_interaction, layer } =
            Artifact::from_object(&object, 48, leaf::Pipeline::BuiltIn).unwrap();
        let LateInteraction { query, document, expansion, .. } = late_interaction;
        assert_eq!((query.prefix, query.length, query.skips), ("[unused0]", Some(32), false));
        assert_eq!((document.prefix, document.length, document.skips), ("[unused1]", None, true));
        assert_eq!(expansion, Some(Expansion { length: 32, is_attended: false, token: None }));
        assert_eq!((layer.inputs, layer.outputs, layer.bias), (48, 128, false));
    }

    #[test]
    fn members_are_refused_where_they_are_wrong() {
        let rows = [
            ("query_token_id", "@1", BadMetadata, "query_token_id"),
            ("query_maxlen", "@2", BadMetadata, "query_maxlen"),
            ("dim", "@0", BadMetadata, "dim"),
            ("similarity", "@\"l2\"", UnsupportedSetting, "similarity"),
            ("interaction", "@\"flipr\"", UnsupportedSetting, "interaction"),
            ("odd", "@1", UnsupportedSetting, "odd"),
        ];
        let usual = [("dim", "96"), ("nbits", "2"), ("similarity", "\"cosine\"")];
        check(&usual, &rows, |config| {
            Artifact::from_object(config, 48, leaf::Pipeline::BuiltIn).map(drop)
        });
    }
}
