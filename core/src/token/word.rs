//! A word under construction: normalised UTF-8 in a buffer for the longest word that is ever looked
//! up.

use super::characters::combining_class;
use crate::text::character::utf8;

/// Words with more characters than this become the unknown token, as in every BERT tokenizer.
pub const MAX_WORD_CHARACTERS: usize = 100;

/// Room before the word for the `##` that marks a continuation.
pub(super) const PREFIX_BYTES: usize = 2;

/// ASCII letters and digits as they stand in a word; 0 for every other byte.
pub(super) static LETTERS: [u8; 256] = letters(false);

/// The same in lower case.
pub(super) static LOWER_LETTERS: [u8; 256] = letters(true);

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // Evaluated by the compiler.
const fn letters(lower_case: bool) -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = if lower_case { byte.to_ascii_lowercase() } else { byte };
        }
        byte = byte.wrapping_add(1);
    }
    table
}

#[inline]
fn letter(table: &[u8; 256], byte: u8) -> u8 {
    table.get(usize::from(byte)).copied().unwrap_or(0)
}

const BUFFER_BYTES: usize = PREFIX_BYTES + 4 * MAX_WORD_CHARACTERS;

/// The first [`MAX_WORD_CHARACTERS`] characters of a word, and how many it has in all.
#[derive(Clone)]
pub(super) struct Word {
    buffer: [u8; BUFFER_BYTES],
    /// One past the last byte of the word in `buffer`.
    end: usize,
    characters: usize,
    /// Where the marks begin that may still change places with a mark that follows.
    marks: usize,
}

impl Word {
    pub(super) const fn new() -> Self {
        let start = PREFIX_BYTES;
        Self { buffer: [0; BUFFER_BYTES], end: start, characters: 0, marks: start }
    }

    pub(super) const fn clear(&mut self) {
        self.end = PREFIX_BYTES;
        self.characters = 0;
        self.marks = PREFIX_BYTES;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.characters == 0
    }

    /// The number of characters, including those that were not kept.
    pub(super) const fn characters(&self) -> usize {
        self.characters
    }

    /// The normalised bytes, as far as they were kept.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(PREFIX_BYTES..self.end).unwrap_or_default()
    }

    /// The bytes with room for a prefix before them.
    pub(super) fn with_room(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.end).unwrap_or_default()
    }

    /// Appends a character that is not moved and that no mark is moved across.
    #[inline]
    pub(super) fn push(&mut self, c: char) {
        self.append(c);
        self.marks = self.end;
    }

    /// Appends the ASCII letters and digits that `text` starts with, and returns how many they are.
    #[inline]
    pub(super) fn push_ascii(&mut self, text: &[u8], table: &[u8; 256]) -> usize {
        let room = MAX_WORD_CHARACTERS.saturating_sub(self.characters);
        let free = self.buffer.get_mut(self.end..).unwrap_or_default();
        let mut taken = 0_usize;
        for (place, &byte) in free.iter_mut().take(room).zip(text) {
            let letter = letter(table, byte);
            if letter == 0 {
                break;
            }
            *place = letter;
            taken = taken.saturating_add(1);
        }
        self.end = self.end.saturating_add(taken);
        self.marks = self.end;
        if taken == room {
            // The word is too long; how long is counted all the same.
            let beyond = text.iter().skip(room).take_while(|&&byte| letter(table, byte) != 0);
            taken = taken.saturating_add(beyond.count());
        }
        self.characters = self.characters.saturating_add(taken);
        taken
    }

    /// Forbids marks that follow to move before those that are there.
    pub(super) const fn set_barrier(&mut self) {
        self.marks = self.end;
    }

    /// Inserts a mark before the marks of higher combining class, after those of the same
    /// (canonical order).
    pub(super) fn push_mark(&mut self, mark: char) {
        let mut at = self.end;
        self.append(mark);
        if self.end == at {
            // The word is too long to be looked up: the order of its marks does not matter.
            return;
        }
        let class = combining_class(mark);
        while let Some(previous) = self.mark_before(at) {
            if combining_class(previous) <= class {
                break;
            }
            let length = previous.len_utf8();
            at = at.saturating_sub(length);
            self.swap(at, length, mark.len_utf8());
        }
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn append(&mut self, c: char) {
        if self.characters < MAX_WORD_CHARACTERS {
            let mut room = [0; 4];
            let bytes = utf8(c, &mut room).as_bytes();
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            for (to, from) in free.iter_mut().zip(bytes) {
                *to = *from;
            }
            self.end = self.end.saturating_add(bytes.len());
        }
        self.characters = self.characters.saturating_add(1);
    }

    /// The last of the marks that end at `at`.
    fn mark_before(&self, at: usize) -> Option<char> {
        core::str::from_utf8(self.buffer.get(self.marks..at)?).ok()?.chars().next_back()
    }

    /// Swaps two neighbours: `first` bytes at `at` and the `second` bytes after them.
    fn swap(&mut self, at: usize, first: usize, second: usize) {
        let both = at..at.saturating_add(first).saturating_add(second);
        if let Some(bytes) = self.buffer.get_mut(both) {
            bytes.reverse();
            if let Some((moved, passed)) = bytes.split_at_mut_checked(second) {
                moved.reverse();
                passed.reverse();
            }
        }
    }
}
