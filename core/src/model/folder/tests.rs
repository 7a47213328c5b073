//! Settings that are refused: which one, by what kind of error, and where in the file it stands.
//! In the JSON texts, `@` stands before the value that the error is to point at; without it, that
//! is the object as a whole.

extern crate std;

use std::format;
use std::string::String;
use std::vec::Vec;

use super::bpe_model::BpeModel;
use super::dense::DenseSettings;
use super::encoder_settings::{EncoderSettings, tokenizer_limit};
use super::ends::Ends;
use super::fallback_settings::FallbackSettings;
use super::masked::refuse_masked;
use super::module::{Module, ModuleKind, stays_within};
use super::pair_settings::PairSettings;
use super::pair_template::{PairPart, PairTemplate};
use super::pooling::PoolingSettings;
use super::tokenizer_root;
use super::unigram_settings::UnigramSettings;
use super::word_settings::WordSettings;
use crate::error::ErrorKind::{
    self, BadJson, BadMetadata, BadVocabulary, MissingMetadata, UnsupportedSetting,
};
use crate::text::json::{Object, Read, Value};
use crate::token::bpe::Pattern;

/// Where the texts lie in their file.
const AT: u64 = 4000;

/// The kind and the name with which `read` refuses the object that `marked` spells, at its mark.
fn refusal(
    marked: &str,
    read: impl for<'t> Fn(&Object<'t>) -> Read<'t, ()>,
) -> (ErrorKind, String) {
    let at = AT + marked.find('@').unwrap_or(0) as u64;
    let text = marked.replacen('@', "", 1);
    let object = Object::new(Value::parse(&text, AT).unwrap()).unwrap();
    let Err(fault) = read(&object) else { panic!("{marked} is taken") };
    assert_eq!(fault.error.offset(), Some(at), "{marked}: {fault}");
    (fault.error.kind(), fault.key.into())
}

/// An object with these members, one of them changed or, if there is none of its name, added. One
/// that is changed to nothing is left out.
fn changed(members: &[(&str, &str)], (name, value): (&str, &str)) -> String {
    let is_new = members.iter().all(|(known, _)| *known != name);
    let new = Some((name, value)).filter(|_| is_new);
    let members = members.iter().map(|it| if it.0 == name { (name, value) } else { *it });
    let members: Vec<String> = members
        .chain(new)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// A change of one member, and how it is refused.
type Row<'a> = (&'a str, &'a str, ErrorKind, &'a str);

/// Checks that each of the changes is refused as it says, and that nothing is without them.
fn check(
    members: &[(&str, &str)],
    rows: &[Row<'_>],
    read: impl for<'t> Fn(&Object<'t>) -> Read<'t, ()>,
) {
    let text = changed(members, ("unused", ""));
    read(&Object::new(Value::parse(&text, AT).unwrap()).unwrap()).unwrap();
    for &(name, value, kind, key) in rows {
        let marked = changed(members, (name, value));
        assert_eq!(refusal(&marked, &read), (kind, key.into()), "{marked}");
    }
}

fn read<T>(text: &str, act: impl for<'t> FnOnce(&Object<'t>) -> Read<'t, T>) -> T {
    let object = Object::new(Value::parse(text, AT).unwrap()).unwrap();
    act(&object).map_err(|fault| format!("{text}: {fault}")).unwrap()
}

const METASPACE: &str = r#"{"type": "Metaspace", "replacement": "▁"}"#;

const UNIGRAM: &[(&str, &str)] = &[
    ("model", r#"{"type": "Unigram", "unk_id": 0, "vocab": {"ids": 9, "count": 9}}"#),
    ("added_tokens", "[]"),
    ("pre_tokenizer", METASPACE),
];

fn unigram<'t>(root: &Object<'t>) -> Read<'t, UnigramSettings<'t>> {
    UnigramSettings::read(root, 9)
}

