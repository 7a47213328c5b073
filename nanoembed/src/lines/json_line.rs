//! A line of JSON: an object of which one member is the text, and others may be wanted beside it.

use std::borrow::Cow;
use std::fmt;

use nanoembed_core::ErrorKind;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use super::{Lines, surrogates};
use crate::error::Error;

/// The members of the objects that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// The text's name.
    pub field: String,
    /// The members that are written beside a text's result.
    pub kept: Vec<String>,
    /// One of these that has to be there and to be a text.
    pub needed: Option<&'static str>,
    /// Halves of characters become U+FFFD.
    pub lossy: bool,
    /// A list of whole numbers is a text, too: the numbers with spaces between.
    pub takes_numbers: bool,
}

/// A text and the members beside it.
#[derive(Debug, PartialEq)]
pub struct Object {
    /// The text.
    pub text: String,
    /// The members that are wanted beside it.
    pub kept: Vec<(String, Value)>,
}

/// A fault of a line.
#[derive(Debug, PartialEq)]
struct Wrong {
    kind: ErrorKind,
    /// The byte of the line.
    at: usize,
    message: String,
    hint: Option<String>,
    /// The members that could be read all the same: a result for every line needs its `id` too.
    kept: Vec<(String, Value)>,
}

/// A line without a text.
#[derive(Debug)]
pub struct Unusable {
    /// The reason.
    pub error: Box<Error>,
    /// The members that could be read all the same.
    pub kept: Vec<(String, Value)>,
}

/// The name of the text, unless another one is asked for.
pub const TEXT: &str = "text";

/// The member that stands beside a text's result unasked.
pub const ID: &str = "id";

/// The most names of members in a hint.
const LISTED: usize = 8;

impl Members {
    /// The members of a line without options: its text and its [`ID`].
    pub fn usual(lossy: bool) -> Self {
        Self { field: TEXT.to_owned(), lossy, ..Self::default() }
    }

    /// The object in the next line; `None` at the end. After an error that is about the line and not
    /// about reading, the next line can be asked for.
    pub fn next(&self, lines: &mut Lines) -> Option<Result<Object, Unusable>> {
        let line = match lines.next_line().transpose()? {
            Ok(line) => line,
            Err(error) => return Some(Err(Unusable { error: error.into(), kept: Vec::new() })),
        };
        Some(self.read(&line).map_err(|Wrong { kind, at, message, hint, kept }| {
            let error = lines.refuse(kind, at, message);
            Unusable { error: hint.into_iter().fold(error, Error::with_hint).into(), kept }
        }))
    }

    /// The text in `line`. A blank line is an empty text, as among lines of text.
    fn read(&self, line: &str) -> Result<Object, Wrong> {
        if line.trim().is_empty() {
            return Ok(Object { text: String::new(), kept: Vec::new() });
        }
        let halves = surrogates::first_half(line, 0).filter(|_| self.lossy);
        let whole = halves.map(|_| surrogates::replaced(line));
        let line = whole.as_deref().unwrap_or(line);
        let mut found = Found::default();
        let mut json = serde_json::Deserializer::from_str(line);
        let read = Wanted { members: self, found: &mut found }.deserialize(&mut json);
        let Found { text, kept, names, repeated } = found;
        if let Err(error) = read.and_then(|()| json.end()) {
            return Err(Wrong { kept, ..self.malformed(line, &error, repeated) });
        }
        let wrong = |message: String, hint| Wrong {
            kind: ErrorKind::BadField,
            at: 0,
            message,
            hint,
            kept: Vec::new(),
        };
        let text_of = |name: &str| match kept.iter().find(|(known, _)| known == name) {
            Some((_, value)) if !value.is_string() => {
                Some(format!("`{name}` is {}, not a string", what(value)))
            }
            Some(_) => None,
            None => Some(format!("the object has no member `{name}`")),
        };
        if let Some(message) = self.needed.and_then(text_of) {
            return Err(Wrong { kept, ..wrong(message, None) });
        }
        match text {
            Some(Value::String(text)) => Ok(Object { text, kept }),
            Some(other) => {
                if let Some(text) = numbers(&other).filter(|_| self.takes_numbers) {
                    return Ok(Object { text, kept });
                }
                let expected = if self.takes_numbers { "a list of numbers" } else { "a string" };
                let message = format!("`{}` is {}, not {expected}", self.field, what(&other));
                Err(Wrong { kept, ..wrong(message, None) })
            }
            None => {
                let message = format!("the object has no member `{}`", self.field);
                let hint = (!names.is_empty())
                    .then(|| format!("it has {}; `--field NAME` takes another", names.join(", ")));
                Err(Wrong { kept, ..wrong(message, hint) })
            }
        }
    }

