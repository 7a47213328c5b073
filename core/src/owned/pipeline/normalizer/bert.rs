//! BERT's normaliser, but for the stripping of accents and lower case, which are steps of their own
//! behind it.

use crate::owned::pipeline::text::Text;
use crate::owned::pipeline::unicode::{is_control, is_ideograph};

/// What is done to characters.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Bert {
    /// Control characters are removed, and white space becomes a space.
    pub(super) cleans: bool,
    /// Spaces are put around ideographs.
    pub(super) sets_ideographs_apart: bool,
}

impl Bert {
    pub(super) fn run(self, text: &Text, out: &mut Text) {
        let mut rest = text.string.as_str();
        while let Some(c) = rest.chars().next() {
            let at = text.string.len() - rest.len();
            let plain = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~')).count();
            if plain > 0 {
                if at < text.first {
                    out.first = out.string.len() + plain.min(text.first - at);
                }
                out.string.push_str(&rest[..plain]);
                rest = &rest[plain..];
                continue;
            }
            self.write(c, out);
            out.comes_from(text, at);
            rest = &rest[c.len_utf8()..];
        }
    }

    fn write(self, c: char, out: &mut Text) {
        let out = &mut out.string;
        if self.sets_ideographs_apart && is_ideograph(c) {
            out.extend([' ', c, ' ']);
        } else if !self.cleans {
            out.push(c);
        } else if !is_control(c) {
            out.push(if c.is_whitespace() { ' ' } else { c });
        }
    }
}
