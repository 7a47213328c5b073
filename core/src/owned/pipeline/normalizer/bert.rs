//! BERT's normaliser.

use super::{Held, write_in};
use crate::owned::pipeline::text::Text;
use crate::owned::pipeline::unicode::{Form, Properties, is_control, is_ideograph};

/// The steps of BERT's normaliser.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Bert {
    /// Control characters are removed, and white space becomes a space.
    pub(super) cleans: bool,
    /// Spaces are put around ideographs.
    pub(super) sets_ideographs_apart: bool,
    /// Characters are decomposed, and non-spacing marks removed.
    pub(super) strips_accents: bool,
    pub(super) lowercases: bool,
}

impl Bert {
    pub(super) fn run(self, text: &Text, out: &mut Text, held: &mut Held) {
        if !self.strips_accents {
            return self.write(text, out);
        }
        let mut cleaned = Text::default();
        let before = Self { lowercases: false, ..self };
        before.write(text, &mut cleaned);
        let mut stripped = Text::default();
        let keep = |c| !Properties::of(c).is_non_spacing();
        write_in(Form::Nfd, &cleaned, &mut stripped, held, keep);
        let after = Self { cleans: false, sets_ideographs_apart: false, ..self };
        after.write(&stripped, out);
    }

    /// Takes all steps but the stripping of accents.
    fn write(self, text: &Text, out: &mut Text) {
        for (at, c) in text.string.char_indices() {
            self.write_character(c, out);
            out.comes_from(text, at);
        }
    }

    fn write_character(self, c: char, out: &mut Text) {
        let out = &mut out.string;
        if self.cleans && is_control(c) {
            return;
        }
        let c = if self.cleans && c.is_whitespace() { ' ' } else { c };
        match c {
            _ if self.sets_ideographs_apart && is_ideograph(c) => {
                out.push(' ');
                self.write_cased(c, out);
                out.push(' ');
            }
            _ => self.write_cased(c, out),
        }
    }

    fn write_cased(self, c: char, out: &mut alloc::string::String) {
        match (self.lowercases, c.is_ascii()) {
            (false, _) => out.push(c),
            (true, true) => out.push(c.to_ascii_lowercase()),
            (true, false) => out.extend(c.to_lowercase()),
        }
    }
}
