//! Tokens added to a WordPiece vocabulary: found in a text before it is cut into words, or in what normalisation makes
//! of it, as Hugging Face `tokenizers` does.
//!
//! | kind | found in | before or after |
//! |---|---|---|
//! | as written | the text as it is, with the special tokens, the leftmost first and of those the longest | first |
//! | normalised | the normalised text between those | second |
//!
//! Spellings lie sorted in lent memory. A search narrows the range of those that begin with what was read, byte by byte, so
//! its steps do not grow with the number of tokens.

use super::normalize::{Mapped, Normalization};

/// The longest added token, in bytes.
pub const MAX_ADDED_BYTES: usize = 1024;

/// Where an added token's spelling lies, and what is known of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedEntry {
    /// Where the spelling begins in the memory of all spellings.
    pub start: u32,
    /// Its length.
    pub bytes: u32,
    /// The token.
    pub id: u32,
    /// Whether letters and digits beside it forbid it.
    pub single_word: bool,
}

/// Added tokens of one kind, in the order of their spellings.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddedTable<'a> {
    /// All spellings.
    pub spellings: &'a [u8],
    /// The tokens.
    pub entries: &'a [AddedEntry],
}

/// The added tokens of a vocabulary. The spellings of the normalised ones are what [`normalized`] makes of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddedTokens<'a> {
    /// Found in the text as it is.
    pub written: AddedTable<'a>,
    /// Found in the normalised text.
    pub normalized: AddedTable<'a>,
}

impl AddedTokens<'_> {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.written.entries.is_empty() && self.normalized.entries.is_empty()
    }
}

impl<'a> AddedTable<'a> {
    /// The spelling of an entry.
    #[must_use]
    pub fn spelling(&self, entry: &AddedEntry) -> &'a [u8] {
        let start = entry.start as usize;
        let end = start.saturating_add(entry.bytes as usize);
        self.spellings.get(start..end).unwrap_or_default()
    }

    /// The longest token that `text` starts with.
    pub(super) fn longest(&self, text: &[u8]) -> Option<&'a AddedEntry> {
        let mut search = Search::new(*self);
        let mut longest = None;
        for byte in text {
            if !search.step(*byte) {
                break;
            }
            longest = search.complete().or(longest);
        }
        longest
    }
}

/// The tokens that begin with the bytes seen so far.
pub(super) struct Search<'a> {
    table: AddedTable<'a>,
    depth: usize,
}

impl<'a> Search<'a> {
    pub(super) const fn new(table: AddedTable<'a>) -> Self {
        Self { table, depth: 0 }
    }

    /// Goes on with `byte`; answers whether any token is left.
    pub(super) fn step(&mut self, byte: u8) -> bool {
        let table = self.table;
        let next = |entry: &AddedEntry| table.spelling(entry).get(self.depth).copied();
        let entries = table.entries;
        let from = entries.partition_point(|entry| next(entry) < Some(byte));
        let entries = entries.get(from..).unwrap_or_default();
        let to = entries.partition_point(|entry| next(entry) <= Some(byte));
        self.table.entries = entries.get(..to).unwrap_or_default();
        self.depth = self.depth.saturating_add(1);
        !self.table.entries.is_empty()
    }

    /// The token that is just what was seen.
    pub(super) fn complete(&self) -> Option<&'a AddedEntry> {
        self.table.entries.first().filter(|entry| entry.bytes as usize == self.depth)
    }
}

/// Calls `take` with the characters that `c` becomes.
pub(super) fn characters(c: char, normalization: Normalization, mut take: impl FnMut(char)) {
    match normalization.map(c) {
        Mapped::Nothing | Mapped::Barrier => {}
        Mapped::Space => take(' '),
        Mapped::Letter(c) | Mapped::Mark(c) | Mapped::Alone(c) => take(c),
        Mapped::Several(parts) => {
            for part in parts.into_iter().filter(|&part| part != '\0') {
                if let Mapped::Letter(c) | Mapped::Mark(c) | Mapped::Alone(c) =
                    normalization.part(part)
                {
                    take(c);
                }
            }
        }
    }
}

/// Calls `take` with the characters of a spelling as normalisation leaves them.
pub fn normalized(spelling: &str, normalization: Normalization, mut take: impl FnMut(char)) {
    spelling.chars().for_each(|c| characters(c, normalization, &mut take));
}

/// Whether `c` is part of a word in the sense of `\w`: a letter, mark, decimal digit, connector or joiner.
pub(super) fn is_word(c: char) -> bool {
    const CONNECTORS: [char; 12] = [
        '_', '\u{200C}', '\u{200D}', '\u{203F}', '\u{2040}', '\u{2054}', '\u{FE33}', '\u{FE34}',
        '\u{FE4D}', '\u{FE4E}', '\u{FE4F}', '\u{FF3F}',
    ];
    // Numbers that are no decimal digits: superscripts, fractions, numbers in circles.
    let is_other_number = matches!(c,
        '\u{B2}' | '\u{B3}' | '\u{B9}' | '\u{BC}'..='\u{BE}' | '\u{2070}'..='\u{2089}'
        | '\u{2150}'..='\u{215F}' | '\u{2460}'..='\u{249B}' | '\u{24EA}'..='\u{24FF}'
        | '\u{2776}'..='\u{2793}');
    (c.is_alphanumeric() && !is_other_number)
        || CONNECTORS.contains(&c)
        || super::characters::is_mark(c)
}
