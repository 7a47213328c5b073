//! A byte-level BPE tokenizer over a file: tokens stay where they lie, indices over them and over merges are kept.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "amb")]
use crate::event::SpecialRole;
#[cfg(feature = "gguf")]
use crate::event::Value;
#[cfg(feature = "amb")]
use crate::format::amb::{Amb, TokenizerKind};
#[cfg(feature = "gguf")]
use crate::format::gguf::Gguf;
#[cfg(feature = "amb")]
use crate::model::{amb_config_numbers, amb_config_value};
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::bpe::{Added, Bpe, Merge, MergeTable, Pattern, Scratch};
use crate::token::vocabulary::{Comparison, HashIndex, HashVocabulary, Tokens, Vocabulary};

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedVersion);

/// Tokens, merges and what a text begins and ends with.
#[derive(Clone, Debug)]
pub(super) struct BpeTokenizer {
    places: Vec<Range<usize>>,
    slots: Vec<u32>,
    hash: HashIndex,
    merges: Vec<Merge>,
    merge_slots: Vec<u32>,
    longest_probe: usize,
    pattern: Pattern,
    /// Ids of the tokens that are found in a text as they are.
    added: Vec<u32>,
    begin: Option<u32>,
    pub(super) end: Option<u32>,
    /// Whether every text begins with `begin`.
    adds_begin: bool,
}

/// The tokens of a file.
#[derive(Clone, Copy)]
struct Spelled<'a> {
    file: &'a [u8],
    places: &'a [Range<usize>],
}

impl<'a> Spelled<'a> {
    fn get(&self, id: u32) -> Result<&'a [u8]> {
        let place = self.places.get(id as usize).cloned().ok_or(BAD)?;
        self.file.get(place).ok_or(BAD)
    }
}

impl Tokens for Spelled<'_> {
    fn count(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison> {
        self.get(id).map(|token| Comparison::of(token, text))
    }

    fn equals(&self, id: u32, text: &[u8]) -> Result<bool> {
        self.get(id).map(|token| token == text)
    }

    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        let token = self.get(id)?;
        for (to, from) in out.iter_mut().zip(token) {
            *to = *from;
        }
        Ok(token.len())
    }
}

/// Where `part`, which is borrowed from `file`, lies in it.
fn place(file: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(file.as_ptr().addr());
    start..start.wrapping_add(part.len())
}

