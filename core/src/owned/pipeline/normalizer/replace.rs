//! The normaliser `Replace`, which is a decoder, too.

use alloc::string::String;

use super::Pattern;
use crate::error::Result;
use crate::owned::pipeline::text::Text;

/// What is replaced by what.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct Replace {
    pub(super) pattern: Pattern,
    pub(super) content: String,
}

impl Replace {
    pub(super) fn run(&self, text: &Text, out: &mut Text) -> Result<()> {
        let mut from = 0;
        while let Some((start, end)) = self.pattern.find(text.as_str(), from) {
            self.copy(text, from..start, out);
            out.push_str(&self.content);
            // What it becomes counts as the last character of what was found.
            let last = text.as_str()[start..end].chars().next_back().map_or(0, char::len_utf8);
            if !self.content.is_empty() {
                out.comes_from(text, end - last);
            }
            out.check()?;
            from = end;
        }
        self.copy(text, from..text.len(), out);
        Ok(())
    }

    fn copy(&self, text: &Text, part: core::ops::Range<usize>, out: &mut Text) {
        let start = out.len();
        if part.start < text.first {
            out.first = start + text.first.min(part.end) - part.start;
        }
        out.push_str(&text.as_str()[part]);
    }

    /// The same for a decoder.
    pub(in crate::owned::pipeline) fn apply(&self, text: &str, out: &mut Text) {
        let mut from = 0;
        while let Some((start, end)) = self.pattern.find(text, from) {
            out.push_str(&text[from..start]);
            out.push_str(&self.content);
            from = end;
        }
        out.push_str(&text[from..]);
    }
}
