//! What post-processors put around one text and around two.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::super::ends::Ends;
use super::super::pair_template::{PairPart, PairTemplate};
use super::{Row, changed, check, read, std};
use crate::error::ErrorKind::{BadMetadata, MissingMetadata, UnsupportedSetting};
use crate::text::json::{Object, Read};

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
