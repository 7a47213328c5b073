//! Settings of Unigram's tokenizers.

use std::format;

use super::super::unigram_settings::UnigramSettings;
use super::{Row, changed, check, read, std};
use crate::error::ErrorKind::{BadMetadata, MissingMetadata, UnsupportedSetting};
use crate::text::json::Read;
use crate::token::spec::{ModelKind, PRE_TOKENIZER, TokenizerSpec};

const METASPACE: &str = r#"{"type": "Metaspace", "replacement": "▁"}"#;

const UNIGRAM: &[(&str, &str)] = &[
    ("model", r#"{"type": "Unigram", "unk_id": 0, "vocab": {"ids": 9, "count": 9}}"#),
    ("added_tokens", "[]"),
    (PRE_TOKENIZER, METASPACE),
];

fn unigram<'t>(spec: &TokenizerSpec<'t>) -> Read<'t, UnigramSettings<'t>> {
    let ModelKind::Unigram(unigram) = &spec.model.kind else { panic!("{spec:?}") };
    UnigramSettings::from_spec(spec, unigram, 9)
}

#[test]
fn unigram_models_are_refused_where_they_differ() {
    let rows = [
        ("model", "", MissingMetadata, "model"),
        (
            "model",
            r#"{"type": "Unigram", "vocab": {"ids": 9, "count": 9}, "byte_fallback": @true}"#,
            UnsupportedSetting,
            "byte_fallback",
        ),
        ("model", r#"{"unk_id": @9, "vocab": {"ids": 9, "count": 9}}"#, BadMetadata, "unk_id"),
        (
            "model",
            r#"{"unk_id": @4294967296, "vocab": {"ids": 9, "count": 9}}"#,
            BadMetadata,
            "unk_id",
        ),
        ("model", r#"{"unk_id": @-1, "vocab": {"ids": 9, "count": 9}}"#, BadMetadata, "unk_id"),
        ("model", r#"@{"type": "Unigram"}"#, MissingMetadata, "vocab"),
        ("model", r#"{"vocab": @[]}"#, BadMetadata, "vocab"),
        ("model", r#"{"unk_id": 0, "vocab": {"ids": @8, "count": 9}}"#, UnsupportedSetting, "ids"),
        (
            "model",
            r#"{"unk_id": 0, "vocab": {"ids": 9, "count": @8}}"#,
            UnsupportedSetting,
            "count",
        ),
        ("model", r#"{"vocab": @{"ids": 9}}"#, MissingMetadata, "count"),
        ("model", r#"{"vocab": {"ids": 9, "count": 9, "x": @1}}"#, UnsupportedSetting, "x"),
        (
            "model",
            r#"{"unk_id": 0, "vocab": {"ids": 9, "count": 9}, "x": @1}"#,
            UnsupportedSetting,
            "x",
        ),
        ("added_tokens", "@1", BadMetadata, "added_tokens"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(UNIGRAM, &rows, |spec| unigram(spec).map(drop));
    let text =
        changed(UNIGRAM, ("model", r#"{"type": "Unigram", "vocab": {"ids": 9, "count": 9}}"#));
    assert_eq!(read(&text, |spec| unigram(spec).map(|it| it.unknown)), None);
    let text = changed(UNIGRAM, ("padding", "{}"));
    assert_eq!(read(&text, |spec| unigram(spec).map(|it| it.unknown)), Some(0));
}

#[test]
fn unigram_pre_tokenizers_are_refused_where_they_differ() {
    let after = |step: &str| format!(r#"{{"type": "Sequence", "pretokenizers": [{step}]}}"#);
    let twice = after(&format!(r#"{METASPACE}, {{"type": @"Metaspace", "replacement": "_"}}"#));
    let odd_step = after("{\"type\": \"WhitespaceSplit\", \"odd\": @1}");
    let name = PRE_TOKENIZER;
    let rows: [Row<'_>; 14] = [
        (name, "", UnsupportedSetting, name),
        (name, r#"@{"type": "WhitespaceSplit"}"#, UnsupportedSetting, name),
        (name, r#"{"type": @"Punctuation"}"#, UnsupportedSetting, "Punctuation"),
        (name, "@{}", MissingMetadata, "type"),
        (name, r#"{"type": @7}"#, BadMetadata, "type"),
        (name, "@7", BadMetadata, ""),
        (name, r#"@{"type": "Metaspace"}"#, MissingMetadata, "replacement"),
        (name, r#"{"type": "Metaspace", "replacement": @"ab"}"#, BadMetadata, "replacement"),
        (name, r#"{"type": "Metaspace", "replacement": @""}"#, BadMetadata, "replacement"),
        (name, r#"@{"type": "Sequence"}"#, MissingMetadata, "pretokenizers"),
        (name, r#"{"type": "Sequence", "pretokenizers": @1}"#, BadMetadata, "pretokenizers"),
        (name, r#"{"type": "Sequence", "pretokenizers": [], "x": @1}"#, UnsupportedSetting, "x"),
        (name, &twice, UnsupportedSetting, "Metaspace"),
        (name, &odd_step, UnsupportedSetting, "odd"),
    ];
    check(UNIGRAM, &rows, |spec| unigram(spec).map(drop));
    for (scheme, kind, key) in [
        (r#""prepend_scheme": @"first""#, UnsupportedSetting, "prepend_scheme"),
        (r#""prepend_scheme": @"last""#, UnsupportedSetting, "prepend_scheme"),
        (
            r#""prepend_scheme": "always", "add_prefix_space": @false"#,
            BadMetadata,
            "add_prefix_space",
        ),
        (r#""split": @1"#, BadMetadata, "split"),
        (r#""odd": @1"#, UnsupportedSetting, "odd"),
    ] {
        let step = format!(r#"{{"type": "Metaspace", "replacement": "▁", {scheme}}}"#);
        check(UNIGRAM, &[(name, &step, kind, key)], |spec| unigram(spec).map(drop));
    }
}

#[test]
fn unigram_normalizers_are_refused_where_they_differ() {
    let after = |step: &str| format!(r#"{{"type": "Sequence", "normalizers": [{step}]}}"#);
    let strip = r#"{"type": "Strip", "strip_left": true, "strip_right": false}"#;
    let late =
        after(&format!(r#"{strip}, {{"type": @"Precompiled", "precompiled_charsmap": ""}}"#));
    let name = "normalizer";
    let rows: [Row<'_>; 6] = [
        (name, r#"{"type": @"NFC"}"#, UnsupportedSetting, "NFC"),
        (name, r#"@{"type": "Precompiled"}"#, MissingMetadata, "precompiled_charsmap"),
        (
            name,
            r#"{"type": "Precompiled", "precompiled_charsmap": @1}"#,
            BadMetadata,
            "precompiled_charsmap",
        ),
        (name, r#"@{"type": "Strip", "strip_left": true}"#, MissingMetadata, "strip_right"),
        (name, &late, UnsupportedSetting, "Precompiled"),
        (name, r#"@{"type": "Replace", "content": ""}"#, MissingMetadata, "pattern"),
    ];
    check(UNIGRAM, &rows, |spec| unigram(spec).map(drop));
    for (pattern, kind, key) in [
        (r#"@{"String": "ab"}"#, UnsupportedSetting, "pattern"),
        (r#"@{"String": ""}"#, UnsupportedSetting, "pattern"),
        // A run with an end, one of white space, and what is none.
        (r#"@{"Regex": " {2,3}"}"#, UnsupportedSetting, "pattern"),
        (r#"@{"Regex": "\\s+"}"#, UnsupportedSetting, "pattern"),
        (r#"{"Regex": @".+"}"#, UnsupportedSetting, "Regex"),
        (r#"@{"String": " ", "Regex": " +"}"#, UnsupportedSetting, "pattern"),
        ("@{}", UnsupportedSetting, "pattern"),
        (r#"{"String": @1}"#, BadMetadata, "String"),
        (r#"{"String": " ", "odd": @1}"#, UnsupportedSetting, "odd"),
    ] {
        let step = format!(r#"{{"type": "Replace", "content": "_", "pattern": {pattern}}}"#);
        check(UNIGRAM, &[(name, &step, kind, key)], |spec| unigram(spec).map(drop));
    }
    let long = format!(
        r#"{{"type": "Replace", "pattern": {{"String": " "}}, "content": @"{}"}}"#,
        "x".repeat(33)
    );
    check(UNIGRAM, &[(name, &long, UnsupportedSetting, "content")], |spec| unigram(spec).map(drop));
    for (pattern, least, is_whole) in [
        (r#""String": "!""#, 1, false),
        (r#""Regex": "!""#, 1, false),
        (r#""Regex": "!{2,}""#, 2, true),
        (r#""Regex": "\u0021+""#, 1, true),
    ] {
        let step = format!(r#"{{"type": "Replace", "content": "_", "pattern": {{{pattern}}}}}"#);
        let text = changed(UNIGRAM, (name, &after(&format!("{strip}, {step}"))));
        read(&text, |spec| {
            let settings = unigram(spec)?;
            let replaces = settings.replaces.unwrap();
            assert_eq!(replaces.character, '!', "{pattern}");
            assert!(replaces.content.is("_"), "{pattern}");
            assert_eq!((replaces.least, replaces.is_whole), (least, is_whole), "{pattern}");
            assert_eq!(settings.strips, [true, false]);
            Ok(())
        });
    }
}
