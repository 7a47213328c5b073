//! BERT's normaliser, but for the stripping of accents and lower case, which are steps of their own
//! after it.

use crate::owned::pipeline::text::Text;
use crate::token::is_control;

/// The normaliser.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Bert {
    /// Control characters are removed, and white space becomes a space.
    pub(super) cleans: bool,
    /// Spaces are put around ideographs.
    pub(super) sets_ideographs_apart: bool,
}

impl Bert {
    pub(super) fn run(self, text: &Text, out: &mut Text) {
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let at = text.len() - rest.len();
            let plain = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~')).count();
            if plain > 0 {
                if at < text.first {
                    out.first = out.len() + plain.min(text.first - at);
                }
                out.push_str(&rest[..plain]);
                rest = &rest[plain..];
                continue;
            }
            self.write(c, out);
            out.comes_from(text, at);
            rest = &rest[c.len_utf8()..];
        }
    }

    fn write(self, c: char, out: &mut Text) {
        if self.sets_ideographs_apart && is_ideograph(c) {
            [' ', c, ' '].into_iter().for_each(|c| out.push(c));
        } else if !self.cleans {
            out.push(c);
        } else if !is_control(c) {
            out.push(if c.is_whitespace() { ' ' } else { c });
        }
    }
}

/// Returns true for ideographs that BERT sets apart.
const fn is_ideograph(c: char) -> bool {
    matches!(c as u32,
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}