impl BpeTokenizer {
    fn new<'f>(
        file: &'f [u8],
        tokens: impl Iterator<Item = &'f [u8]>,
        merges: impl Iterator<Item = Result<(&'f str, &'f str)>>,
        pattern: Pattern,
    ) -> Result<Self> {
        let places: Vec<_> = tokens.map(|token| place(file, token)).collect();
        let spelled = Spelled { file, places: &places };
        let mut slots = vec![0; HashVocabulary::<Spelled<'_>>::slots_needed(spelled.count())];
        let vocabulary = HashVocabulary::build(spelled, &mut slots)?;
        let hash = vocabulary.index();
        let id = |token: &[u8]| vocabulary.find(token)?.ok_or(BAD);
        let mut both = Vec::new();
        let merges = merges.map(|pair| {
            let (left, right) = pair?;
            both.clear();
            both.extend(left.bytes().chain(right.bytes()));
            Ok(Merge {
                left: id(left.as_bytes())?,
                right: id(right.as_bytes())?,
                merged: id(&both)?,
            })
        });
        let merges: Vec<Merge> = merges.collect::<Result<_>>()?;
        let mut merge_slots = vec![0; MergeTable::slots_needed(merges.len())];
        let longest_probe = MergeTable::build(&merges, &mut merge_slots)?.longest_probe();
        Ok(Self {
            places,
            slots,
            hash,
            merges,
            merge_slots,
            longest_probe,
            pattern,
            added: Vec::new(),
            begin: None,
            end: None,
            adds_begin: false,
        })
    }

    /// The tokenizer of a GGUF file.
    #[cfg(feature = "gguf")]
    pub(super) fn of_gguf(bytes: &[u8], file: &Gguf<'_>) -> Result<Self> {
        let name = match file.value("tokenizer.ggml.pre") {
            Some(Value::Text(name)) => name,
            _ => Pattern::Gpt2.name(),
        };
        let is_bpe = file.value("tokenizer.ggml.model") == Some(Value::Text("gpt2"));
        let pattern = Pattern::of_name(name).filter(|_| is_bpe).ok_or(UNSUPPORTED)?;
        let merges = file.elements("tokenizer.ggml.merges").ok_or(BAD)?.map(|value| match value {
            Value::Text(pair) => pair.split_once(' ').ok_or(BAD),
            _ => Err(BAD),
        });
        let mut tokenizer = Self::new(bytes, file.tokens(), merges, pattern)?;
        let number = |value: Value<'_>| match value {
            Value::Unsigned(number) => u32::try_from(number).ok(),
            Value::Signed(number) => u32::try_from(number).ok(),
            _ => None,
        };
        // Control and user-defined tokens.
        let kinds = file.elements("tokenizer.ggml.token_type").into_iter().flatten();
        let added = (0..).zip(kinds).filter(|(_, kind)| matches!(number(*kind), Some(3 | 4)));
        tokenizer.added = added.map(|(id, _)| id).collect();
        let id = |key: &str| file.value(key).and_then(number);
        tokenizer.begin = id("tokenizer.ggml.bos_token_id");
        tokenizer.end = id("tokenizer.ggml.eos_token_id");
        tokenizer.adds_begin =
            file.value("tokenizer.ggml.add_bos_token") == Some(Value::Bool(true));
        Ok(tokenizer)
    }

    /// The tokenizer of an `.amb` file, whose configuration has `pre_tokenizer`, `added_tokens` and `add_bos`.
    #[cfg(feature = "amb")]
    pub(super) fn of_amb(bytes: &[u8], file: &Amb<'_>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let found = file.tokenizer().ok_or(missing)?;
        let name = amb_config_value(file, "pre_tokenizer").unwrap_or(Pattern::Gpt2.name());
        let is_bpe = found.kind() == TokenizerKind::Bpe;
        let pattern = Pattern::of_name(name).filter(|_| is_bpe).ok_or(UNSUPPORTED)?;
        let mut tokenizer = Self::new(bytes, found.tokens(), found.merges().map(Ok), pattern)?;
        let added = amb_config_numbers(file, "added_tokens");
        tokenizer.added = added.filter_map(|id| u32::try_from(id).ok()).collect();
        tokenizer.begin = found.special(SpecialRole::Classify);
        tokenizer.end = found.special(SpecialRole::Separate);
        tokenizer.adds_begin = amb_config_value(file, "add_bos") == Some("true");
        Ok(tokenizer)
    }

    /// How token `id` is spelled.
    pub(super) fn token<'f>(&'f self, file: &'f [u8], id: u32) -> Result<&'f [u8]> {
        Spelled { file, places: &self.places }.get(id)
    }

    /// The ids of `text`, behind the token that begins every text if there is one.
    pub(super) fn encode(&self, file: &[u8], text: &str) -> Result<Vec<u32>> {
        let tokens = Spelled { file, places: &self.places };
        let added = self.added.iter().filter_map(|&id| {
            let text = core::str::from_utf8(tokens.get(id).ok()?).ok()?;
            Some(Added { text, id })
        });
        let added: Vec<Added<'_>> = added.collect();
        let vocabulary = HashVocabulary::resume(tokens, &self.slots, self.hash);
        let merges = MergeTable::resume(&self.merges, &self.merge_slots, self.longest_probe);
        let bpe = Bpe::new(&vocabulary, merges, self.pattern, &added)?;
        let begin = self.begin.filter(|_| self.adds_begin);
        let mut ids: Vec<u32> = begin.into_iter().collect();
        let before = ids.len();
        ids.resize(before + text.len(), 0);
        let mut symbols = vec![Symbol::default(); text.len()];
        let mut heap = vec![Candidate::default(); Scratch::heap_needed(text.len())];
        let room = ids.get_mut(before..).unwrap_or_default();
        let found = bpe.encode(text, room, &mut Scratch::new(&mut symbols, &mut heap))?;
        ids.truncate(before + found.tokens);
        Ok(ids)
    }
}
