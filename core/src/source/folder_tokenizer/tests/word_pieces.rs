//! Settings of WordPiece's tokenizers.

use std::format;
use std::string::String;

use super::super::ends::Ends;
use super::{changed, check, refusal, std};
use crate::error::ErrorKind::{BadMetadata, MissingMetadata, UnsupportedSetting};
use crate::source::word_pieces::settings::WordSettings;
use crate::token::spec::PRE_TOKENIZER;

const WORDS: &[(&str, &str)] = &[
    (
        "model",
        r###"{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"ids": 9, "count": 9}}"###,
    ),
    (
        "normalizer",
        r#"{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true}"#,
    ),
    (PRE_TOKENIZER, r#"{"type": "BertPreTokenizer"}"#),
    ("added_tokens", "[]"),
];

#[test]
fn word_pieces_are_refused_where_they_differ_from_berts() {
    let [model, normalizer, ..] = [WORDS[0].1, WORDS[1].1];
    let model = |from: &str, to: &str| model.replace(from, to);
    let normalizer = |from: &str, to: &str| normalizer.replace(from, to);
    let rows = [
        ("model", String::new(), MissingMetadata, "model"),
        ("model", model("\"WordPiece", "@\"Words"), UnsupportedSetting, "Words"),
        (
            "model",
            format!("@{}", model("\"unk_token\": \"[UNK]\",", "")),
            MissingMetadata,
            "unk_token",
        ),
        ("model", model("\"##", "@\"#"), UnsupportedSetting, "continuing_subword_prefix"),
        ("model", model("100", "@99"), UnsupportedSetting, "max_input_chars_per_word"),
        ("model", model("9,", "@8,"), UnsupportedSetting, "ids"),
        ("model", model("9}", "9, \"odd\": @1}"), UnsupportedSetting, "odd"),
        ("model", model("9}", "9}, \"odd\": @1"), UnsupportedSetting, "odd"),
        ("normalizer", String::new(), MissingMetadata, "normalizer"),
        ("normalizer", normalizer("\"Bert", "@\"Bart"), UnsupportedSetting, "BartNormalizer"),
        ("normalizer", "{\"type\": @\"NFC\"}".into(), UnsupportedSetting, "NFC"),
        (
            "normalizer",
            normalizer("text\": true", "text\": @false"),
            UnsupportedSetting,
            "clean_text",
        ),
        ("normalizer", normalizer("case\": true", "case\": @1"), BadMetadata, "lowercase"),
        (PRE_TOKENIZER, String::new(), MissingMetadata, PRE_TOKENIZER),
        (PRE_TOKENIZER, "@{\"type\": \"Whitespace\"}".into(), UnsupportedSetting, PRE_TOKENIZER),
        ("added_tokens", "@1".into(), BadMetadata, "added_tokens"),
        ("odd", "@1".into(), UnsupportedSetting, "odd"),
    ];
    for (name, value, kind, key) in &rows {
        let row = (*name, value.as_str(), *kind, *key);
        check(WORDS, &[row], |spec| WordSettings::from_spec(spec, 9).map(drop));
    }
    // Ids without a token, of which there are fewer.
    let text = changed(WORDS, ("model", &model("9}", "8}")));
    let text = text.replace("[]", "@[]");
    let key = refusal(&text, |spec| WordSettings::from_spec(spec, 9)?.added().map(drop));
    assert_eq!(key, (UnsupportedSetting, "vocab".into()));
    // One token before texts, and none after them.
    let text = changed(WORDS, ("post_processor", r#"@{"type": "ByteLevel"}"#));
    let key = refusal(&text, |spec| Ends::from_spec(spec)?.both(spec).map(drop));
    assert_eq!(key, (UnsupportedSetting, "post_processor".into()));
}
