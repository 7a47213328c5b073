//! `config.json` of a static model: a table with a vector for each token.

use super::modules::{Base, ModuleList};
use super::texts::{ReadText, TextPath};
use crate::text::json::{Object, Read, Value};

/// Irrelevant members: the origin and the properties of the table.
const IRRELEVANT: &[&str] = &[
    "architectures",
    "tokenizer_name",
    "apply_pca",
    "apply_zipf",
    "sif_coefficient",
    "hidden_dim",
    "seq_length",
    "embedding_dtype",
    "vocabulary_quantization",
    "token_remove_pattern",
    "pca_dims",
    "model_name",
    "base_model_name",
    "language",
    "license",
    "transformers_version",
    "torch_dtype",
    "dtype",
];

/// The member that tells whether vectors are scaled to length 1.
const NORMALIZE: &str = "normalize";

/// Model2Vec's default limit on the tokens of a text.
const USUAL_TOKENS: u64 = 512;

/// The settings of a static model.
///
/// Model2Vec drops unknown tokens and cuts long texts before they are tokenised;
/// sentence-transformers' `StaticEmbedding`, the [default](Self::default), does neither, and uses
/// as many tokens as its [tokenizer](Self::with_truncation) returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSettings {
    /// True if unknown tokens are dropped.
    pub drops_unknown: bool,
    /// The number of tokens of a text that are used; `None` for all.
    pub max_tokens: Option<u64>,
    /// True if the result is scaled to length 1.
    pub normalize: bool,
}

impl TableSettings {
    /// The settings with the truncation of the tokenizer's file, if it has one. Model2Vec ignores
    /// it.
    #[must_use]
    pub fn with_truncation(self, tokens: Option<u64>) -> Self {
        let max_tokens = if self.drops_unknown { None } else { tokens };
        let max_tokens = self.max_tokens.or(max_tokens);
        Self { max_tokens, ..self }
    }

    /// Returns true if a `config.json` is Model2Vec's: it states that, or has a member that only
    /// Model2Vec writes.
    #[must_use]
    pub fn are_in(config: Value<'_>) -> bool {
        match config.member("model_type") {
            Some(kind) => kind.is_text("model2vec"),
            None => config.member("embedding_dtype").is_some(),
        }
    }

    /// The settings of a table without a `config.json`, given whether `modules.json` lists a module
    /// that scales its vectors to length 1.
    #[must_use]
    pub fn without_config(normalize: bool) -> Self {
        Self { normalize, ..Self::default() }
    }

    /// Reads a `config.json`. `listed` tells whether `modules.json`, if it exists, lists a module
    /// that scales vectors to length 1.
    ///
    /// # Errors
    ///
    /// An invalid or unknown member; `normalize` if it contradicts `modules.json`: Model2Vec uses
    /// the former, sentence-transformers the latter.
    pub fn read<'t>(config: Value<'t>, listed: Option<bool>) -> Read<'t, Self> {
        let is_own = Self::are_in(config);
        let config = Object::new(config)?;
        config.text("model_type")?;
        if !is_own {
            // Other files of a `StaticEmbedding` belong to other libraries.
            return Ok(Self::without_config(listed.unwrap_or(false)));
        }
        // Since version 0.10, null means no limit.
        let is_unlimited = config.value().member("max_length").is_some_and(|it| it.is_null());
        let limit = config.integer("max_length")?.unwrap_or(USUAL_TOKENS);
        let max_tokens = (!is_unlimited).then_some(limit);
        let said = config.truth(NORMALIZE)?;
        if said.zip(listed).is_some_and(|(said, listed)| said != listed) {
            return Err(config.unsupported(NORMALIZE, "`modules.json` says something else"));
        }
        let normalize = said.or(listed).unwrap_or(false);
        config.neutral("pooling", "only \"mean\" is done", |way| way.is_text("mean"))?;
        config.finish(IRRELEVANT)?;
        Ok(Self { drops_unknown: true, max_tokens, normalize })
    }
}

/// The settings of a table described by `config`, the text at `path`, and the modules of a model;
/// `None` for other models.
///
/// # Errors
///
/// As [`TableSettings::read`].
pub fn described_table<'a>(
    path: TextPath<'a>,
    config: Option<Value<'a>>,
    modules: &ModuleList<'a>,
) -> ReadText<'a, Option<TableSettings>> {
    if let Base::Words { limit, .. } = modules.base {
        // Another `config.json` in its folder belongs to other libraries.
        let settings = TableSettings::without_config(modules.normalize);
        return Ok(Some(TableSettings { max_tokens: limit, ..settings }));
    }
    let is_listed = modules.base == Base::Table;
    let listed = modules.are_listed().then_some(modules.normalize);
    match config {
        None if is_listed => Ok(Some(TableSettings::without_config(modules.normalize))),
        Some(config) if is_listed || TableSettings::are_in(config) => {
            let settings = TableSettings::read(config, listed);
            settings.map(Some).map_err(|fault| path.fault(fault))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model2vec_cuts_and_leaves_out_and_others_do_not() {
        let read = |text: &str| {
            let value = Value::parse(text, 0).unwrap();
            let is_in = TableSettings::are_in(value);
            (is_in, TableSettings::read(value, None).map_err(|fault| fault.only))
        };
        let (is_in, settings) = read(r#"{"model_type": "model2vec", "normalize": true}"#);
        let expected =
            TableSettings { drops_unknown: true, max_tokens: Some(512), normalize: true };
        assert_eq!((is_in, settings), (true, Ok(expected)));
        let unnamed =
            r#"{"normalize": true, "embedding_dtype": "int8", "vocabulary_quantization": 9}"#;
        assert_eq!(read(unnamed), (true, Ok(expected)));
        let limit = |text: &str| read(text).1.unwrap().with_truncation(Some(7)).max_tokens;
        assert_eq!(limit(r#"{"embedding_dtype": "int8", "max_length": 16}"#), Some(16));
        assert_eq!(limit(r#"{"embedding_dtype": "int8", "max_length": null}"#), None);
        assert_eq!(TableSettings::default().with_truncation(Some(7)).max_tokens, Some(7));
        assert_eq!(read(r#"{"normalize": true}"#), (false, Ok(TableSettings::default())));
        assert_eq!(read(r#"{"model_type": "bert"}"#), (false, Ok(TableSettings::default())));
        let (_, refused) = read(r#"{"model_type": "model2vec", "pooling": "max"}"#);
        assert_eq!(refused, Err("only \"mean\" is done"));
        assert!(read(r#"{"model_type": "model2vec", "odd": 1}"#).1.is_err());
    }

    #[test]
    fn both_files_say_the_same_of_lengths_or_one_is_refused_by_name() {
        let read = |text: &str, listed| {
            let settings = TableSettings::read(Value::parse(text, 0).unwrap(), listed);
            settings.map(|it| it.normalize).map_err(|fault| assert_eq!(fault.key, "normalize"))
        };
        let said = [
            r#"{"model_type": "model2vec", "normalize": false}"#,
            r#"{"model_type": "model2vec", "normalize": true}"#,
        ];
        for (normalize, text) in [false, true].into_iter().zip(said) {
            assert_eq!(read(text, None), Ok(normalize));
            assert_eq!(read(text, Some(normalize)), Ok(normalize));
            assert_eq!(read(text, Some(!normalize)), Err(()));
            // If one file states nothing, the other one counts.
            for silent in [r#"{"model_type": "model2vec"}"#, r#"{"normalize": 1}"#] {
                assert_eq!(read(silent, Some(normalize)), Ok(normalize));
            }
        }
    }
}
