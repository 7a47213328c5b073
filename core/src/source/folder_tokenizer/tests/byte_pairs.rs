//! Settings of tokenizers that join pairs, with byte fallback and of bytes.

use std::format;

use super::super::bpe_settings::BpeSettings;
use super::{Row, changed, check, read, std};
use crate::error::ErrorKind::{MissingMetadata, UnsupportedSetting};
use crate::text::json::Read;
use crate::token::bpe::Pattern;
use crate::token::spec::{BpeSpec, ModelKind, PRE_TOKENIZER, TokenizerSpec};

const BPE: &str = r#"{"type": "BPE", "merges": 3, "vocab": {"ids": 9, "count": 9}}"#;
const REPLACE: &str = r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#;

fn settings<'t>(spec: &TokenizerSpec<'t>, byte_fallback: bool) -> Read<'t, (BpeSettings, u64)> {
    let ModelKind::Bpe(bpe) = spec.model.kind else { panic!("{spec:?}") };
    BpeSettings::from_spec(spec, &BpeSpec { byte_fallback, ..bpe }, 9)
}

#[test]
fn pairs_with_byte_fallback_are_refused_where_they_differ_from_gemmas() {
    fn fallback<'t>(spec: &TokenizerSpec<'t>) -> Read<'t, (BpeSettings, u64)> {
        settings(spec, true)
    }
    let split = r#"{"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}"#;
    let members =
        [("model", BPE), ("normalizer", REPLACE), (PRE_TOKENIZER, split), ("added_tokens", "[]")];
    let model = |change: &str| BPE.replace(r#""merges": 3"#, change);
    let (dropout, prefix) =
        (model(r#""dropout": @0.5"#), model(r#""merges": 3, "continuing_subword_prefix": @"x""#));
    let (suffix, ignores) = (
        model(r#""merges": 3, "end_of_word_suffix": @"x""#),
        model(r#""merges": 3, "ignore_merges": @true"#),
    );
    let no_merges = format!("@{}", model(r#""byte_fallback": true"#));
    let odd = model(r#""merges": 3, "odd": @1"#);
    let twice = format!(
        r#"{{"type": "Sequence", "normalizers": [{REPLACE}, {}]}}"#,
        REPLACE.replace(": \"R", ": @\"R")
    );
    let normalizer = |pattern: &str, content: &str| {
        format!(r#"{{"type": "Replace", "pattern": {pattern}, "content": {content}}}"#)
    };
    let space = r#"{"String": " "}"#;
    let two = normalizer(space, "@\"ab\"");
    let none = format!("@{}", normalizer(space, "\" \""));
    let text = normalizer(r#"{"String": @"x"}"#, "\"_\"");
    let no_text = normalizer("@{}", "\"_\"");
    let whole = normalizer(r#"@{"Regex": " "}"#, "\"_\"");
    let regex = normalizer(r#"@{"String": " ", "Regex": " "}"#, "\"_\"");
    let invert = split.replace("false", "@true");
    let rows: [Row<'_>; 18] = [
        ("model", &dropout, UnsupportedSetting, "dropout"),
        ("model", &prefix, UnsupportedSetting, "continuing_subword_prefix"),
        ("model", &suffix, UnsupportedSetting, "end_of_word_suffix"),
        ("model", &ignores, UnsupportedSetting, "ignore_merges"),
        ("model", &no_merges, MissingMetadata, "merges"),
        ("model", &odd, UnsupportedSetting, "odd"),
        ("normalizer", "", UnsupportedSetting, "normalizer"),
        ("normalizer", r#"{"type": @"NFC"}"#, UnsupportedSetting, "NFC"),
        ("normalizer", &twice, UnsupportedSetting, "Replace"),
        ("normalizer", &two, UnsupportedSetting, "content"),
        ("normalizer", &none, UnsupportedSetting, "normalizer"),
        ("normalizer", &text, UnsupportedSetting, "String"),
        ("normalizer", &no_text, UnsupportedSetting, "pattern"),
        ("normalizer", &whole, UnsupportedSetting, "String"),
        ("normalizer", &regex, UnsupportedSetting, "pattern"),
        (PRE_TOKENIZER, r#"{"type": @"Whitespace"}"#, UnsupportedSetting, "Whitespace"),
        (PRE_TOKENIZER, &invert, UnsupportedSetting, "invert"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&members, &rows, |spec| fallback(spec).map(drop));
    let text = changed(&members, ("unused", ""));
    assert_eq!(read(&text, fallback), (BpeSettings::Characters { mark: '▁' }, 3));
}

#[test]
fn pairs_of_bytes_are_refused_where_they_differ_from_what_is_known() {
    fn pairs<'t>(spec: &TokenizerSpec<'t>) -> Read<'t, (BpeSettings, u64)> {
        settings(spec, false)
    }
    let bytes = r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}"#;
    let members = [("model", BPE), (PRE_TOKENIZER, bytes), ("added_tokens", "[]")];
    let name = PRE_TOKENIZER;
    let split = |members: &str| format!(r#"{{"type": "Split", {members}}}"#);
    let qwen = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    let known = split(&format!(
        r#""behavior": "Isolated", "invert": false, "pattern": {{"Regex": "{qwen}"}}"#
    ));
    let sequence = |first: &str, last: &str| {
        format!(r#"{{"type": "Sequence", "pretokenizers": [{first}, {last}]}}"#)
    };
    let prefixed = bytes.replace("false", "@true");
    let silent = r#"@{"type": "ByteLevel"}"#;
    let no_regex = bytes.replace("\"trim", "\"use_regex\": @false, \"trim");
    let with_regex = sequence(&known, &bytes.replace("\"trim", "\"use_regex\": @true, \"trim"));
    let late = sequence(bytes, &known.replace("\"Split", "@\"Split"));
    let twice = sequence(bytes, &bytes.replace("\"Byte", "@\"Byte"));
    let alone = format!("@{known}");
    let removed = known.replace("\"Isolated", "@\"Removed");
    let no_behavior = format!("@{}", known.replace(r#""behavior": "Isolated","#, ""));
    let inverted = known.replace("false", "@true");
    let text = split(r#""behavior": "Isolated", "invert": false, "pattern": @{"String": " "}"#);
    let regex = split(r#""behavior": "Isolated", "invert": false, "pattern": {"Regex": @"a+"}"#);
    let rows: [Row<'_>; 15] = [
        ("normalizer", r#"{"type": @"NFD"}"#, UnsupportedSetting, "NFD"),
        ("odd", "@1", UnsupportedSetting, "odd"),
        (name, "", UnsupportedSetting, name),
        (name, r#"{"type": @"Whitespace"}"#, UnsupportedSetting, "Whitespace"),
        (name, &prefixed, UnsupportedSetting, "add_prefix_space"),
        (name, silent, MissingMetadata, "add_prefix_space"),
        (name, &no_regex, UnsupportedSetting, "use_regex"),
        (name, &with_regex, UnsupportedSetting, "use_regex"),
        (name, &late, UnsupportedSetting, "Split"),
        (name, &twice, UnsupportedSetting, "ByteLevel"),
        (name, &alone, UnsupportedSetting, name),
        (name, &removed, UnsupportedSetting, "behavior"),
        (name, &no_behavior, MissingMetadata, "behavior"),
        (name, &inverted, UnsupportedSetting, "invert"),
        (name, &text, UnsupportedSetting, "Regex"),
    ];
    check(&members, &rows, |spec| pairs(spec).map(drop));
    check(&members, &[(name, &regex, UnsupportedSetting, "Regex")], |spec| pairs(spec).map(drop));
    let pattern = |step: &str| match read(&changed(&members, (name, step)), pairs).0 {
        BpeSettings::Bytes { pattern, .. } => pattern,
        other => panic!("{other:?}"),
    };
    assert_eq!(pattern(bytes), Pattern::Gpt2);
    let without = bytes.replace("\"trim", "\"use_regex\": false, \"trim");
    assert_eq!(pattern(&sequence(&known, &without)), Pattern::Qwen2);
}
