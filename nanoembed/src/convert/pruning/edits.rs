//! Values of a JSON text replaced, all else left as it is spelled.

use std::ops::Range;

use nanoembed_core::text::json::Value;
use nanoembed_core::{Error, limit};

/// A text and what shall stand in it instead.
pub(super) struct Edits<'t> {
    text: &'t str,
    edits: Vec<(Range<usize>, String)>,
}

impl<'t> Edits<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, edits: Vec::new() }
    }

    /// Puts `spelling` in the place of `value`, which is one of the text's.
    pub(super) fn replace(&mut self, value: Value<'t>, spelling: String) -> Result<(), Error> {
        let start = usize::try_from(value.offset()).unwrap_or(usize::MAX);
        let range = start..start.saturating_add(value.spelling().len());
        limit::push(&mut self.edits, (range, spelling))
    }

    /// The text with all of it. A value that is replaced twice, by the same, is replaced once.
    pub(super) fn finish(mut self) -> Result<String, Error> {
        self.edits.sort_unstable_by_key(|(range, _)| range.start);
        let (mut text, mut from) = (String::new(), 0);
        for (range, spelling) in self.edits {
            let Some(before) = self.text.get(from..range.start) else { continue };
            limit::write(&mut text, before)?;
            limit::write(&mut text, &spelling)?;
            from = range.end;
        }
        limit::write(&mut text, self.text.get(from..).unwrap_or_default())?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_replaced_changes() {
        let text = r#"{ "a": 1.50,  "b": [1, 2e0] }"#;
        let value = Value::parse(text, 0).unwrap();
        let mut edits = Edits::new(text);
        edits.replace(value.member("b").unwrap().items().last().unwrap(), "7".into()).unwrap();
        edits.replace(value.member("a").unwrap(), "null".into()).unwrap();
        edits.replace(value.member("a").unwrap(), "null".into()).unwrap();
        assert_eq!(edits.finish().unwrap(), r#"{ "a": null,  "b": [1, 7] }"#);
    }
}
