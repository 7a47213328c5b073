//! Tables of whole words.

use std::string::String;
use std::vec::Vec;

use super::{Files, std};
use crate::describe::folder::{Base, Description, Kind, MODULES, ModuleList, WordList};
use crate::error::ErrorKind;

const LIST: &str = r#"[{"type": "sentence_transformers.models.WordEmbeddings", "path": "0_Words"},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]"#;
const SETTINGS: &str = r#"{"tokenizer_class": "sentence_transformers.models.tokenizer.WhitespaceTokenizer.WhitespaceTokenizer",
    "update_embeddings": true, "max_seq_length": 9}"#;
const WORDS: &str = r#"{"vocab": ["a", "b"], "stop_words": ["the"], "do_lower_case": false}"#;
const MEAN: &str = r#"{"pooling_mode": "mean", "include_prompt": false}"#;

/// The texts of a folder, with `text` at `path`.
fn files<'a>(path: &'a str, text: &'a str) -> Vec<(&'a str, &'a str)> {
    let usual = [
        (MODULES, LIST),
        ("0_Words/wordembedding_config.json", SETTINGS),
        ("0_Words/whitespacetokenizer_config.json", WORDS),
        ("1_Pooling/config.json", MEAN),
    ];
    core::iter::once((path, text)).chain(usual).collect()
}

/// The setting for which a folder with `text` at `path` is refused.
fn refusal(path: &str, text: &str) -> (ErrorKind, String) {
    let files = files(path, text);
    let files = Files(&files);
    let read = Description::read(&files).and_then(|it| WordList::read(&files, it.modules.folder));
    let fault = read.unwrap_err().fault;
    (fault.error.kind(), fault.key.into())
}

#[test]
fn words_are_a_table_whose_mean_is_taken() {
    // Another `config.json` is none of its files.
    let files = files("0_Words/config.json", r#"{"model_type": "odd"}"#);
    let files = Files(&files);
    let described = Description::read(&files).unwrap();
    assert!(matches!(described.modules.base, Base::Words { limit: Some(9), .. }));
    // Prompts are words as any.
    assert!(described.modules.pool_prompt());
    let Kind::Table(table) = described.kind else { panic!("{described:?}") };
    assert_eq!((table.max_tokens, table.normalize, table.drops_unknown), (Some(9), false, false));
    assert_eq!(table.with_truncation(None).max_tokens, Some(9));
    let list = WordList::read(&files, described.modules.folder).unwrap();
    assert_eq!((list.words.items().count(), list.settings.lowercases), (2, false));
}

#[test]
fn settings_of_words_are_used_or_refused_by_name() {
    use ErrorKind::{BadMetadata, MissingMetadata, UnsupportedSetting};
    let rows = [
        (
            "0_Words/wordembedding_config.json",
            SETTINGS,
            [
                (
                    ".WhitespaceTokenizer\"",
                    ".PhraseTokenizer\"",
                    UnsupportedSetting,
                    "tokenizer_class",
                ),
                ("sentence_transformers.", "somebody.", UnsupportedSetting, "tokenizer_class"),
                ("tokenizer_class", "other", MissingMetadata, "tokenizer_class"),
                ("9", "0", BadMetadata, "max_seq_length"),
                ("9", "-1", BadMetadata, "max_seq_length"),
                ("9", "9, \"odd\": 1", UnsupportedSetting, "odd"),
            ],
        ),
        (
            "0_Words/whitespacetokenizer_config.json",
            WORDS,
            [
                ("\"b\"", "\"\"", BadMetadata, "vocab"),
                ("\"b\"", "1", BadMetadata, "vocab"),
                ("\"vocab\"", "\"words\"", MissingMetadata, "vocab"),
                ("stop_words", "stops", MissingMetadata, "stop_words"),
                ("[\"the\"]", "\"the\"", BadMetadata, "stop_words"),
                ("false", "false, \"odd\": 1", UnsupportedSetting, "odd"),
            ],
        ),
        (
            "1_Pooling/config.json",
            MEAN,
            [
                ("\"mean\"", "\"max\"", UnsupportedSetting, "pooling_mode"),
                ("\"mean\"", "[\"mean\", \"max\"]", UnsupportedSetting, "pooling_mode"),
                ("\"mean\"", "\"weightedmean\"", UnsupportedSetting, "pooling_mode"),
                ("\"mean\"", "\"mean_sqrt_len_tokens\"", UnsupportedSetting, "pooling_mode"),
                ("\"mean\"", "[]", UnsupportedSetting, "pooling_mode"),
                ("false", "false, \"odd\": 1", UnsupportedSetting, "odd"),
            ],
        ),
    ];
    for (path, text, changes) in rows {
        for (from, to, kind, key) in changes {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            assert_eq!(refusal(path, &changed), (kind, key.into()), "{changed}");
        }
    }
}

#[test]
fn words_are_pooled_first() {
    let listed = |types: &[&str]| {
        let items: Vec<_> =
            types.iter().map(|it| std::format!(r#"{{"type": "{it}", "path": "{it}"}}"#)).collect();
        let list = std::format!("[{}]", items.join(","));
        let mut files = files(MODULES, &list);
        files.push(("WordEmbeddings/wordembedding_config.json", SETTINGS));
        files.push(("Pooling/config.json", MEAN));
        ModuleList::read(&Files(&files))
            .map(|modules| modules.normalize)
            .map_err(|it| it.fault.key == "type")
    };
    assert_eq!(listed(&["WordEmbeddings", "Pooling"]), Ok(false));
    assert_eq!(listed(&["WordEmbeddings", "Pooling", "Normalize"]), Ok(true));
    assert_eq!(listed(&["WordEmbeddings"]), Err(false));
    assert_eq!(listed(&["WordEmbeddings", "Normalize"]), Err(true));
    assert_eq!(listed(&["WordEmbeddings", "WordWeights", "Pooling"]), Err(true));
    assert_eq!(listed(&["Pooling", "WordEmbeddings"]), Err(true));
}
