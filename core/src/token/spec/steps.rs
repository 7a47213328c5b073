//! The steps of a tokenizer.

use super::{CharacterRun, JsonPlace, SpelledText};
use crate::error::{ErrorKind, Result};
use crate::text::json::Fault;
use crate::token::bpe;

/// The most steps of a kind. Where everything is to be small, so is the stack.
pub const MOST_STEPS: usize = if cfg!(feature = "small") { 4 } else { 16 };

/// Steps, one after the other.
pub type Steps<'a, S> = heapless::Vec<SpelledStep<'a, S>, MOST_STEPS>;

/// A step, and where it is spelled.
#[derive(Clone, Copy, Debug)]
pub struct SpelledStep<'a, S> {
    /// The step.
    pub does: S,
    /// Where it is spelled.
    pub place: JsonPlace<'a>,
}

impl<S> From<S> for SpelledStep<'_, S> {
    fn from(does: S) -> Self {
        Self { does, place: JsonPlace::NONE }
    }
}

impl<'a, S> SpelledStep<'a, S> {
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
    Prepend(SpelledText<'a>),
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
    Base64(SpelledText<'a>),
    /// As they are.
    Bytes(&'a [u8]),
}

/// A replacement.
pub type Replace<'a> = ReplaceOf<SpelledText<'a>>;

/// A replacement that is spelled in texts `T`.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceOf<T> {
    /// The pattern that is looked for.
    pub pattern: PatternOf<T>,
    /// Its replacement.
    pub content: T,
}

/// A pattern that is looked for in a text.
pub type Pattern<'a> = PatternOf<SpelledText<'a>>;

/// A pattern that is spelled in texts `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternOf<T> {
    /// A string, which is not empty.
    Text(T),
    /// A run of characters.
    Run(CharacterRun),
}

/// A step that cuts a text into pieces.
pub type PreTokenizer<'a> = PreTokenizerOf<SpelledText<'a>>;

/// A step that cuts a text into pieces, spelled in texts `T`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PreTokenizerOf<T> {
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
        /// The places.
        at: SplitAtOf<T>,
        /// Their use.
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

/// The places where a text is cut.
pub type SplitAt<'a> = SplitAtOf<SpelledText<'a>>;

/// The places where a text is cut, spelled in texts `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitAtOf<T> {
    /// Where this is found.
    Pattern(PatternOf<T>),
    /// At the words of an expression that every character is part of.
    Words(bpe::Pattern),
}

/// The use of the places where a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// It is left out.
    Removed,
    /// It is a piece of its own.
    Isolated,
    /// It ends the piece before it.
    MergedWithPrevious,
    /// It begins the next piece.
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
    /// The character that replaces a space.
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
pub type Decoder<'a> = DecoderOf<SpelledText<'a>>;

/// A step that makes text of tokens, spelled in texts `T`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum DecoderOf<T> {
    /// Spaces stand before tokens that do not begin with a prefix.
    WordPiece {
        /// The prefix, which is removed.
        prefix: T,
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
    Replace(ReplaceOf<T>),
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
        suffix: T,
    },
}

impl<T> PatternOf<T> {
    /// The same, spelled in other texts.
    ///
    /// # Errors
    ///
    /// The first error of `text`.
    pub fn try_map<U>(self, text: impl FnOnce(T) -> Result<U>) -> Result<PatternOf<U>> {
        Ok(match self {
            Self::Text(pattern) => PatternOf::Text(text(pattern)?),
            Self::Run(run) => PatternOf::Run(run),
        })
    }
}

impl<T> ReplaceOf<T> {
    /// As [`PatternOf::try_map`].
    ///
    /// # Errors
    ///
    /// As [`PatternOf::try_map`].
    pub fn try_map<U>(self, text: impl Fn(T) -> Result<U>) -> Result<ReplaceOf<U>> {
        Ok(ReplaceOf { pattern: self.pattern.try_map(&text)?, content: text(self.content)? })
    }
}

impl<T> PreTokenizerOf<T> {
    /// As [`PatternOf::try_map`].
    ///
    /// # Errors
    ///
    /// As [`PatternOf::try_map`].
    pub fn try_map<U>(self, text: impl FnOnce(T) -> Result<U>) -> Result<PreTokenizerOf<U>> {
        use PreTokenizerOf as To;
        Ok(match self {
            Self::Bert => To::Bert,
            Self::Whitespace => To::Whitespace,
            Self::WhitespaceSplit => To::WhitespaceSplit,
            Self::Metaspace(metaspace) => To::Metaspace(metaspace),
            Self::ByteLevel { adds_space, splits } => To::ByteLevel { adds_space, splits },
            Self::Split { at, behavior, inverted } => {
                let at = match at {
                    SplitAtOf::Pattern(pattern) => SplitAtOf::Pattern(pattern.try_map(text)?),
                    SplitAtOf::Words(words) => SplitAtOf::Words(words),
                };
                To::Split { at, behavior, inverted }
            }
            Self::Digits { alone } => To::Digits { alone },
            Self::Punctuation(behavior) => To::Punctuation(behavior),
            Self::Delimiter(delimiter) => To::Delimiter(delimiter),
        })
    }
}

impl<T> DecoderOf<T> {
    /// As [`PatternOf::try_map`].
    ///
    /// # Errors
    ///
    /// As [`PatternOf::try_map`].
    pub fn try_map<U>(self, text: impl Fn(T) -> Result<U>) -> Result<DecoderOf<U>> {
        use DecoderOf as To;
        Ok(match self {
            Self::WordPiece { prefix, cleans } => To::WordPiece { prefix: text(prefix)?, cleans },
            Self::Metaspace(metaspace) => To::Metaspace(metaspace),
            Self::ByteLevel => To::ByteLevel,
            Self::ByteFallback => To::ByteFallback,
            Self::Fuse => To::Fuse,
            Self::Replace(replace) => To::Replace(replace.try_map(text)?),
            Self::Strip { content, start, stop } => To::Strip { content, start, stop },
            Self::Bpe { suffix } => To::Bpe { suffix: text(suffix)? },
        })
    }
}
