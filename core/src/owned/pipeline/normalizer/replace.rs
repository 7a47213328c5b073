//! Patterns, and the normaliser `Replace`, which is a decoder, too. Searches are linear in the text.

use alloc::string::String;
use core::ops::Range;

use crate::error::Result;
use crate::owned::pipeline::text::Text;
use crate::token::spec::{PatternOf, ReplaceOf};

/// A pattern.
pub(super) type Pattern = PatternOf<String>;

/// A replacement.
pub(super) type Replace = ReplaceOf<String>;

impl Pattern {
    /// The first place in `text` from byte `from` on where it is found.
    pub(in crate::owned::pipeline) fn find(
        &self,
        text: &str,
        from: usize,
    ) -> Option<(usize, usize)> {
        match self {
            Self::Text(wanted) => {
                let start = from + text.get(from..)?.find(wanted.as_str())?;
                Some((start, start + wanted.len()))
            }
            Self::Run(run) => run.find(text, from),
        }
    }
}

impl Replace {
    pub(super) fn run(&self, text: &Text, out: &mut Text) -> Result<()> {
        let mut from = 0;
        while let Some((start, end)) = self.pattern.find(text.as_str(), from) {
            copy(text, from..start, out);
            out.push_str(&self.content);
            // Its replacement counts as the last character of what was found.
            let last = text.as_str()[start..end].chars().next_back().map_or(0, char::len_utf8);
            if !self.content.is_empty() {
                out.comes_from(text, end - last);
            }
            out.check()?;
            from = end;
        }
        copy(text, from..text.len(), out);
        Ok(())
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

fn copy(text: &Text, part: Range<usize>, out: &mut Text) {
    let start = out.len();
    if part.start < text.first {
        out.first = start + text.first.min(part.end) - part.start;
    }
    out.push_str(&text.as_str()[part]);
}
