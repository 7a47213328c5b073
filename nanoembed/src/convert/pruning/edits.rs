//! Values of a JSON text replaced, all else left as it is spelled.

use std::ops::Range;

use nanoembed_core::text::json::Value;

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
    pub(super) fn replace(&mut self, value: Value<'t>, spelling: String) {
        let start = usize::try_from(value.offset()).unwrap_or(usize::MAX);
        self.edits.push((start..start.saturating_add(value.spelling().len()), spelling));
    }

    /// The text with all of it.
    pub(super) fn finish(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        let (mut text, mut from) = (String::with_capacity(self.text.len()), 0);
        for (range, spelling) in self.edits {
            // A value that is replaced twice is replaced once.
            let Some(before) = self.text.get(from..range.start) else { continue };
            text.push_str(before);
            text.push_str(&spelling);
            from = range.end;
        }
        text.push_str(self.text.get(from..).unwrap_or_default());
        text
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
        edits.replace(value.member("b").unwrap().items().last().unwrap(), "7".into());
        edits.replace(value.member("a").unwrap(), "null".into());
        edits.replace(value.member("a").unwrap(), "null".into());
        assert_eq!(edits.finish(), r#"{ "a": null,  "b": [1, 7] }"#);
    }
}
