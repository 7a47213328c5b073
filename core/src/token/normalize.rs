//! BERT's text normalisation, character by character.
//!
//! The order is that of Hugging Face's `BertNormalizer`: control characters are removed and white
//! space becomes a space; CJK ideographs are set apart; accents are stripped (canonical
//! decomposition, NFD, then non-spacing marks are dropped); letters become lower case.
//! `BertPreTokenizer` then splits at white space and makes each punctuation character a word. Every
//! step works on single characters, so they are one step here; only the canonical order of marks
//! looks further, and the word under construction keeps it.

use super::characters::{self, Class};
use super::without_marks;

/// Which steps of BERT's normalisation are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalization {
    /// Letters become lower case, each for itself: a final sigma is not special.
    pub lower_case: bool,
    /// Characters are decomposed and non-spacing marks dropped.
    pub strip_accents: bool,
    /// Each CJK ideograph is a word of its own.
    pub split_ideographs: bool,
}

impl Normalization {
    /// As `bert-base-uncased` and all-MiniLM do.
    pub const UNCASED: Self = Self::new(true, None);

    /// As `bert-base-cased` does.
    pub const CASED: Self = Self::new(false, None);

    /// The steps for a model's `do_lower_case` and `strip_accents`, where the latter follows the
    /// former if not given.
    #[must_use]
    pub const fn new(lower_case: bool, strip_accents: Option<bool>) -> Self {
        let strip_accents = match strip_accents {
            Some(strip_accents) => strip_accents,
            None => lower_case,
        };
        Self { lower_case, strip_accents, split_ideographs: true }
    }
}

/// The result for a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    /// It is removed.
    Nothing,
    /// It is removed, but marks after it are not moved before it.
    Barrier,
    /// It ends a word.
    Space,
    /// One character of a word.
    Letter(char),
    /// A mark that stays in the word and moves before marks of higher combining class.
    Mark(char),
    /// A word of its own.
    Alone(char),
    /// Two or three characters of a word; `'\0'` is none. Some may be marks that move.
    Several([char; 3]),
}

impl Normalization {
    /// Returns true if `c` is an ideograph that becomes a separate word.
    pub(super) fn isolates(self, c: char) -> bool {
        let is_ideograph =
            || matches!(Class::from_char(c), Class::Ideograph | Class::IdeographDecomposed);
        self.split_ideographs && is_ideograph()
    }

    /// The result for `c`.
    pub(super) fn map(self, c: char) -> Mapped {
        match Class::from_char(c) {
            Class::Letter => Mapped::Letter(c),
            Class::Removed => Mapped::Nothing,
            Class::Space => Mapped::Space,
            Class::Punctuation => Mapped::Alone(c),
            Class::Upper => Mapped::Letter(self.lower(c)),
            Class::Ideograph => self.ideograph(c),
            Class::Mark if self.strip_accents => Mapped::Nothing,
            Class::MarkStarter if self.strip_accents => Mapped::Barrier,
            Class::Reordered if self.strip_accents => Mapped::Mark(c),
            Class::PunctuationDecomposed if self.strip_accents => Mapped::Alone(first(c)),
            Class::IdeographDecomposed if self.strip_accents => self.ideograph(first(c)),
            Class::Decomposed | Class::UpperDecomposed if self.strip_accents => self.decompose(c),
            Class::UpperDecomposed if self.lower_case && c == '\u{130}' => {
                Mapped::Several(['i', '\u{307}', '\0'])
            }
            Class::UpperDecomposed => Mapped::Letter(self.lower(c)),
            Class::PunctuationDecomposed => Mapped::Alone(c),
            Class::IdeographDecomposed => self.ideograph(c),
            Class::Mark | Class::MarkStarter | Class::Reordered | Class::Decomposed => {
                Mapped::Letter(c)
            }
        }
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn lower(self, upper: char) -> char {
        if self.lower_case { characters::lower(upper) } else { upper }
    }

    const fn ideograph(self, c: char) -> Mapped {
        if self.split_ideographs { Mapped::Alone(c) } else { Mapped::Letter(c) }
    }

    fn decompose(self, c: char) -> Mapped {
        let parts = without_marks(c);
        match parts {
            [single, '\0', _] => self.part(single),
            _ => Mapped::Several(parts),
        }
    }

    /// The result for a character of a decomposition.
    pub(super) fn part(self, c: char) -> Mapped {
        match Class::from_char(c) {
            Class::Upper => Mapped::Letter(self.lower(c)),
            // U+226E, a crossed-out "<", is no punctuation, but its "<" is.
            Class::Punctuation => Mapped::Alone(c),
            Class::Reordered if self.strip_accents => Mapped::Mark(c),
            _ => Mapped::Letter(c),
        }
    }
}

/// The only character of a decomposition that has no more.
fn first(c: char) -> char {
    let [first, ..] = without_marks(c);
    first
}
