//! Texts and token ids, as requests have them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

/// A text, token ids, or several of either.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Texts.
    Texts(Vec<String>),
    /// Token ids of each text.
    Ids(Vec<Vec<u32>>),
}

/// An element of an array.
enum Element {
    Text(String),
    Id(u32),
    Ids(Vec<u32>),
}

impl Input {
    /// The number of texts.
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Ids(ids) => ids.len(),
        }
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, an array of texts, an array of token ids or an array of these")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Input, E> {
        Ok(Input::Texts(vec![text.into()]))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Input, E> {
        Ok(Input::Texts(vec![text]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Input, A::Error> {
        let mixed = || A::Error::custom("texts, token ids and arrays of ids cannot be mixed");
        match elements.next_element()? {
            None => Ok(Input::Texts(Vec::new())),
            Some(Element::Text(text)) => {
                let mut texts = vec![text];
                while let Some(element) = elements.next_element()? {
                    let Element::Text(text) = element else { return Err(mixed()) };
                    texts.push(text);
                }
                Ok(Input::Texts(texts))
            }
            Some(Element::Id(id)) => {
                let mut ids = vec![id];
                while let Some(element) = elements.next_element()? {
                    let Element::Id(id) = element else { return Err(mixed()) };
                    ids.push(id);
                }
                Ok(Input::Ids(vec![ids]))
            }
            Some(Element::Ids(ids)) => {
                let mut lists = vec![ids];
                while let Some(element) = elements.next_element()? {
                    let Element::Ids(ids) = element else { return Err(mixed()) };
                    lists.push(ids);
                }
                Ok(Input::Ids(lists))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a token id or an array of token ids")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Element, E> {
        Ok(Element::Text(text.into()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Element, E> {
        Ok(Element::Text(text))
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<Element, E> {
        let id = u32::try_from(id);
        id.map(Element::Id).map_err(|_| E::custom("a token id is larger than 32 bits"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Element, A::Error> {
        let mut ids = Vec::new();
        while let Some(id) = elements.next_element()? {
            ids.push(id);
        }
        Ok(Element::Ids(ids))
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Input, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_and_ids_are_read() {
        let texts = |texts: &[&str]| {
            Ok(Input::Texts(texts.iter().map(|text| (*text).to_owned()).collect()))
        };
        assert_eq!(read(r#""a\n""#), texts(&["a\n"]));
        assert_eq!(read(r#"["a", "b"]"#), texts(&["a", "b"]));
        assert_eq!(read("[]"), texts(&[]));
        assert_eq!(read("[1, 2]"), Ok(Input::Ids(vec![vec![1, 2]])));
        assert_eq!(read("[[1], []]"), Ok(Input::Ids(vec![vec![1], vec![]])));
    }

    #[test]
    fn all_else_is_refused() {
        for json in ["1", "null", "{}", "[1.5]", "[-1]", "[4294967296]", "[[[1]]]", "[null]"] {
            assert!(read(json).is_err(), "{json}");
        }
        for json in [r#"["a", 1]"#, r#"[1, "a"]"#, "[1, [1]]", r#"[[1], "a"]"#] {
            assert!(read(json).unwrap_err().contains("cannot be mixed"), "{json}");
        }
    }
}
