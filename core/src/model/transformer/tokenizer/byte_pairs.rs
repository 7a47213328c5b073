//! Opening a byte-level BPE tokenizer, and its texts.

use super::added::AddedList;
use super::composed::each_part;
use super::memory::{
    FolderTokenizerMemory, FolderTokenizerNeeds, TokenizingMemory, TokenizingNeeds,
};
use super::vocabulary::{TokenizerParts, check_ids, check_longest, index};
use super::{BAD, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::model::folder::ends::Ends;
use crate::model::folder::pair_settings::PairSettings;
use crate::model::source::byte_pairs::joined;
use crate::model::source::word_pieces::in_json::TokenInJson;
use crate::text::json::{Fault, Read};
use crate::token::added_parts::Part;
use crate::token::added_words::AddedTokens;
use crate::token::bpe::{Bpe, Merge, MergeTable, Scratch, alphabet};
use crate::token::unicode::Form;
use crate::token::vocabulary::MAX_TOKEN_BYTES;
use crate::token::{AddedRules, AddedTable, Entries, HashVocabulary, Vocabulary as _};

/// Bytes of a word that are merged at least.
const WORD: usize = 128;

/// Bytes of a text without spaces that can be composed at least.
const COMPOSED: usize = 1024;

/// What a file says of its byte-level BPE tokenizer.
#[derive(Clone, Debug)]
pub struct PairSource<'a> {
    parts: TokenizerParts<'a, PairSettings<'a>>,
    pairs: &'a [[u8; 8]],
    added: AddedList<'a>,
}

impl<'a> PairSource<'a> {
    pub(super) fn new(parts: TokenizerParts<'a, PairSettings<'a>>) -> Read<'a, Self> {
        let TokenizerParts { settings, entries, beside: merges, longest, .. } = &parts;
        check_longest(entries, *longest)?;
        let (pairs, rest) = merges.as_chunks();
        if !rest.is_empty() || pairs.len() as u64 != settings.merges {
            let error = Error::new(entries.offset, ErrorKind::BadVocabulary);
            return Err(Fault { error, key: "merges", only: "" });
        }
        let composes = settings.composes;
        let added = AddedList::read(settings.added, |token| is_kept(token, composes))?;
        Ok(Self { pairs, added, parts })
    }

    pub(super) fn needs(&self) -> FolderTokenizerNeeds {
        let count = self.parts.entries.count;
        let mut needs = FolderTokenizerNeeds {
            samples: Entries::samples_needed(count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(count),
            merges: self.pairs.len(),
            merge_slots: MergeTable::slots_needed(self.pairs.len()),
            ..FolderTokenizerNeeds::default()
        };
        self.added.add_needs(&mut needs);
        needs
    }

    /// What tokenising takes: words of up to four bytes for each token.
    pub(super) fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        let bytes = tokens.saturating_mul(4).max(WORD);
        let text = if self.parts.settings.composes { bytes.max(COMPOSED) } else { 0 };
        TokenizingNeeds::words(bytes, text)
    }

    pub(super) fn open(&self, memory: FolderTokenizerMemory<'a>) -> Result<PairTokenizer<'a>> {
        let FolderTokenizerMemory { text, samples, slots, .. } = memory;
        let FolderTokenizerMemory { merges, merge_slots, added, added_ids, .. } = memory;
        let TokenizerParts { settings, entries, vocabulary: most, .. } = &self.parts;
        check_ids(entries, settings.ends, *most)?;
        let tokens = index(entries, samples, slots)?;
        let tables = self.added.index(&tokens, *most, (&mut *text, &mut *added, added_ids))?;
        let merges = merges.get_mut(..self.pairs.len()).ok_or(TOO_SMALL)?;
        for (place, pair) in merges.iter_mut().zip(self.pairs) {
            *place = merge(&tokens, *pair)?;
        }
        let table = MergeTable::build(merges, merge_slots)?;
        let ranks = (0..).zip(merges.iter());
        let mut ranks = ranks.map(|(rank, it)| Some(rank) == rank_of(&table, it));
        // Of a pair that is there twice `tokenizers` takes the last one.
        if !ranks.all(|is_own| is_own) {
            return Err(BAD);
        }
        // Otherwise something would be unknown.
        let mut room = [0; 4];
        for byte in 0..=u8::MAX {
            let spelled = alphabet::character(byte).encode_utf8(&mut room);
            tokens.find(spelled.as_bytes())?.ok_or(BAD)?;
        }
        Ok(PairTokenizer {
            bpe: Bpe::new(&tokens, table, settings.pattern, AddedTable::EMPTY)?,
            whole: settings.ignores_merges.then_some(tokens),
            added: tables.resume(text, added),
            composes: settings.composes,
            ends: settings.ends,
        })
    }
}

