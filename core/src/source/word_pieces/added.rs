//! Added tokens, gathered in lent memory.

use super::{BAD, TOO_SMALL};
use crate::error::Result;
use crate::text::character::utf8;
use crate::token::added_list::MAX_ADDED;
use crate::token::added_words::{AddedTokens, normalized};
use crate::token::heap_sort::sort;
use crate::token::{AddedIndex, AddedRules, AddedTable, AddedToken, Normalization};
use crate::token::{Vocabulary, spec};

/// An added token without its spelling.
#[derive(Clone, Copy, Debug)]
pub(in crate::source) struct Kind {
    pub(in crate::source) id: u32,
    pub(in crate::source) rules: AddedRules,
    /// True if the token is found in normalised texts.
    pub(in crate::source) is_normalized: bool,
    /// How its spelling is normalised, if it is not spelled as it is found.
    pub(in crate::source) normalization: Option<Normalization>,
}

/// Memory that fills with added tokens.
pub(in crate::source) struct Gathered<'m> {
    spellings: &'m mut [u8],
    /// Bytes of `spellings` that are used.
    used: usize,
    /// Tokens found in texts as they are from the front on, those found in normalised texts from
    /// the back on.
    tokens: &'m mut [AddedToken],
    written: usize,
    normalized: usize,
}

impl<'m> Gathered<'m> {
    pub(in crate::source) const fn new(
        spellings: &'m mut [u8],
        tokens: &'m mut [AddedToken],
    ) -> Self {
        Self { spellings, used: 0, tokens, written: 0, normalized: 0 }
    }

    /// Adds a token that is spelled so.
    pub(in crate::source) fn push(
        &mut self,
        kind: Kind,
        spelling: &mut dyn Iterator<Item = Result<char>>,
    ) -> Result<()> {
        let start = self.used;
        for character in spelling {
            self.write(character?, kind.normalization)?;
        }
        let bytes = self.used.saturating_sub(start);
        let token = AddedToken::new(start, bytes, kind.id, kind.rules).map_err(|_| BAD)?;
        let free = self.tokens.len().saturating_sub(self.written).saturating_sub(self.normalized);
        let last = free.checked_sub(1).ok_or(TOO_SMALL)?;
        let place = match kind.is_normalized {
            true => self.written.saturating_add(last),
            false => self.written,
        };
        *self.tokens.get_mut(place).ok_or(TOO_SMALL)? = token;
        let count = match kind.is_normalized {
            true => &mut self.normalized,
            false => &mut self.written,
        };
        *count = count.saturating_add(1);
        Ok(())
    }

    fn write(&mut self, character: char, normalization: Option<Normalization>) -> Result<()> {
        let mut outcome = Ok(());
        spelled(character, normalization, &mut |bytes| {
            let end = self.used.saturating_add(bytes.len());
            match self.spellings.get_mut(self.used..end) {
                Some(place) => place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
                None => outcome = Err(TOO_SMALL),
            }
            self.used = end;
        });
        outcome
    }

    /// Sorts the tokens; refused if one has no spelling or that of another of its kind.
    pub(in crate::source) fn finish(self) -> Result<AddedTables> {
        let Self { spellings, tokens, written, normalized, .. } = self;
        if written.saturating_add(normalized) > MAX_ADDED {
            return Err(BAD);
        }
        let (front, rest) = tokens.split_at_mut_checked(written).ok_or(BAD)?;
        let between = rest.len().saturating_sub(normalized);
        let back = rest.get_mut(between..).unwrap_or_default();
        let table = |tokens: &mut [AddedToken]| {
            let index = AddedIndex::build(spellings, tokens)?;
            if index.tokens() == tokens.len() { Ok(index) } else { Err(BAD) }
        };
        Ok(AddedTables { written: table(front)?, normalized: table(back)? })
    }
}

/// The tables without their memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::source) struct AddedTables {
    written: AddedIndex,
    normalized: AddedIndex,
}

impl AddedTables {
    /// Takes up again what [`Gathered::finish`] left in memory.
    pub(in crate::source) fn resume<'a>(
        &self,
        spellings: &'a [u8],
        tokens: &'a [AddedToken],
    ) -> AddedTokens<'a> {
        let back = tokens.len().saturating_sub(self.normalized.tokens());
        let back = tokens.get(back..).unwrap_or_default();
        AddedTokens {
            written: AddedTable::resume(spellings, tokens, self.written),
            normalized: AddedTable::resume(spellings, back, self.normalized),
        }
    }
}

/// Calls `take` with the bytes of what a character becomes. A copy for each caller would be two
/// kilobytes of code.
#[inline(never)]
pub(super) fn spelled(
    character: char,
    normalization: Option<Normalization>,
    take: &mut dyn FnMut(&[u8]),
) {
    let mut room = [0; 4];
    let text = utf8(character, &mut room);
    match normalization {
        None => take(text.as_bytes()),
        Some(normalization) => normalized(text, normalization, |character| {
            let mut room = [0; 4];
            take(utf8(character, &mut room).as_bytes());
        }),
    }
}

/// Sorts ids of added tokens; refused if one is there twice or not below `vocabulary`.
pub(in crate::source) fn sorted_ids(ids: &mut [u32], vocabulary: usize) -> Result<&[u32]> {
    sort(ids, |a, b| a < b);
    let ids: &[u32] = ids;
    let twice = ids.iter().zip(ids.iter().skip(1)).any(|(a, b)| a == b);
    let outside = ids.last().is_some_and(|last| *last as usize >= vocabulary);
    if twice || outside { Err(BAD) } else { Ok(ids) }
}

/// The longest added token that is compared with the vocabulary.
const MOST_BYTES: usize = 64;

/// Refuses a token of another id than `tokenizers` would give it: that of the vocabulary, or else
/// `next`, which is counted on then.
pub(in crate::source) fn check_id(
    token: &spec::AddedTokenSpec<'_>,
    vocabulary: &impl Vocabulary,
    next: &mut u32,
) -> Result<()> {
    let mut room = [0; MOST_BYTES];
    let text = token.content.unescape(&mut room).ok_or(BAD)?;
    let id = vocabulary.find(text.as_bytes())?.unwrap_or_else(|| {
        let id = *next;
        *next = id.saturating_add(1);
        id
    });
    if id == token.id { Ok(()) } else { Err(BAD) }
}
