//! WordPiece tokenizers as files describe them, and opening them.

use super::added::{Gathered, Kind, sorted_ids, spelled};
use super::added_source::Added;
use super::gguf::{Respelled, gguf_tokens};
use super::index::{WordPieceIndex, WordPieceTables};
use super::{BAD, TOO_SMALL};
use crate::describe::BertConfig;
use crate::describe::gguf::{Key, gguf_id};
use crate::error::{Error, ErrorKind, Result};
use crate::event;
use crate::event::SpecialRole;
use crate::format::amb::Amb;
use crate::format::embd::Embd;
use crate::format::embd::EmbdTokenEntries;
use crate::format::gguf::Gguf;
use crate::leaf;
use crate::source::amb::amb_spelling;
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::token::added_list::ADDED_TOKENS;
use crate::token::spec;
use crate::token::{
    AddedRules, Entries, HashVocabulary, LengthPrefix, Normalization, SpecialIds, WordPiece,
};

const MISSING: Error = Error::without_offset(ErrorKind::MissingVocabulary);

/// A WordPiece tokenizer as its file describes it.
#[derive(Clone, Copy, Debug)]
pub struct WordPieceSource<'a> {
    tokens: Tokens<'a>,
    /// Where the tokens lie in the file.
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
    /// Ids by role, in the order of [`SpecialRole::ALL`](crate::event::SpecialRole::ALL).
    special: [Option<u32>; 5],
    /// True if the file says the ids that no tokenizer is without.
    says_special: bool,
    added: Added<'a>,
    normalization: Normalization,
    /// All ids are below.
    vocabulary: usize,
}

