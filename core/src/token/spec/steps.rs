//! The steps of a tokenizer.

use super::{Place, Run, Spelling};
use crate::error::ErrorKind;
use crate::text::json::Fault;
use crate::token::bpe;

/// The most steps of a kind. Where everything is to be small, so is the stack.
pub const MOST_STEPS: usize = if cfg!(feature = "small") { 4 } else { 16 };

/// Steps, one after the other.
pub type Steps<'a, S> = heapless::Vec<Step<'a, S>, MOST_STEPS>;

/// A step, and where it is spelled.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a, S> {
    /// What it does.
    pub does: S,
    /// Where it is spelled.
    pub place: Place<'a>,
}

impl<S> From<S> for Step<'_, S> {
    fn from(does: S) -> Self {
        Self { does, place: Place::NONE }
    }
}

impl<'a, S> Step<'a, S> {
    /// The error that this step is not done, by its name; `only` says what is.
    #[must_use]
    pub fn unsupported(&self, only: &'static str) -> Fault<'a> {
        let mut fault = self.place.fault(&["type"], ErrorKind::UnsupportedSetting, only);
        let kind = self.place.value().and_then(|step| step.member("type"));
        fault.key = kind.and_then(|kind| kind.as_text()).unwrap_or("type");
        fault
    }
}

/// A step that makes another text of a text.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Normalizer<'a> {
    /// BERT's.
    Bert {
        /// Control characters are removed, and white space becomes a space.
        cleans_text: bool,
        /// Spaces are put around ideographs.
        splits_ideographs: bool,
        /// Accents are stripped; as `lowercases` if it is not said.
        strips_accents: Option<bool>,
        /// Letters become lower case.
        lowercases: bool,
    },
    /// One of Unicode's normalisation forms.
    Form(Form),
    /// Letters become lower case.
    Lowercase,
    /// Marks are removed.
    StripAccents,
    /// White space at the ends is removed.
    Strip {
        /// At the start.
        left: bool,
        /// At the end.
        right: bool,
    },
    /// Something is replaced.
    Replace(Replace<'a>),
    /// A text is put before others that are not empty.
    Prepend(Spelling<'a>),
    /// The compiled rules of a SentencePiece model.
    Precompiled(Rules<'a>),
    /// SentencePiece's rules `nmt`.
    Nmt,
    /// Bytes become GPT-2's characters.
    ByteLevel,
}

/// A normalisation form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Canonical decomposition, then composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility decomposition, then canonical composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

/// Compiled rules of SentencePiece.
#[derive(Clone, Copy, Debug)]
pub enum Rules<'a> {
    /// In base64.
    Base64(Spelling<'a>),
    /// As they are.
    Bytes(&'a [u8]),
}

/// What is replaced by what.
#[derive(Clone, Copy, Debug)]
pub struct Replace<'a> {
    /// What is looked for.
    pub pattern: Pattern<'a>,
    /// What it becomes.
    pub content: Spelling<'a>,
}

/// What is looked for in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern<'a> {
    /// A string, which is not empty.
    Text(Spelling<'a>),
    /// A run of characters.
    Run(Run),
}

/// A step that cuts a text into pieces.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PreTokenizer<'a> {
    /// At white space and punctuation, as BERT does.
    Bert,
    /// The matches of `\w+|[^\w\s]+`.
    Whitespace,
    /// At white space.
    WhitespaceSplit,
    /// Spaces become a mark, which begins pieces.
    Metaspace(Metaspace),
    /// Bytes become GPT-2's characters.
    ByteLevel {
        /// A space is put before texts that begin with none.
        adds_space: bool,
        /// Texts are cut into GPT-2's words.
        splits: bool,
    },
    /// At what is found.
    Split {
        /// What is looked for.
        at: SplitAt<'a>,
        /// What becomes of it.
        behavior: Behavior,
        /// Cuts at all but what is found.
        inverted: bool,
    },
    /// At digits.
    Digits {
        /// Each digit is a piece.
        alone: bool,
    },
    /// At punctuation.
    Punctuation(Behavior),
    /// At a character, which is removed.
    Delimiter(char),
}

/// Where a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitAt<'a> {
    /// Where this is found.
    Pattern(Pattern<'a>),
    /// At the words of an expression that every character is part of.
    Words(bpe::Pattern),
}

/// What becomes of what a text is cut at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// It is left out.
    Removed,
    /// It is a piece of its own.
    Isolated,
    /// It is the end of the piece before it.
    MergedWithPrevious,
    /// It is the beginning of the piece behind it.
    MergedWithNext,
    /// As many as are in a row are a piece.
    Contiguous,
}

impl Behavior {
    const NAMES: [(&'static str, Self); 5] = [
        ("Removed", Self::Removed),
        ("Isolated", Self::Isolated),
        ("MergedWithPrevious", Self::MergedWithPrevious),
        ("MergedWithNext", Self::MergedWithNext),
        ("Contiguous", Self::Contiguous),
    ];

    /// The behaviour of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, behavior)| *behavior)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(_, known)| *known == self);
        name.map_or("", |(name, _)| name)
    }
}

/// How spaces are written, and where one is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metaspace {
    /// What stands for a space.
    pub replacement: char,
    /// Which pieces get one in front.
    pub prepends: Prepends,
    /// Pieces begin with one.
    pub splits: bool,
}

/// Which pieces get a space in front, unless they begin with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepends {
    /// None.
    Never,
    /// That with which the text begins.
    First,
    /// All.
    Always,
}

impl Prepends {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::First => "first",
            Self::Always => "always",
        }
    }
}

/// A step that makes text of tokens.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Decoder<'a> {
    /// Spaces stand before tokens that do not begin with a prefix.
    WordPiece {
        /// The prefix, which is removed.
        prefix: Spelling<'a>,
        /// Spaces before punctuation are removed.
        cleans: bool,
    },
    /// Marks become spaces.
    Metaspace(Metaspace),
    /// GPT-2's characters become bytes.
    ByteLevel,
    /// Tokens of bytes become text.
    ByteFallback,
    /// Tokens become one.
    Fuse,
    /// Something is replaced.
    Replace(Replace<'a>),
    /// A character is removed at the ends.
    Strip {
        /// The character.
        content: char,
        /// The most of them at the start.
        start: u64,
        /// The most of them at the end.
        stop: u64,
    },
    /// A suffix becomes a space.
    Bpe {
        /// The suffix.
        suffix: Spelling<'a>,
    },
}
