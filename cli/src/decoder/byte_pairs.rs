//! Byte-level BPE, from an `.amb` or a GGUF file.

use std::collections::HashMap;

use nanoembed_core::event::Value;
use nanoembed_core::format::amb::{self, Amb};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::amb_config_value;
use nanoembed_core::token::Vocabulary;
use nanoembed_core::token::bpe::{Added, Bpe, Merge, MergeTable, Pattern, Scratch};
use nanoembed_core::token::vocabulary::Match;
use nanoembed_core::{Error, ErrorKind};

/// Tokens, merges, and how texts are cut into words.
pub(crate) struct BytePairs {
    pub(super) tokens: Vec<Vec<u8>>,
    merges: Vec<(String, String)>,
    table: Vec<Merge>,
    slots: Vec<u32>,
    longest_probe: usize,
    pub(super) pattern: Pattern,
    ids: Ids,
}

/// The ids of tokens.
struct Ids(HashMap<Vec<u8>, u32>);

impl Vocabulary for Ids {
    fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn find(&self, token: &[u8]) -> Result<Option<u32>, Error> {
        Ok(self.0.get(token).copied())
    }

    fn longest_prefix(&self, text: &[u8], at_least: usize) -> Result<Option<Match>, Error> {
        let lengths = (at_least.max(1)..=text.len()).rev();
        let mut found = lengths.filter_map(|bytes| {
            let id = *self.0.get(text.get(..bytes)?)?;
            Some(Match { id, bytes })
        });
        Ok(found.next())
    }

    fn token(&self, _: u32, _: &mut [u8]) -> Result<usize, Error> {
        Err(Error::without_offset(ErrorKind::BadVocabulary))
    }
}

pub(super) const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

impl BytePairs {
    pub(super) fn new(
        tokens: Vec<Vec<u8>>,
        merges: Vec<(String, String)>,
        pattern: Pattern,
    ) -> Result<Self, Error> {
        let ids = Ids(tokens.iter().cloned().zip(0..).collect());
        let id = |token: &str| ids.0.get(token.as_bytes()).copied().ok_or(BAD);
        let merge = |(left, right): &(String, String)| {
            let merged = id(&format!("{left}{right}"))?;
            Ok(Merge { left: id(left)?, right: id(right)?, merged })
        };
        let table: Vec<Merge> = merges.iter().map(merge).collect::<Result<_, Error>>()?;
        let mut slots = vec![0; MergeTable::slots_needed(table.len())];
        let longest_probe = MergeTable::build(&table, &mut slots)?.longest_probe();
        Ok(Self { tokens, merges, table, slots, longest_probe, pattern, ids })
    }

    /// From a GGUF file.
    pub(super) fn of_gguf(file: &Gguf<'_>) -> Result<Self, Error> {
        let name = match file.value("tokenizer.ggml.pre") {
            Some(Value::Text(name)) => name,
            _ => "gpt-2",
        };
        let pattern = pattern(name)?;
        let tokens: Vec<Vec<u8>> = file.tokens().map(<[u8]>::to_vec).collect();
        let merges = file.elements("tokenizer.ggml.merges").ok_or(BAD)?;
        let pair = |value: Value<'_>| match value {
            Value::Text(pair) => {
                let (left, right) = pair.split_once(' ').ok_or(BAD)?;
                Ok((left.to_owned(), right.to_owned()))
            }
            _ => Err(BAD),
        };
        let merges = merges.map(pair).collect::<Result<_, Error>>()?;
        Self::new(tokens, merges, pattern)
    }

    /// From an `.amb` file, whose configuration has `pre_tokenizer`.
    pub(super) fn of_amb(file: &Amb<'_>, found: &amb::Tokenizer<'_>) -> Result<Self, Error> {
        let pattern = pattern(amb_config_value(file, "pre_tokenizer").unwrap_or("gpt-2"))?;
        let tokens = found.tokens().map(<[u8]>::to_vec).collect();
        let merges = found.merges().map(|(left, right)| (left.to_owned(), right.to_owned()));
        Self::new(tokens, merges.collect(), pattern)
    }

    /// Merges and tokens as a file that is written borrows them.
    pub(super) fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>) {
        let merges = self.merges.iter().map(|(left, right)| (left.as_str(), right.as_str()));
        (merges.collect(), self.tokens.iter().map(Vec::as_slice).collect())
    }

    /// The ids of `text`, in which the `added` tokens are found first.
    pub(super) fn encode(&self, text: &str, added: &[Added<'_>]) -> Result<Vec<u32>, Error> {
        let table = MergeTable::resume(&self.table, &self.slots, self.longest_probe);
        let bpe = Bpe::new(&self.ids, table, self.pattern, added)?;
        let mut ids = vec![0; text.len()];
        let mut symbols = vec![Default::default(); text.len()];
        let mut heap = vec![Default::default(); Scratch::heap_needed(text.len())];
        let found = bpe.encode(text, &mut ids, &mut Scratch::new(&mut symbols, &mut heap))?;
        ids.truncate(found.tokens);
        Ok(ids)
    }
}

fn pattern(name: &str) -> Result<Pattern, Error> {
    Pattern::of_name(name).ok_or(Error::without_offset(ErrorKind::UnsupportedVersion))
}