#[derive(Clone, Copy, Debug)]
enum Tokens<'a> {
    /// One after the other after their lengths.
    AsSpelled(&'a [u8]),
    Gguf(Gguf<'a>),
}

impl<'a> WordPieceSource<'a> {
    /// The tokenizer of the encoder in a `.weights` file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without tokens.
    pub fn embd(file: &Embd<'a>, config: &BertConfig) -> Result<Self> {
        let entries = file.token_entries().ok_or(MISSING)?;
        let special = file.special();
        Ok(Self {
            tokens: Tokens::AsSpelled(entries.bytes),
            offset: entries.offset,
            count: entries.count,
            prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
            special: special
                .map_or([None; 5], |special| SpecialRole::ALL.map(|role| Some(special.id(role)))),
            says_special: special.is_some(),
            added: Added::Listed(file.metadata_value(ADDED_TOKENS).unwrap_or_default()),
            normalization: config.normalization(),
            vocabulary: config.vocabulary,
        })
    }

    /// The tokenizer of a `.weights` file that keeps a `tokenizer.json`, of which these are the
    /// added tokens and the ids of the unknown token and of those around texts; all ids are below
    /// `vocabulary`.
    pub(in crate::source) fn from_folder(
        entries: &EmbdTokenEntries<'a>,
        added: spec::AddedTokenSpecs<'a>,
        [unknown, first, last]: [u32; 3],
        normalization: Normalization,
        vocabulary: usize,
    ) -> Result<Self> {
        Ok(Self {
            tokens: Tokens::AsSpelled(entries.bytes),
            offset: entries.offset,
            count: entries.count,
            prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
            special: [None, Some(unknown), Some(first), Some(last), None],
            says_special: true,
            added: Added::Described(added, leaf::Families::built_in()?),
            normalization,
            vocabulary,
        })
    }

    /// The tokenizer of the encoder in an `.amb` file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without tokens; [`ErrorKind::DuplicateName`] and
    /// [`ErrorKind::BadMetadata`] for a list of added tokens that is there twice or is no text.
    pub fn amb(file: &Amb<'a>, config: &BertConfig) -> Result<Self> {
        let tokenizer = file.tokenizer().ok_or(MISSING)?;
        let entries = tokenizer.token_entries().ok_or(MISSING)?;
        Ok(Self {
            tokens: Tokens::AsSpelled(entries.bytes),
            offset: entries.offset,
            count: entries.count,
            prefix: LengthPrefix::U16,
            special: SpecialRole::ALL.map(|role| tokenizer.special(role)),
            says_special: true,
            added: Added::Listed(amb_spelling(file, ADDED_TOKENS)?.unwrap_or_default()),
            normalization: config.normalization(),
            vocabulary: config.vocabulary,
        })
    }

    /// The tokenizer of the encoder in a GGUF file, whose `tokenizer.ggml.model` is `bert`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without such a tokenizer.
    pub fn gguf(file: &Gguf<'a>, config: &BertConfig) -> Result<Self> {
        if file.value(Key::TokenizerModel.name()) != Some(event::Value::Text("bert")) {
            return Err(MISSING);
        }
        let id = |key| gguf_id(file, key);
        let classify = id(Key::ClassifyId).or(id(Key::BeginId));
        let separate = id(Key::SeparatorId).or(id(Key::EndId));
        let unknown = id(Key::UnknownId);
        let added = match file.value(Key::OwnAddedTokens.name()) {
            Some(event::Value::Text(text)) => text,
            _ => "",
        };
        Ok(Self {
            tokens: Tokens::Gguf(*file),
            offset: 0,
            // What GGUF counts fits the file, whose tokens are more than a byte each.
            count: u32::try_from(config.vocabulary).unwrap_or(u32::MAX),
            prefix: LengthPrefix::U16,
            special: [id(Key::PaddingId), unknown, classify, separate, id(Key::MaskId)],
            says_special: unknown.and(classify).and(separate).is_some(),
            added: Added::Listed(added),
            normalization: config.normalization(),
            vocabulary: config.vocabulary,
        })
    }

    /// Calls `take` with the tokens of a GGUF file, as WordPiece spells them.
    pub fn each_respelled(&self, take: &mut dyn FnMut(Respelled<'a>)) {
        if let Tokens::Gguf(gguf) = &self.tokens {
            gguf_tokens(gguf, self.special).for_each(take);
        }
    }

    /// The number of tokens that words are spelled with.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The memory that an index over it takes.
    #[must_use]
    pub fn needs(&self) -> TokenizerNeeds {
        let mut needs = TokenizerNeeds {
            text: self.respelled_bytes(),
            samples: Entries::samples_needed(self.count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(self.count),
            ..TokenizerNeeds::default()
        };
        let mut added_ids = 0_usize;
        let mut add = |normalized: bool, spelling: &mut dyn Iterator<Item = Result<char>>| {
            needs.added = needs.added.saturating_add(1);
            // What is damaged is for `open` to refuse.
            for character in spelling.map_while(Result::ok) {
                spelled(character, normalized.then_some(self.normalization), &mut |bytes| {
                    needs.text = needs.text.saturating_add(bytes.len());
                });
            }
        };
        let _ = self.added.each(&mut |token| {
            add(token.normalized, token.spelling);
            added_ids = added_ids.saturating_add(1);
            Ok(())
        });
        match &self.tokens {
            Tokens::AsSpelled(_) => {}
            Tokens::Gguf(gguf) => {
                for token in gguf_tokens(gguf, self.special) {
                    let Some(normalized) = token.normalized else { continue };
                    let spelling = core::str::from_utf8(token.rest).unwrap_or_default();
                    add(normalized, &mut spelling.chars().map(Ok));
                }
            }
        }
        TokenizerNeeds { added_ids, ..needs }
    }

    /// The bytes of all tokens after their lengths, where the file spells them otherwise.
    fn respelled_bytes(&self) -> usize {
        match &self.tokens {
            Tokens::AsSpelled(_) => 0,
            Tokens::Gguf(gguf) => gguf_tokens(gguf, self.special).fold(0, |sum, token| {
                let bytes = token.before.len().saturating_add(token.rest.len());
                usize::saturating_add(sum, bytes.saturating_add(2))
            }),
        }
    }

    /// Makes the index in lent memory for as long as the file lives.
    ///
    /// # Errors
    ///
    /// As [`index`](Self::index).
    pub fn open(
        &self,
        mut memory: TokenizerMemory<'a>,
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let index = self.index(&mut memory)?;
        let TokenizerMemory { text, samples, slots, added, .. } = memory;
        let tables = WordPieceTables { text, samples, slots, added };
        match &self.tokens {
            Tokens::AsSpelled(bytes) => index.over(bytes, tables),
            Tokens::Gguf(_) => index.over(tables.text, tables),
        }
    }

    /// Makes the index in lent memory; [`WordPieceIndex::resume`] takes it up.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if special or added tokens are not of the vocabulary, or are
    /// there twice; [`ErrorKind::BufferTooSmall`] if the memory is less than
    /// [`needs`](Self::needs) says.
    pub fn index(&self, memory: &mut TokenizerMemory<'_>) -> Result<WordPieceIndex> {
        let bad = Error::new(self.offset, ErrorKind::BadVocabulary);
        if self.count as usize > self.vocabulary {
            return Err(bad);
        }
        let TokenizerMemory { text, samples, slots, added, added_ids, .. } = memory;
        let token_bytes = self.respelled_bytes();
        let (tokens, spellings) = text.split_at_mut_checked(token_bytes).ok_or(TOO_SMALL)?;
        let mut gathered = Gathered::new(spellings, added);
        let listed = self.gather_listed(&mut gathered, added_ids)?;
        let (bytes, is_respelled) = match &self.tokens {
            Tokens::AsSpelled(bytes) => {
                let _ = (tokens, listed);
                (*bytes, false)
            }
            Tokens::Gguf(gguf) => (self.respell(gguf, tokens, listed, &mut gathered)?, true),
        };
        let entries = Entries::sample(bytes, self.offset, self.count, self.prefix, samples)?;
        let vocabulary = HashVocabulary::build(entries, slots)?;
        #[cfg(feature = "families")]
        self.added.check(&vocabulary, self.count)?;
        let special = self.special_ids(&vocabulary, bad)?;
        let hash = vocabulary.index();
        // Refuses special ids that are not tokens.
        let checked = WordPiece::new(vocabulary, special, self.normalization);
        checked.map_err(|error| match error.offset() {
            None | Some(0) => bad,
            Some(_) => error,
        })?;
        Ok(WordPieceIndex {
            offset: self.offset,
            count: self.count,
            prefix: self.prefix,
            is_respelled,
            token_bytes,
            hash,
            added: gathered.finish()?,
            finds_roles: self.added.finds_roles(),
            special,
            normalization: self.normalization,
        })
    }

    fn kind(&self, id: u32, rules: AddedRules, is_normalized: bool) -> Kind {
        let normalization = is_normalized.then_some(self.normalization);
        Kind { id, rules, is_normalized, normalization }
    }

    /// Gathers the tokens that the metadata lists, and returns their ids in order.
    fn gather_listed<'i>(
        &self,
        gathered: &mut Gathered<'_>,
        ids: &'i mut [u32],
    ) -> Result<&'i [u32]> {
        let mut count = 0_usize;
        self.added.each(&mut |token| {
            *ids.get_mut(count).ok_or(TOO_SMALL)? = token.id;
            count = count.saturating_add(1);
            gathered.push(self.kind(token.id, token.rules, token.normalized), token.spelling)
        })?;
        sorted_ids(ids.get_mut(..count).ok_or(TOO_SMALL)?, self.vocabulary)
    }

    /// Writes the tokens into `room` as WordPiece spells them: those that were added are not there
    /// for words, and leave an empty entry.
    fn respell<'r>(
        &self,
        gguf: &Gguf<'_>,
        room: &'r mut [u8],
        listed: &[u32],
        gathered: &mut Gathered<'_>,
    ) -> Result<&'r [u8]> {
        let mut used = 0_usize;
        let mut put = |bytes: &[u8]| {
            let end = used.saturating_add(bytes.len());
            let place = room.get_mut(used..end).ok_or(TOO_SMALL)?;
            place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            used = end;
            Ok::<(), Error>(())
        };
        for token in gguf_tokens(gguf, self.special) {
            let is_listed = listed.binary_search(&token.id).is_ok();
            let (mut before, mut rest) = (token.before, token.rest);
            if is_listed || token.normalized.is_some() {
                (before, rest) = (&[], &[]);
            }
            if let Some(is_normalized) = token.normalized.filter(|_| !is_listed) {
                let kind = self.kind(token.id, <_>::default(), is_normalized);
                let spelling = core::str::from_utf8(token.rest).map_err(|_| BAD)?;
                gathered.push(kind, &mut spelling.chars().map(Ok))?;
            }
            let length = before.len().saturating_add(rest.len());
            put(&u16::try_from(length).map_err(|_| BAD)?.to_le_bytes())?;
            put(before)?;
            put(rest)?;
        }
        Ok(room)
    }

    fn special_ids(
        &self,
        vocabulary: &HashVocabulary<'_, Entries<'_>>,
        bad: Error,
    ) -> Result<SpecialIds> {
        if !self.says_special {
            return SpecialIds::find(vocabulary);
        }
        let [pad, unknown, classify, separate, mask] = self.special;
        Ok(SpecialIds {
            pad: pad.filter(|id| *id < self.count),
            unknown: unknown.ok_or(bad)?,
            classify: classify.ok_or(bad)?,
            separate: separate.ok_or(bad)?,
            mask: mask.filter(|id| *id < self.count),
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::token::AddedToken;

    /// A vocabulary of five tokens and room for five added ones.
    fn source<'a>(entries: &'a [u8], added: &'a str) -> WordPieceSource<'a> {
        WordPieceSource {
            tokens: Tokens::AsSpelled(entries),
            offset: 0,
            count: 5,
            prefix: LengthPrefix::U16,
            special: [None; 5],
            says_special: false,
            added: Added::Listed(added),
            normalization: Normalization::UNCASED,
            vocabulary: 10,
        }
    }

    fn entries() -> Vec<u8> {
        let mut entries = Vec::new();
        for token in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ab"] {
            entries.extend(u16::try_from(token.len()).unwrap().to_le_bytes());
            entries.extend(token.bytes());
        }
        entries
    }

    /// The ids of a text, in exactly as much memory as is needed.
    fn encode(added: &str, text: &str) -> Result<Vec<u32>> {
        let entries = entries();
        let source = source(&entries, added);
        let needs = source.needs();
        let (mut text_memory, mut added) =
            (vec![0; needs.text], vec![AddedToken::default(); needs.added]);
        let (mut samples, mut slots) = (vec![0; needs.samples], vec![0; needs.slots]);
        let mut added_ids = vec![0; needs.added_ids];
        let tokenizer = source.open(TokenizerMemory {
            text: &mut text_memory,
            samples: &mut samples,
            slots: &mut slots,
            added: &mut added,
            added_ids: &mut added_ids,
            ..TokenizerMemory::default()
        })?;
        let mut ids = vec![0; text.len() + 2];
        let found = tokenizer.encode(text, &mut ids)?;
        ids.truncate(found.tokens);
        Ok(ids)
    }

    #[test]
    fn added_words_of_both_kinds_are_found() {
        assert_eq!(encode("", "AB xy").unwrap(), [2, 4, 1, 3]);
        let added = "7:n:X%59 8:-:AB";
        assert_eq!(encode(added, "ab xy").unwrap(), [2, 4, 7, 3]);
        assert_eq!(encode(added, "AB XY").unwrap(), [2, 8, 7, 3]);
    }

    #[test]
    fn added_words_that_are_there_twice_or_beyond_the_vocabulary_are_refused() {
        assert!(encode("1:n:a 2:n:b", "").is_ok());
        let damaged = ["1:n:a 1:n:b", "1:n:a 2:n:A", "10:n:a", "1:n:", "1:n", "1:n:%FF", "1:n:%4"];
        for added in damaged {
            let error = encode(added, "").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadVocabulary, "{added}");
        }
    }
}