    fn malformed(&self, line: &str, error: &serde_json::Error, repeated: Option<String>) -> Wrong {
        let at = error.column().saturating_sub(1).min(line.len());
        let half = surrogates::first_half(line, 0).filter(|half| *half <= at);
        if let (Category::Syntax, Some(at)) = (error.classify(), half) {
            let escape = line.get(at..at + 6).unwrap_or_default();
            return Wrong {
                kind: ErrorKind::BadJson,
                at,
                message: format!("`{escape}` is half of a surrogate pair, no Unicode character"),
                hint: Some("`--lossy` replaces it by U+FFFD".to_owned()),
                kept: Vec::new(),
            };
        }
        let (kind, message) = match (error.classify(), repeated) {
            (_, Some(name)) => {
                (ErrorKind::BadField, format!("the object has two members `{name}`"))
            }
            (Category::Data, _) => {
                (ErrorKind::BadField, format!("not an object with a member `{}`", self.field))
            }
            (Category::Eof, _) => {
                (ErrorKind::BadJson, "not well-formed JSON: the line ends too early".to_owned())
            }
            _ => (ErrorKind::BadJson, "not well-formed JSON".to_owned()),
        };
        let at = match error.classify() {
            // An object that is none begins where the line does.
            Category::Data => line.len() - line.trim_start().len(),
            Category::Eof => line.len(),
            _ => at,
        };
        Wrong { kind, at, message, hint: None, kept: Vec::new() }
    }
}

/// The whole numbers of a list with spaces between; `None` if the value is no such list.
fn numbers(value: &Value) -> Option<String> {
    let number = |value: &Value| value.as_u64().map(|number| number.to_string());
    let numbers: Option<Vec<String>> = value.as_array()?.iter().map(number).collect();
    numbers.map(|numbers| numbers.join(" "))
}

