//! The tokens around one text, and around and between two.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::super::ends::Ends;
use super::super::pair::pair_template;
use super::{Row, changed, check, read, std};
use crate::error::ErrorKind::{BadMetadata, MissingMetadata, OverLimit, UnsupportedSetting};
use crate::text::json::Read;
use crate::token::spec::{IdPart, IdTemplate, TokenizerSpec};

const MODEL: (&str, &str) = ("model", r#"{"type": "Unigram", "vocab": {"ids": 9, "count": 9}}"#);

const POST: &str = "post_processor";

fn ends<'t>(spec: &TokenizerSpec<'t>) -> Read<'t, Ends> {
    Ends::from_spec(spec)
}

fn pairs<'t>(spec: &TokenizerSpec<'t>) -> Read<'t, IdTemplate> {
    pair_template(spec)
}

#[test]
fn what_is_put_around_a_text_is_refused_where_it_is_not_known() {
    let bert = r#"{"type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 2]}"#;
    let twice = format!(
        r#"{{"type": "Sequence", "processors": [{bert}, {{"type": @"RobertaProcessing", "cls": ["a", 1], "sep": ["b", 2]}}]}}"#
    );
    let rows: [Row<'_>; 12] = [
        (POST, r#"{"type": @"Odd"}"#, UnsupportedSetting, "Odd"),
        (POST, r#"@{"type": "BertProcessing"}"#, MissingMetadata, "cls"),
        (POST, r#"{"type": "BertProcessing", "cls": @["a"]}"#, BadMetadata, "cls"),
        (POST, r#"{"type": "BertProcessing", "cls": @["a", "b"]}"#, BadMetadata, "cls"),
        (POST, r#"{"type": "BertProcessing", "cls": @["a", 1, 2]}"#, BadMetadata, "cls"),
        (POST, r#"{"type": "BertProcessing", "cls": @["a", 4294967296]}"#, BadMetadata, "cls"),
        (POST, r#"{"type": "BertProcessing", "cls": @[1, 1]}"#, BadMetadata, "cls"),
        (POST, r#"{"type": "BertProcessing", "cls": ["a", 1], "sep": @7}"#, BadMetadata, "sep"),
        (POST, r#"{"type": "ByteLevel", "odd": @1}"#, UnsupportedSetting, "odd"),
        (POST, &twice, UnsupportedSetting, "RobertaProcessing"),
        (POST, r#"@{"type": "TemplateProcessing"}"#, MissingMetadata, "special_tokens"),
        (
            POST,
            r#"@{"type": "TemplateProcessing", "special_tokens": {}}"#,
            MissingMetadata,
            "single",
        ),
    ];
    check(&[MODEL, (POST, bert)], &rows, |spec| ends(spec).map(drop));
    let text = changed(&[MODEL], (POST, bert));
    assert_eq!(read(&text, ends), Ends { before: Some(1), after: Some(2) });
    let text = changed(&[MODEL], (POST, ""));
    assert_eq!(read(&text, ends), Ends { before: None, after: None });
}

/// Parts of a template.
const A: &str = r#"{"Sequence": {"id": "A", "type_id": 0}}"#;
const B: &str = r#"{"Sequence": {"id": "B", "type_id": 1}}"#;
const X: &str = r#"{"SpecialToken": {"id": "x", "type_id": 0}}"#;

#[test]
fn templates_of_one_text_are_refused_where_they_put_more_around_it() {
    let template = |known: &str, single: &str| {
        let rest = format!(r#""special_tokens": {known}, "single": {single}, "pair": []"#);
        format!(r#"{{"type": "TemplateProcessing", {rest}}}"#)
    };
    let known = r#"{"x": {"id": "x", "ids": [7], "tokens": ["x"]}}"#;
    for parts in [
        format!("{A}, {A}"),
        B.into(),
        format!("{X}, {X}, {A}"),
        format!("{A}, {X}, {X}"),
        X.into(),
        String::new(),
    ] {
        let step = template(known, &format!("@[{parts}]"));
        let row = (POST, &*step, UnsupportedSetting, "single");
        check(&[MODEL], &[row], |spec| ends(spec).map(drop));
    }
    for (parts, kind, key) in
        [(format!("{A}, @7"), BadMetadata, ""), (format!("{A}, @{{}}"), BadMetadata, "single")]
    {
        let step = template(known, &format!("[{parts}]"));
        check(&[MODEL], &[(POST, &step, kind, key)], |spec| ends(spec).map(drop));
    }
    for (known, single, kind, key) in [
        ("{}", format!("[@{X}, {A}]"), MissingMetadata, "id"),
        (r#"{"x": @{}}"#, format!("[{X}, {A}]"), MissingMetadata, "ids"),
        (r#"{"x": {"ids": [@4294967296]}}"#, format!("[{X}, {A}]"), BadMetadata, "ids"),
        (r#"{"x": {"ids": [7, 8]}}"#, format!("@[{X}, {A}]"), UnsupportedSetting, "single"),
    ] {
        let step = template(known, &single);
        check(&[MODEL], &[(POST, &step, kind, key)], |spec| ends(spec).map(drop));
    }
    let text = changed(&[MODEL], (POST, &template(known, &format!("[{A}, {X}]"))));
    assert_eq!(read(&text, ends), Ends { before: None, after: Some(7) });
    // A token without an id is none.
    let text =
        changed(&[MODEL], (POST, &template(r#"{"x": {"ids": []}}"#, &format!("[{X}, {A}]"))));
    assert_eq!(read(&text, ends), Ends { before: None, after: None });
}

#[test]
fn templates_of_two_texts_are_refused_where_they_are_not_known() {
    let known = r#"{"x": {"ids": [7, 8]}, "none": {}, "high": {"ids": [4294967296]}}"#;
    let template = |pair: &str| {
        let rest = format!(r#""special_tokens": {known}, "single": [{A}], "pair": {pair}"#);
        format!(r#"{{"type": "TemplateProcessing", {rest}}}"#)
    };
    let seven = [X; 7].join(", ");
    for (pair, kind, key) in [
        (format!("@[{A}]"), UnsupportedSetting, "pair"),
        (format!("@[{A}, {B}, {B}]"), UnsupportedSetting, "pair"),
        // Sixteen tokens, and one text.
        (format!("[{seven}, {X}, @{A}, {B}]"), OverLimit, "pair"),
        (format!("[{A}, @{{}}, {B}]"), BadMetadata, "pair"),
        (format!("[{A}, @7]"), BadMetadata, ""),
        (r#"[{"odd": @1}]"#.into(), UnsupportedSetting, "odd"),
        (r#"[{"Sequence": {"id": @"C", "type_id": 0}}]"#.into(), BadMetadata, "id"),
        (r#"[{"Sequence": @{"type_id": 0}}]"#.into(), MissingMetadata, "id"),
        (r#"[{"Sequence": @{"id": "A"}}]"#.into(), MissingMetadata, "type_id"),
        (r#"[@{"Sequence": {"id": "A", "type_id": 256}}]"#.into(), OverLimit, "pair"),
        (
            r#"[{"Sequence": {"id": "A", "type_id": 0, "odd": @1}}]"#.into(),
            UnsupportedSetting,
            "odd",
        ),
    ] {
        let step = template(&pair);
        check(&[MODEL], &[(POST, &step, kind, key)], |spec| pairs(spec).map(drop));
    }
    let parts = |step: &str| {
        let template = read(&changed(&[MODEL], (POST, step)), pairs);
        template.items().iter().map(|item| (item.part, item.kind)).collect::<Vec<_>>()
    };
    use IdPart::{First, Second, Special};
    let expected = [(First, 0), (Special(7), 0), (Special(8), 0), (Second, 1)];
    assert_eq!(parts(&template(&format!("[{A}, {X}, {B}]"))), expected);
    assert_eq!(parts(&template(&format!("[{seven}, {A}, {B}]"))).len(), 16);
    assert_eq!(parts(r#"{"type": "ByteLevel"}"#), [(First, 0), (Second, 1)]);
    let bert = r#"{"type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 2]}"#;
    let (one, two) = (Special(1), Special(2));
    let around = [(one, 0), (First, 0), (two, 0), (Second, 1), (two, 1)];
    assert_eq!(parts(bert), around);
    let around = [(one, 0), (First, 0), (two, 0), (two, 0), (Second, 0), (two, 0)];
    assert_eq!(parts(&bert.replace("Bert", "Roberta")), around);
}
