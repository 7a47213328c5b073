//! The metadata of `.fifu` files: TOML.

use nanoembed_core::text::toml::{TomlEntries, TomlValue};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::{Map, Value as Json};
use toml_edit::{DocumentMut, Item, Table};

use crate::error::{Error, Result};

/// The most bytes of a document that is edited. Real ones have some hundred.
const MOST_BYTES: usize = 1 << 20;

/// The most bytes that the tree of a document takes for each of its bytes, also while it is made:
/// 140 were measured, for arrays of digits.
const TREE_BYTES: usize = 192;

/// Entries as JSON, tables as objects in objects. Values that are no scalars are texts as TOML
/// spells them.
pub fn json(document: &str) -> Result<Map<String, Json>, CoreError> {
    let mut root = Map::new();
    for entry in TomlEntries::new(document) {
        let entry = entry?;
        let mut object = &mut root;
        for name in entry.table.split('.').filter(|name| !name.is_empty()) {
            let inner = object.entry(name).or_insert_with(|| Map::new().into());
            object = inner
                .as_object_mut()
                .ok_or(CoreError::new(entry.offset as u64, ErrorKind::BadToml))?;
        }
        let value = match entry.value {
            TomlValue::Text(text) => text.to_string().into(),
            TomlValue::Integer(number) => number.into(),
            TomlValue::Float(number) => {
                serde_json::Number::from_f64(number).map_or(number.to_string().into(), Json::Number)
            }
            TomlValue::Bool(truth) => truth.into(),
            TomlValue::Other(spelled) => spelled.into(),
        };
        object.insert(entry.key.to_owned(), value);
    }
    Ok(root)
}

/// `document` with `entries` added or replaced, unchanged without any. A key may lead through tables
/// by dots; a value that is a TOML scalar or array is taken as that, anything else as a text.
pub fn edited(document: &str, entries: &[(String, String)]) -> Result<String> {
    if entries.is_empty() {
        TomlEntries::new(document).try_for_each(|entry| entry.map(drop)).map_err(in_metadata)?;
        return limit::copied(document).map_err(in_metadata);
    }
    let mut root = parse(document)?;
    for (key, value) in entries {
        let value = value.parse().unwrap_or_else(|_| toml_edit::Value::from(value));
        let mut table: &mut Table = root.as_table_mut();
        let mut names = key.split('.').peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                // In its place, so that what is written around the key stays.
                *table.entry(name).or_insert(Item::None) = Item::Value(value);
                break;
            }
            let inner = table.entry(name).or_insert_with(toml_edit::table);
            table = inner.as_table_mut().ok_or_else(|| {
                Error::usage(format!("`{name}` in `{key}` is a value, not a table"))
            })?;
        }
    }
    Ok(root.to_string())
}

/// The value of a key, which may lead through tables by dots, as TOML.
pub fn value_of(document: &str, key: &str) -> Result<Option<String>> {
    let root = parse(document)?;
    let mut item = root.as_item();
    for name in key.split('.') {
        match item.get(name) {
            Some(inner) => item = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(match item.as_str() {
        Some(text) => text.to_owned(),
        None => item.to_string().trim().to_owned(),
    }))
}

/// A document that is TOML, of at most 1 MiB. Its tree takes memory that is not refused:
/// as much is reserved before, and returned.
pub fn parse(document: &str) -> Result<DocumentMut> {
    if document.len() > MOST_BYTES {
        let message = format!("the metadata has {} bytes, more than are edited", document.len());
        return Err(Error::input(ErrorKind::OverLimit, message));
    }
    limit::reserved::<[u8; TREE_BYTES]>(document.len()).map(drop).map_err(in_metadata)?;
    document.parse().map_err(|error: toml_edit::TomlError| {
        let failure = Error::input(ErrorKind::BadToml, error.message());
        match error.span() {
            Some(span) => failure.at(format_args!("metadata byte {}", span.start)),
            None => failure,
        }
    })
}

fn in_metadata(error: CoreError) -> Error {
    let failure = Error::input(error.kind(), error.message());
    match error.offset() {
        Some(offset) => failure.at(format_args!("metadata byte {offset}")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_added_and_replaced_and_the_rest_stays() {
        let before = "# ours\na = 1\n[t]\nb = \"x\"\n";
        let entries = [("a", "2.5"), ("t.c", "some words"), ("u.v", "[1, 2]")];
        let entries = entries.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let after = edited(before, &entries).unwrap();
        assert_eq!(
            after,
            "# ours\na = 2.5\n[t]\nb = \"x\"\nc = \"some words\"\n\n[u]\nv = [1, 2]\n"
        );
        assert_eq!(value_of(&after, "t.c").unwrap().as_deref(), Some("some words"));
        assert_eq!(value_of(&after, "u.v").unwrap().as_deref(), Some("[1, 2]"));
        assert_eq!(value_of(&after, "u.w").unwrap(), None);
        let read = Json::Object(json(&after).unwrap()).to_string();
        assert_eq!(read, r#"{"a":2.5,"t":{"b":"x","c":"some words"},"u":{"v":"[1, 2]"}}"#);
        assert!(edited(before, &[("a.b".into(), "1".into())]).is_err());
        assert!(edited("a = ", &[]).is_err());
        assert_eq!(edited(before, &[]).unwrap(), before);
        let long = "#".repeat(MOST_BYTES + 1);
        assert_eq!(edited(&long, &[]).unwrap(), long);
        assert_eq!(edited(&long, &entries).unwrap_err().code(), ErrorKind::OverLimit.code());
    }
}