/// The type of a value, in JSON's words.
const fn what(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The members found in an object so far.
#[derive(Default)]
struct Found {
    text: Option<Value>,
    kept: Vec<(String, Value)>,
    /// The names of its first members, for a hint.
    names: Vec<String>,
    repeated: Option<String>,
}

/// Reads an object and keeps the members that are wanted.
struct Wanted<'m> {
    members: &'m Members,
    found: &'m mut Found,
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { members, found } = self;
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let is_text = name == members.field;
            let is_kept = name == ID || members.kept.iter().any(|kept| *kept == name);
            if found.names.len() < LISTED {
                found.names.push(format!("`{name}`"));
            }
            if !is_text && !is_kept {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let is_there = if is_text {
                found.text.is_some()
            } else {
                found.kept.iter().any(|(known, _)| *known == name)
            };
            if is_there {
                found.repeated = Some(name.into_owned());
                return Err(A::Error::custom(""));
            }
            let value = map.next_value::<Value>()?;
            if is_kept {
                found.kept.push((name.into_owned(), value.clone()));
            }
            if is_text {
                found.text = Some(value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(field: &str, kept: &[&str]) -> Members {
        Members {
            field: field.into(),
            kept: kept.iter().map(|&name| name.into()).collect(),
            ..Members::default()
        }
    }

    #[test]
    fn a_list_of_numbers_is_a_text_where_it_is_asked_for() {
        let line = r#"{"ids": [101, 7592, 102], "index": 0}"#;
        let ids = Members { takes_numbers: true, ..members("ids", &[]) };
        assert_eq!(ids.read(line).unwrap().text, "101 7592 102");
        assert_eq!(ids.read(r#"{"ids": []}"#).unwrap().text, "");
        assert!(members("ids", &[]).read(line).unwrap_err().message.contains("not a string"));
        for wrong in
            [r#"{"ids": [1, "a"]}"#, r#"{"ids": [-1]}"#, r#"{"ids": 1}"#, r#"{"ids": [[1]]}"#]
        {
            let message = ids.read(wrong).unwrap_err().message;
            assert!(message.contains("not a list of numbers"), "{message}");
        }
    }

    #[test]
    fn the_text_is_read_with_its_id_and_what_else_is_wanted() {
        let line = r#" {"url": "u", "id": 7, "text": "a\nb", "other": [1, {"text": 2}]} "#;
        let object = members("text", &["url"]).read(line).unwrap();
        assert_eq!(object.text, "a\nb");
        assert_eq!(object.kept, [("url".into(), "u".into()), ("id".into(), 7.into())]);
        assert_eq!(members("url", &[]).read(line).unwrap().text, "u");
        assert_eq!(members("text", &[]).read(" ").unwrap().text, "");
    }

    #[test]
    fn a_member_that_is_needed_beside_the_text_has_to_be_one() {
        let pair = Members { needed: Some("query"), ..members("document", &["query"]) };
        let object = pair.read(r#"{"query": "a", "document": "b"}"#).unwrap();
        assert_eq!((&*object.text, object.kept.len()), ("b", 1));
        for line in [r#"{"document": "b"}"#, r#"{"query": 1, "document": "b"}"#] {
            assert!(pair.read(line).unwrap_err().message.contains("`query`"), "{line}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_named_or_replaced() {
        let line = r#"{"id": 3, "text": "rain \ud83d", "text2": "\udc00"}"#;
        let strict = members("text", &[]);
        let wrong = strict.read(line).unwrap_err();
        assert_eq!((wrong.kind.code(), wrong.at, wrong.kept.len()), (130, 24, 1), "{wrong:?}");
        assert!(wrong.message.contains(r"`\ud83d` is half of a surrogate pair"), "{wrong:?}");
        assert!(wrong.hint.is_some_and(|hint| hint.contains("--lossy")));
        // What is wrong before it is said.
        let wrong = strict.read(r#"{"text": x, "a": "\ud83d"}"#).unwrap_err();
        assert!(wrong.message.contains("not well-formed"), "{wrong:?}");
        let lossy = Members { lossy: true, ..strict };
        assert_eq!(lossy.read(line).unwrap().text, "rain \u{fffd}");
    }

    #[test]
    fn what_is_wrong_is_said_in_words_of_its_own() {
        let cases = [
            (r#"["a"]"#, 131, 0, "not an object"),
            (r#""a""#, 131, 0, "not an object"),
            ("{", 130, 1, "ends too early"),
            (r#"{"text": "a""#, 130, 12, "ends too early"),
            (r#"{"text": "a"} x"#, 130, 14, "not well-formed JSON"),
            (r#"{"text": "a",}"#, 130, 13, "not well-formed JSON"),
            (r#"{"text": 'a'}"#, 130, 9, "not well-formed JSON"),
            (r#"{"body": "a"}"#, 131, 0, "no member `text`"),
            (r#"{"text": null}"#, 131, 0, "is null"),
            (r#"{"text": 5}"#, 131, 0, "is a number"),
            (r#"{"text": "a", "text": "b"}"#, 131, 0, "two members `text`"),
        ];
        for (line, code, at, said) in cases {
            let wrong = members("text", &[]).read(line).unwrap_err();
            assert_eq!((wrong.kind.code(), wrong.at), (code, at), "{line} {wrong:?}");
            assert!(wrong.message.contains(said), "{line} {wrong:?}");
            let serdes = ["expected", "invalid", "column", "EOF", "trailing"];
            assert!(!serdes.iter().any(|word| wrong.message.contains(word)), "{wrong:?}");
        }
        let hint = members("text", &[]).read(r#"{"body": "a"}"#).unwrap_err().hint.unwrap();
        assert!(hint.contains("`body`") && hint.contains("--field"), "{hint}");
        let wrong = members("text", &[]).read(r#"{"id": 3, "body": "a"}"#).unwrap_err();
        assert_eq!(wrong.kept, [("id".into(), 3.into())]);
    }
}
