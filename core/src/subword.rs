//! The parameters of a word vocabulary: the number of words, and how n-grams spell words outside
//! the vocabulary.
//!
//! Source: finalfusion's subword vocabularies, themselves from fastText (Bojanowski et al. 2017,
//! "Enriching Word Vectors with Subword Information") and floret.

/// The longest [`Bracket`] in bytes. Writers use one or two.
pub const MAX_BRACKET_BYTES: usize = 32;

/// The string added before or after a word before its n-grams are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bracket {
    bytes: [u8; MAX_BRACKET_BYTES],
    length: u8,
}

impl Bracket {
    /// `<`, the default start of a word.
    pub const BEGIN: Self = Self::ascii(b'<');
    /// `>`, the default end of a word.
    pub const END: Self = Self::ascii(b'>');

    /// A bracket with this text; `None` if it is longer than [`MAX_BRACKET_BYTES`].
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; MAX_BRACKET_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, length: u8::try_from(text.len()).ok()? })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or(&[]);
        // Only `new` and `ascii` make brackets, both from text.
        core::str::from_utf8(bytes).unwrap_or("")
    }

    const fn ascii(letter: u8) -> Self {
        let mut bytes = [0; MAX_BRACKET_BYTES];
        bytes[0] = letter;
        Self { bytes, length: 1 }
    }
}

impl core::fmt::Debug for Bracket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// How rows are found for words outside the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subwords {
    /// Not at all.
    None,
    /// N-grams hashed by finalfusion's FNV-1a over code points into 2^`exponent` rows.
    Buckets {
        /// The logarithm of the number of buckets, at most 63.
        exponent: u32,
    },
    /// N-grams hashed as fastText does.
    FastText {
        /// The number of buckets, 1 to 2^31 − 1.
        buckets: u32,
    },
    /// N-grams listed in the file, each with the index of its row; several may share one.
    Explicit {
        /// The number of n-grams, at most 2^32 − 1.
        ngrams: u32,
    },
    /// N-grams and the whole word hashed by `MurmurHash3`, each to one to four rows.
    Floret {
        /// The number of buckets, at least 1.
        buckets: u64,
        /// Rows per n-gram, 1 to 4.
        hashes: u32,
        /// The seed of the hash.
        seed: u32,
    },
}

impl Subwords {
    /// The kind's name in machine-readable output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "simple",
            Self::Buckets { .. } => "bucket",
            Self::FastText { .. } => "fasttext",
            Self::Explicit { .. } => "explicit",
            Self::Floret { .. } => "floret",
        }
    }

    /// The number of subword rows, which follow those of the words; `None` if only the list of
    /// n-grams determines it.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        match *self {
            Self::None => Some(0),
            Self::Buckets { exponent } => 1_u64.checked_shl(exponent),
            Self::FastText { buckets } => Some(buckets.into()),
            Self::Explicit { .. } => None,
            Self::Floret { buckets, .. } => Some(buckets),
        }
    }
}

/// A vocabulary's parameters; its words follow, and their ids are their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordVocabulary {
    /// The number of words; 0 in floret's vocabularies, where every word is spelled by n-grams.
    pub words: u32,
    /// How other words are spelled.
    pub subwords: Subwords,
    /// The shortest n-gram in Unicode scalar values, at least 1; 0 without subwords.
    pub min_n: u32,
    /// The longest n-gram in Unicode scalar values, at least `min_n`; 0 without subwords.
    pub max_n: u32,
    /// The bracket before a word.
    pub begin: Bracket,
    /// The bracket after a word.
    pub end: Bracket,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_gives_back_its_text() {
        assert_eq!(Bracket::new("§$").unwrap().as_str(), "§$");
        assert_eq!(Bracket::BEGIN, Bracket::new("<").unwrap());
        assert_eq!(Bracket::new(""), Bracket::new(""));
        assert!(Bracket::new("123456789012345678901234567890123").is_none());
    }

    #[test]
    fn two_to_the_sixty_fourth_rows_are_more_than_any_file_has() {
        assert_eq!(Subwords::Buckets { exponent: 63 }.rows(), Some(1 << 63));
        assert_eq!(Subwords::Buckets { exponent: 64 }.rows(), None);
    }
}