/// Whether a token that is looked for in composed texts is spelled so that it is found, and so that
/// none is cut where [`each_part`] cuts.
fn is_kept(token: &TokenInJson<'_>, composes: bool) -> bool {
    let mut before = ' ';
    let mut is_cut = false;
    for c in token.spelling().flatten() {
        is_cut |= c == ' ' && !before.is_whitespace();
        before = c;
    }
    let has_rules = token.rules != AddedRules::default();
    let mut room = [0; 4];
    let is_composed = token.spelling().flatten().all(|c| Form::Nfc.has(c.encode_utf8(&mut room)));
    !composes || !is_cut && !has_rules && is_composed
}

/// What a pair of ids becomes.
fn merge(tokens: &HashVocabulary<'_, Entries<'_>>, pair: [u8; 8]) -> Result<Merge> {
    let [a, b, c, d, e, f, g, h] = pair;
    let (left, right) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let (mut first, mut second) = ([0; MAX_TOKEN_BYTES], [0; MAX_TOKEN_BYTES]);
    let spelled = |id: u32, room: &mut [u8]| tokens.token(id, room).map_err(|_| BAD);
    let (first_bytes, second_bytes) = (spelled(left, &mut first)?, spelled(right, &mut second)?);
    let first = first.get(..first_bytes).ok_or(BAD)?;
    let second = second.get(..second_bytes).ok_or(BAD)?;
    let mut room = [0; MAX_TOKEN_BYTES];
    let whole = joined(first, second, &mut room).ok_or(BAD)?;
    let merged = tokens.find(whole)?.ok_or(BAD)?;
    Ok(Merge { left, right, merged })
}

fn rank_of(table: &MergeTable<'_>, merge: &Merge) -> Option<u32> {
    table.find(merge.left, merge.right).map(|(rank, _)| rank)
}

/// A byte-level BPE tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct PairTokenizer<'a> {
    bpe: Bpe<'a>,
    /// The tokens that words are as a whole.
    whole: Option<HashVocabulary<'a, Entries<'a>>>,
    added: AddedTokens<'a>,
    composes: bool,
    ends: Ends,
}

impl PairTokenizer<'_> {
    pub(super) const fn ends(&self) -> Ends {
        self.ends
    }

    /// Calls `give` with the ids of `texts`, one behind the other.
    pub(super) fn each(
        &self,
        texts: &[&str],
        memory: TokenizingMemory<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()> {
        let TokenizingMemory { text: window, symbols, heap, .. } = memory;
        let mut scratch = Scratch::new(symbols, heap);
        for text in texts {
            let take = &mut |part| {
                match part {
                    Part::Added(id) => give(id),
                    Part::Plain(place) => {
                        let part = text.get(place).unwrap_or_default();
                        self.part(part, window, &mut scratch, give)?;
                    }
                }
                Ok(true)
            };
            self.added.written.cut(text, |_| false, take)?;
        }
        Ok(())
    }

    /// The ids of a part in which no added tokens are found as they are.
    fn part(
        &self,
        part: &str,
        window: &mut [u8],
        scratch: &mut Scratch<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()> {
        if !self.composes || Form::Nfc.has(part) {
            return self.composed(part, scratch, give);
        }
        each_part(part, window, &mut |part| self.composed(part, scratch, give))
    }

    fn composed(
        &self,
        text: &str,
        scratch: &mut Scratch<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()> {
        let take = &mut |part| {
            match part {
                Part::Added(id) => give(id),
                Part::Plain(place) => {
                    let words = text.get(place).unwrap_or_default();
                    self.bpe.each(self.whole.as_ref(), words, scratch, give).map_err(too_long)?;
                }
            }
            Ok(true)
        };
        self.added.normalized.cut(text, |_| false, take).map(|_| ())
    }
}

/// A word that does not fit is no fault of who lends memory.
fn too_long(error: Error) -> Error {
    match error.kind() {
        ErrorKind::BufferTooSmall => Error::without_offset(ErrorKind::OverLimit),
        _ => error,
    }
}