#[test]
fn unigram_models_are_refused_where_they_differ() {
    let rows = [
        ("model", "", MissingMetadata, "model"),
        ("model", r#"{"byte_fallback": @true}"#, UnsupportedSetting, "byte_fallback"),
        ("model", r#"{"unk_id": @9}"#, BadMetadata, "unk_id"),
        ("model", r#"{"unk_id": @4294967296}"#, BadMetadata, "unk_id"),
        ("model", r#"{"unk_id": @-1}"#, BadMetadata, "unk_id"),
        ("model", r#"@{"type": "Unigram"}"#, MissingMetadata, "vocab"),
        ("model", r#"{"vocab": @[]}"#, BadMetadata, "vocab"),
        ("model", r#"{"vocab": {"ids": @8, "count": 9}}"#, UnsupportedSetting, "ids"),
        ("model", r#"{"vocab": {"ids": 9, "count": @8}}"#, UnsupportedSetting, "count"),
        ("model", r#"{"vocab": @{"ids": 9}}"#, MissingMetadata, "count"),
        ("model", r#"{"vocab": {"ids": 9, "count": 9, "x": @1}}"#, UnsupportedSetting, "x"),
        ("model", r#"{"vocab": {"ids": 9, "count": 9}, "x": @1}"#, UnsupportedSetting, "x"),
        ("added_tokens", "", MissingMetadata, "added_tokens"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(UNIGRAM, &rows, |root| unigram(root).map(drop));
    let text = changed(UNIGRAM, ("model", r#"{"vocab": {"ids": 9, "count": 9}}"#));
    assert_eq!(read(&text, |root| unigram(root).map(|it| it.unknown)), None);
    let text = changed(UNIGRAM, ("padding", "{}"));
    assert_eq!(read(&text, |root| unigram(root).map(|it| it.unknown)), Some(0));
}

#[test]
fn unigram_pre_tokenizers_are_refused_where_they_differ() {
    let after = |step: &str| format!(r#"{{"type": "Sequence", "pretokenizers": [{step}]}}"#);
    let twice = after(&format!(r#"{METASPACE}, {{"type": @"Metaspace", "replacement": "_"}}"#));
    let odd_step = after("{\"type\": \"WhitespaceSplit\", \"odd\": @1}");
    let name = "pre_tokenizer";
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
    check(UNIGRAM, &rows, |root| unigram(root).map(drop));
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
        check(UNIGRAM, &[(name, &step, kind, key)], |root| unigram(root).map(drop));
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
    check(UNIGRAM, &rows, |root| unigram(root).map(drop));
    for (pattern, kind, key) in [
        (r#"@{"String": "ab"}"#, UnsupportedSetting, "pattern"),
        (r#"@{"String": ""}"#, UnsupportedSetting, "pattern"),
        // A run with an end, one of white space, one that JSON and expressions spell differently.
        (r#"@{"Regex": " {2,3}"}"#, UnsupportedSetting, "pattern"),
        (r#"@{"Regex": "\\s+"}"#, UnsupportedSetting, "pattern"),
        (r#"@{"Regex": ".+"}"#, UnsupportedSetting, "pattern"),
        (r#"@{"String": " ", "Regex": " +"}"#, UnsupportedSetting, "pattern"),
        ("@{}", UnsupportedSetting, "pattern"),
        (r#"{"String": @1}"#, BadMetadata, "String"),
        (r#"{"String": " ", "odd": @1}"#, UnsupportedSetting, "odd"),
    ] {
        let step = format!(r#"{{"type": "Replace", "content": "_", "pattern": {pattern}}}"#);
        check(UNIGRAM, &[(name, &step, kind, key)], |root| unigram(root).map(drop));
    }
    let long = format!(
        r#"{{"type": "Replace", "pattern": {{"String": " "}}, "content": @"{}"}}"#,
        "x".repeat(33)
    );
    check(UNIGRAM, &[(name, &long, UnsupportedSetting, "content")], |root| unigram(root).map(drop));
    for (pattern, least, is_whole) in [
        (r#""String": "!""#, 1, false),
        (r#""Regex": "!""#, 1, false),
        (r#""Regex": "!{2,}""#, 2, true),
    ] {
        let step = format!(r#"{{"type": "Replace", "content": "_", "pattern": {{{pattern}}}}}"#);
        let text = changed(UNIGRAM, (name, &after(&format!("{strip}, {step}"))));
        read(&text, |root| {
            let settings = unigram(root)?;
            let replaces = settings.replaces.unwrap();
            assert_eq!((replaces.character, replaces.content), ('!', "_"), "{pattern}");
            assert_eq!((replaces.least, replaces.is_whole), (least, is_whole), "{pattern}");
            assert_eq!(settings.strips, [true, false]);
            Ok(())
        });
    }
}

/// The post-processor of an object.
fn ends<'t>(root: &Object<'t>) -> Read<'t, Ends> {
    Ends::read(root.get("post_processor"))
}

#[test]
fn what_is_put_around_a_text_is_refused_where_it_is_not_known() {
    let bert = r#"{"type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 2]}"#;
    let twice = format!(
        r#"{{"type": "Sequence", "processors": [{bert}, {{"type": @"RobertaProcessing", "cls": ["a", 1], "sep": ["b", 2]}}]}}"#
    );
    let name = "post_processor";
    let rows: [Row<'_>; 12] = [
        (name, r#"{"type": @"Odd"}"#, UnsupportedSetting, "type"),
        (name, r#"@{"type": "BertProcessing"}"#, MissingMetadata, "cls"),
        (name, r#"{"type": "BertProcessing", "cls": @["a"]}"#, BadMetadata, "cls"),
        (name, r#"{"type": "BertProcessing", "cls": @["a", "b"]}"#, BadMetadata, "cls"),
        (name, r#"{"type": "BertProcessing", "cls": @["a", 1, 2]}"#, BadMetadata, "cls"),
        (name, r#"{"type": "BertProcessing", "cls": @["a", 4294967296]}"#, BadMetadata, "cls"),
        (name, r#"{"type": "BertProcessing", "cls": @[1, 1]}"#, BadMetadata, "cls"),
        (name, r#"{"type": "BertProcessing", "cls": ["a", 1], "sep": @7}"#, BadMetadata, "sep"),
        (name, r#"{"type": "ByteLevel", "odd": @1}"#, UnsupportedSetting, "odd"),
        (name, &twice, UnsupportedSetting, "type"),
        (name, r#"@{"type": "TemplateProcessing"}"#, MissingMetadata, "special_tokens"),
        (
            name,
            r#"@{"type": "TemplateProcessing", "special_tokens": {}}"#,
            MissingMetadata,
            "single",
        ),
    ];
    check(&[(name, bert)], &rows, |root| ends(root).map(drop));
    let text = changed(&[], (name, bert));
    assert_eq!(read(&text, ends), Ends { before: Some(1), behind: Some(2) });
    assert_eq!(read("{}", ends), Ends { before: None, behind: None });
}

/// Parts of a template.
const A: &str = r#"{"Sequence": {"id": "A", "type_id": 0}}"#;
const B: &str = r#"{"Sequence": {"id": "B", "type_id": 1}}"#;
const X: &str = r#"{"SpecialToken": {"id": "x", "type_id": 0}}"#;

#[test]
fn templates_of_one_text_are_refused_where_they_put_more_around_it() {
    let name = "post_processor";
    let template = |known: &str, single: &str| {
        let rest = format!(r#""special_tokens": {known}, "single": {single}"#);
        format!(r#"{{"type": "TemplateProcessing", {rest}}}"#)
    };
    let known = r#"{"x": {"ids": [7]}}"#;
    for parts in [
        format!("{A}, {A}"),
        B.into(),
        format!("{X}, {X}, {A}"),
        format!("{A}, {X}, {X}"),
        X.into(),
        String::new(),
        format!("{A}, 7"),
        format!("{A}, {{}}"),
    ] {
        let step = template(known, &format!("@[{parts}]"));
        check(&[], &[(name, &step, UnsupportedSetting, "single")], |root| ends(root).map(drop));
    }
    for (known, kind) in [
        ("@{}", MissingMetadata),
        (r#"@{"x": {}}"#, MissingMetadata),
        (r#"@{"x": {"ids": []}}"#, UnsupportedSetting),
        (r#"@{"x": {"ids": [7, 8]}}"#, UnsupportedSetting),
        (r#"@{"x": {"ids": [4294967296]}}"#, BadMetadata),
    ] {
        let step = template(known, &format!("[{X}, {A}]"));
        check(&[], &[(name, &step, kind, "x")], |root| ends(root).map(drop));
    }
    let text = changed(&[], (name, &template(known, &format!("[{A}, {X}]"))));
    assert_eq!(read(&text, ends), Ends { before: None, behind: Some(7) });
}

#[test]
fn templates_of_two_texts_are_refused_where_they_are_not_known() {
    fn pairs<'t>(root: &Object<'t>) -> Read<'t, PairTemplate> {
        PairTemplate::read(root.get("post_processor"))
    }
    let name = "post_processor";
    let known = r#"{"x": {"ids": [7, 8]}, "none": {}, "high": {"ids": [4294967296]}}"#;
    let template = |pair: &str| {
        format!(r#"{{"type": "TemplateProcessing", "special_tokens": {known}, "pair": {pair}}}"#)
    };
    let many = [X; 8].join(", ");
    for (pair, kind, key) in [
        (format!("@[{A}]"), UnsupportedSetting, "pair"),
        (format!("@[{A}, {B}, {B}]"), UnsupportedSetting, "pair"),
        // Sixteen tokens, and two texts.
        (format!("@[{many}, {A}, {B}]"), UnsupportedSetting, "pair"),
        (format!("@[{A}, {{}}, {B}]"), UnsupportedSetting, "pair"),
        (format!("[{A}, @7]"), BadMetadata, ""),
        (r#"[{"odd": @1}]"#.into(), UnsupportedSetting, "odd"),
        (r#"[{"Sequence": {"id": @"C", "type_id": 0}}]"#.into(), BadMetadata, "id"),
        (r#"[{"Sequence": @{"type_id": 0}}]"#.into(), MissingMetadata, "id"),
        (r#"[{"Sequence": @{"id": "A"}}]"#.into(), MissingMetadata, "type_id"),
        (r#"[{"Sequence": {"id": "A", "type_id": @256}}]"#.into(), BadMetadata, "type_id"),
        (
            r#"[{"Sequence": {"id": "A", "type_id": 0, "odd": @1}}]"#.into(),
            UnsupportedSetting,
            "odd",
        ),
    ] {
        let step = template(&pair);
        check(&[], &[(name, &step, kind, key)], |root| pairs(root).map(drop));
    }
    for (id, kind) in [("y", MissingMetadata), ("none", MissingMetadata), ("high", BadMetadata)] {
        let step = template(&format!(r#"[{{"SpecialToken": {{"id": "{id}", "type_id": 0}}}}]"#));
        let step = step.replacen(known, &format!("@{known}"), 1);
        check(&[], &[(name, &step, kind, id)], |root| pairs(root).map(drop));
    }
    let bert = r#"{"type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 2]}"#;
    let twice = format!(
        r#"{{"type": "Sequence", "processors": [{bert}, {}]}}"#,
        bert.replace(": \"B", ": @\"B")
    );
    check(&[], &[(name, &twice, UnsupportedSetting, "type")], |root| pairs(root).map(drop));
    let odd = r#"{"type": @"Odd"}"#;
    check(&[], &[(name, odd, UnsupportedSetting, "type")], |root| pairs(root).map(drop));

    let parts = |step: &str| {
        let template = read(&changed(&[], (name, step)), pairs);
        template.items().iter().map(|item| (item.part, item.kind)).collect::<Vec<_>>()
    };
    use PairPart::{First, Second, Special};
    let expected = [(First, 0), (Special(7), 0), (Special(8), 0), (Second, 1)];
    assert_eq!(parts(&template(&format!("[{A}, {X}, {B}]"))), expected);
    assert_eq!(parts(r#"{"type": "ByteLevel"}"#), [(First, 0), (Second, 1)]);
    let (one, two) = (Special(1), Special(2));
    let around = [(one, 0), (First, 0), (two, 0), (Second, 1), (two, 1)];
    assert_eq!(parts(bert), around);
    let around = [(one, 0), (First, 0), (two, 0), (two, 0), (Second, 0), (two, 0)];
    assert_eq!(parts(&bert.replace("Bert", "Roberta")), around);
}

const BPE: &str = r#"{"type": "BPE", "merges": 3, "vocab": {"ids": 9, "count": 9}}"#;
const REPLACE: &str = r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#;

#[test]
fn pairs_with_byte_fallback_are_refused_where_they_differ_from_gemmas() {
    fn fallback<'t>(root: &Object<'t>) -> Read<'t, FallbackSettings<'t>> {
        FallbackSettings::read(root, BpeModel::read(root, 9)?)
    }
    let split =
        r#"{"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}"#;
    let members =
        [("model", BPE), ("normalizer", REPLACE), ("pre_tokenizer", split), ("added_tokens", "[]")];
    let model = |change: &str| BPE.replace(r#""merges": 3"#, change);
    let (dropout, prefix) =
        (model(r#""dropout": @0.5"#), model(r#""continuing_subword_prefix": @"x""#));
    let (suffix, ignores) =
        (model(r#""end_of_word_suffix": @"x""#), model(r#""merges": 3, "ignore_merges": @true"#));
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
    let regex = normalizer(r#"{"String": " ", "Regex": @" "}"#, "\"_\"");
    let invert = split.replace("\"behavior\"", "\"invert\": @true, \"behavior\"");
    let rows: [Row<'_>; 17] = [
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
        ("normalizer", &no_text, MissingMetadata, "String"),
        ("normalizer", &regex, UnsupportedSetting, "Regex"),
        ("pre_tokenizer", r#"{"type": @"Whitespace"}"#, UnsupportedSetting, "Whitespace"),
        ("pre_tokenizer", &invert, UnsupportedSetting, "invert"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&members, &rows, |root| fallback(root).map(drop));
    let text = changed(&members, ("unused", ""));
    assert_eq!(read(&text, |root| fallback(root).map(|it| (it.mark, it.merges))), ('▁', 3));
}

#[test]
fn pairs_of_bytes_are_refused_where_they_differ_from_what_is_known() {
    fn pairs<'t>(root: &Object<'t>) -> Read<'t, PairSettings<'t>> {
        PairSettings::read(root, BpeModel::read(root, 9)?)
    }
    let bytes = r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}"#;
    let members = [("model", BPE), ("pre_tokenizer", bytes), ("added_tokens", "[]")];
    let name = "pre_tokenizer";
    let split = |members: &str| format!(r#"{{"type": "Split", {members}}}"#);
    let qwen = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    let known = split(&format!(r#""behavior": "Isolated", "pattern": {{"Regex": "{qwen}"}}"#));
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
    let removed = split(r#""behavior": @"Removed""#);
    let no_behavior = format!("@{}", split(r#""invert": false"#));
    let inverted = split(r#""behavior": "Isolated", "invert": @true"#);
    let text = split(r#""behavior": "Isolated", "pattern": @{"String": " "}"#);
    let regex = split(r#""behavior": "Isolated", "pattern": {"Regex": @"a+"}"#);
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
        (name, &text, MissingMetadata, "Regex"),
    ];
    check(&members, &rows, |root| pairs(root).map(drop));
    check(&members, &[(name, &regex, UnsupportedSetting, "Regex")], |root| pairs(root).map(drop));
    let pattern = |step: &str| {
        read(&changed(&members, (name, step)), |root| pairs(root).map(|it| it.pattern))
    };
    assert_eq!(pattern(bytes), Pattern::Gpt2);
    let without = bytes.replace("\"trim", "\"use_regex\": false, \"trim");
    assert_eq!(pattern(&sequence(&known, &without)), Pattern::Qwen2);
}

const WORDS: &[(&str, &str)] = &[
    (
        "model",
        r###"{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"ids": 9}}"###,
    ),
    (
        "normalizer",
        r#"{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true}"#,
    ),
    ("pre_tokenizer", r#"{"type": "BertPreTokenizer"}"#),
    ("added_tokens", "[]"),
];

#[test]
fn word_pieces_are_refused_where_they_differ_from_berts() {
    let [model, normalizer, ..] = [WORDS[0].1, WORDS[1].1];
    let model = |from: &str, to: &str| model.replace(from, to);
    let normalizer = |from: &str, to: &str| normalizer.replace(from, to);
    let rows = [
        ("model", String::new(), MissingMetadata, "model"),
        ("model", model("\"WordPiece", "@\"Words"), UnsupportedSetting, "type"),
        (
            "model",
            format!("@{}", model("\"unk_token\": \"[UNK]\",", "")),
            MissingMetadata,
            "unk_token",
        ),
        ("model", model("\"##", "@\"#"), UnsupportedSetting, "continuing_subword_prefix"),
        ("model", model("100", "@99"), UnsupportedSetting, "max_input_chars_per_word"),
        ("model", model("9}", "@8}"), UnsupportedSetting, "ids"),
        ("model", model("9}", "9, \"odd\": @1}"), UnsupportedSetting, "odd"),
        ("model", model("9}", "9}, \"odd\": @1"), UnsupportedSetting, "odd"),
        ("normalizer", String::new(), MissingMetadata, "normalizer"),
        ("normalizer", normalizer("\"Bert", "@\"Bart"), UnsupportedSetting, "type"),
        (
            "normalizer",
            normalizer("text\": true", "text\": @false"),
            UnsupportedSetting,
            "clean_text",
        ),
        ("normalizer", normalizer("case\": true", "case\": @1"), BadMetadata, "lowercase"),
        ("pre_tokenizer", String::new(), MissingMetadata, "pre_tokenizer"),
        (
            "pre_tokenizer",
            "@{\"type\": \"Whitespace\"}".into(),
            UnsupportedSetting,
            "pre_tokenizer",
        ),
        ("added_tokens", String::new(), MissingMetadata, "added_tokens"),
        ("odd", "@1".into(), UnsupportedSetting, "odd"),
    ];
    for (name, value, kind, key) in &rows {
        let row = (*name, value.as_str(), *kind, *key);
        check(WORDS, &[row], |root| WordSettings::of(root.clone(), 9).map(drop));
    }
    // Ids without a token, of which there are fewer.
    let text = changed(WORDS, ("model", &model("9}", "9, \"count\": 8}")));
    let text = text.replace("[]", "@[]");
    let key = refusal(&text, |root| WordSettings::of(root.clone(), 9)?.added().map(drop));
    assert_eq!(key, (UnsupportedSetting, "vocab".into()));
    // One token before texts, and none behind them.
    let text = changed(WORDS, ("post_processor", r#"{"type": "ByteLevel"}"#));
    let key = refusal(&text, |root| WordSettings::of(root.clone(), 9)?.ends().map(drop));
    assert_eq!(key, (UnsupportedSetting, "post_processor".into()));
}

#[test]
fn a_tokenizer_is_refused_at_the_byte_that_is_wrong() {
    let failure = |bytes: &[u8]| {
        let fault = tokenizer_root::read(bytes, AT).unwrap_err();
        (fault.error.kind(), fault.error.offset().unwrap() - AT, String::from(fault.key))
    };
    assert_eq!(failure(b"{\"a\": \"\xff\"}"), (BadVocabulary, 0, String::new()));
    assert_eq!(failure(b"{\"a\": ?}"), (BadJson, 6, String::new()));
    assert_eq!(failure(b"[]"), (BadMetadata, 0, String::new()));
    assert_eq!(failure(b"{\"version\": \"2.0\"}"), (UnsupportedSetting, 12, "version".into()));
    let cut = |members: &str| failure(format!("{{\"truncation\": {members}}}").as_bytes());
    assert_eq!(cut("7"), (BadMetadata, 15, "truncation".into()));
    assert_eq!(cut("{\"direction\": \"Left\"}"), (UnsupportedSetting, 29, "direction".into()));
    assert_eq!(cut("{\"max_length\": -1}"), (BadMetadata, 30, "max_length".into()));
    assert_eq!(cut("{\"odd\": 1}"), (UnsupportedSetting, 23, "odd".into()));
}

#[test]
fn modules_are_refused_where_they_differ() {
    let dense = [("in_features", "2"), ("out_features", "3")];
    let rows = [
        ("in_features", "", MissingMetadata, "in_features"),
        ("in_features", "@0", BadMetadata, "in_features"),
        ("out_features", "@1e15", BadMetadata, "out_features"),
        ("activation_function", "@\"torch.nn.Odd\"", UnsupportedSetting, "activation_function"),
        ("bias", "@1", BadMetadata, "bias"),
        ("module_input_name", "@\"token_embeddings\"", UnsupportedSetting, "module_input_name"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&dense, &rows, |config| DenseSettings::read(config).map(drop));
    let rows = [
        ("pooling_mode", "@\"odd\"", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode", "@[]", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode", "@[\"mean\", [\"cls\"]]", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode_mean_tokens", "false", UnsupportedSetting, "pooling_mode"),
        ("pooling_mode_max_tokens", "@\"yes\"", BadMetadata, "pooling_mode_max_tokens"),
        ("include_prompt", "@0", BadMetadata, "include_prompt"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    let pooling = [("pooling_mode_mean_tokens", "true")];
    check(&pooling, &rows, |config| PoolingSettings::read(config).map(drop));
    let rows = [
        ("max_seq_length", "@-1", BadMetadata, "max_seq_length"),
        ("do_lower_case", "@1", BadMetadata, "do_lower_case"),
        ("transformer_task", "@\"fill-mask\"", UnsupportedSetting, "transformer_task"),
        ("tokenizer_args", "@{\"a\": 1}", UnsupportedSetting, "tokenizer_args"),
        ("config_kwargs", "@[]", UnsupportedSetting, "config_kwargs"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    let encoder = [("max_seq_length", "0"), ("config_args", "{}")];
    check(&encoder, &rows, |config| EncoderSettings::of(config).map(drop));
    let rows = [
        ("type", "", MissingMetadata, "type"),
        ("type", "@\"sentence_transformers.models.WordWeights\"", UnsupportedSetting, "type"),
        ("type", "@\"somebody.models.Pooling\"", UnsupportedSetting, "type"),
        ("path", "@1", BadMetadata, "path"),
        ("odd", "@1", UnsupportedSetting, "odd"),
    ];
    check(&[("type", "\"Pooling\"")], &rows, |module| Module::read(module).map(drop));
    let rows = [(
        "architectures",
        "[\"BertModel\", @\"BertForMaskedLM\"]",
        UnsupportedSetting,
        "architectures",
    )];
    check(&[], &rows, |config| refuse_masked(config.value()));
}

#[test]
fn modules_say_what_they_do_and_where_they_lie() {
    let kind = |name: &str| {
        let text = format!(r#"{{"type": "sentence_transformers.models.{name}", "path": "1_x"}}"#);
        read(&text, |module| Module::read(module).map(|it| (it.kind, it.path.len())))
    };
    use ModuleKind::{Dense, Dropout, Normalize, Pooling, Table, Transformer};
    for (name, expected) in [
        ("Transformer", Transformer),
        ("StaticEmbedding", Table),
        ("Pooling", Pooling),
        ("Dense", Dense),
        ("Normalize", Normalize),
        ("Dropout", Dropout),
    ] {
        assert_eq!(kind(name), (expected, 3));
    }
    assert!(Transformer.may_follow(None) && !Pooling.may_follow(None));
    assert!(Dense.may_follow(Some(Pooling)) && !Dense.may_follow(Some(Transformer)));
    assert!(Normalize.may_follow(Some(Table)) && !Pooling.may_follow(Some(Table)));
    assert!(Dropout.may_follow(Some(Dense)) && !Dropout.may_follow(None));
    for (path, stays) in [("", true), ("1_Pooling", true), ("a/../b", false), ("/a", false)] {
        assert_eq!(stays_within(path), stays, "{path}");
    }
    // `..`, as JSON may spell it.
    assert!(!stays_within(r"\u002e\u002e/a"));
}

#[test]
fn texts_are_as_long_as_the_first_setting_says() {
    let settings = |text| read(text, EncoderSettings::of);
    let module = settings(r#"{"max_seq_length": 128}"#);
    assert_eq!(module.token_limit(Some(64), 512), 128);
    assert_eq!(module.token_limit(Some(64), 100), 100);
    let silent = settings(r#"{"max_seq_length": 0, "do_lower_case": true}"#);
    assert!(silent.lower_case);
    assert_eq!(silent.token_limit(Some(64), 512), 64);
    assert_eq!(silent.token_limit(Some(0), 512), 512);
    assert_eq!(silent.token_limit(None, 512), 512);
    let limit = |text| read(text, |config| Ok(tokenizer_limit(config)));
    assert_eq!(limit(r#"{"model_max_length": 256}"#), Some(256));
    // What some programs write for "no limit".
    assert_eq!(limit(r#"{"model_max_length": 1e30}"#), None);
    assert_eq!(limit("{}"), None);
}
