//! A byte-level BPE tokenizer, from an `.amb` or a GGUF file.

use std::collections::HashMap;

use nanoembed_core::event::{SpecialRole, Value};
use nanoembed_core::format::amb::{self, Amb, Payload, TokenizerKind, TokenizerSpec};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::amb_config_value;
use nanoembed_core::text::json::Kind;
use nanoembed_core::token::Vocabulary;
use nanoembed_core::token::bpe::{Added, Bpe, Merge, MergeTable, Pattern, Scratch};
use nanoembed_core::token::vocabulary::Match;
use nanoembed_core::{Error, ErrorKind};

/// Tokens, merges and what a text begins with.
pub(crate) struct Tokenizer {
    pub(crate) tokens: Vec<Vec<u8>>,
    merges: Vec<(String, String)>,
    table: Vec<Merge>,
    slots: Vec<u32>,
    longest_probe: usize,
    pub(crate) pattern: Pattern,
    /// Ids of the tokens that are found in a text as they are.
    pub(crate) added: Vec<u32>,
    pub(crate) begin: Option<u32>,
    pub(crate) end: Option<u32>,
    /// Whether every text begins with `begin`.
    pub(crate) adds_begin: bool,
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

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

impl Tokenizer {
    fn new(
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
        Ok(Self {
            tokens,
            merges,
            table,
            slots,
            longest_probe,
            pattern,
            added: Vec::new(),
            begin: None,
            end: None,
            adds_begin: false,
            ids,
        })
    }

    /// From a GGUF file.
    pub(crate) fn of_gguf(file: &Gguf<'_>) -> Result<Self, Error> {
        let unsupported = Error::without_offset(ErrorKind::UnsupportedVersion);
        let name = match file.value("tokenizer.ggml.pre") {
            Some(Value::Text(name)) => name,
            _ => "gpt-2",
        };
        let is_bpe = file.value("tokenizer.ggml.model") == Some(Value::Text("gpt2"));
        let pattern = Pattern::of_name(name).filter(|_| is_bpe).ok_or(unsupported)?;
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
        let mut tokenizer = Self::new(tokens, merges, pattern)?;
        let number = |value: Value<'_>| match value {
            Value::Unsigned(number) => u32::try_from(number).ok(),
            Value::Signed(number) => u32::try_from(number).ok(),
            _ => None,
        };
        // Control and user-defined tokens.
        let types = file.elements("tokenizer.ggml.token_type").into_iter().flatten();
        let added = (0..).zip(types).filter(|(_, kind)| matches!(number(*kind), Some(3 | 4)));
        tokenizer.added = added.map(|(id, _)| id).collect();
        let id = |key: &str| file.value(key).and_then(number);
        tokenizer.begin = id("tokenizer.ggml.bos_token_id");
        tokenizer.end = id("tokenizer.ggml.eos_token_id");
        tokenizer.adds_begin =
            file.value("tokenizer.ggml.add_bos_token") == Some(Value::Bool(true));
        Ok(tokenizer)
    }

    /// From an `.amb` file, whose configuration has `pre_tokenizer`, `added_tokens` and `add_bos`.
    pub(crate) fn of_amb(file: &Amb<'_>) -> Result<Self, Error> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let found: amb::Tokenizer<'_> = file.tokenizer().ok_or(missing)?;
        if found.kind() != TokenizerKind::Bpe {
            return Err(Error::without_offset(ErrorKind::UnsupportedVersion));
        }
        let name = amb_config_value(file, "pre_tokenizer").unwrap_or("gpt-2");
        let pattern = Pattern::of_name(name);
        let pattern = pattern.ok_or(Error::without_offset(ErrorKind::UnsupportedVersion))?;
        let tokens = found.tokens().map(<[u8]>::to_vec).collect();
        let merges = found.merges().map(|(left, right)| (left.to_owned(), right.to_owned()));
        let mut tokenizer = Self::new(tokens, merges.collect(), pattern)?;
        let config: serde_json::Value = serde_json::from_str(file.config()).unwrap_or_default();
        let added = config.get("added_tokens").and_then(serde_json::Value::as_array);
        let ids = added.into_iter().flatten().filter_map(serde_json::Value::as_u64);
        tokenizer.added = ids.filter_map(|id| u32::try_from(id).ok()).collect();
        tokenizer.begin = found.special(SpecialRole::Classify);
        tokenizer.end = found.special(SpecialRole::Separate);
        let adds = file.config_value("add_bos").ok().flatten();
        tokenizer.adds_begin = adds.is_some_and(|token| token.kind == Kind::Bool(true));
        Ok(tokenizer)
    }

    /// Merges and tokens as [`spec`](Self::spec) borrows them.
    pub(crate) fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>) {
        let merges = self.merges.iter().map(|(left, right)| (left.as_str(), right.as_str()));
        (merges.collect(), self.tokens.iter().map(Vec::as_slice).collect())
    }

    /// How an `.amb` file has it.
    pub(crate) fn spec<'a>(
        &self,
        merges: &'a [(&'a str, &'a str)],
        tokens: &'a [&'a [u8]],
    ) -> TokenizerSpec<'a> {
        let special = [self.begin, self.end, None, None, None];
        TokenizerSpec { special, payload: Payload::Bpe { merges, tokens } }
    }

    /// The ids of `text`, behind the token that begins every text if there is one.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, Error> {
        let added: Vec<Added<'_>> = self
            .added
            .iter()
            .filter_map(|&id| {
                let token = self.tokens.get(id as usize)?;
                Some(Added { text: std::str::from_utf8(token).ok()?, id })
            })
            .collect();
        let table = MergeTable::resume(&self.table, &self.slots, self.longest_probe);
        let bpe = Bpe::new(&self.ids, table, self.pattern, &added)?;
        let mut ids = vec![0; text.len()];
        let mut symbols = vec![Default::default(); text.len()];
        let mut heap = vec![Default::default(); Scratch::heap_needed(text.len())];
        let found = bpe.encode(text, &mut ids, &mut Scratch::new(&mut symbols, &mut heap))?;
        ids.truncate(found.tokens);
        let begin = self.begin.filter(|_| self.adds_begin);
        Ok(begin.into_iter().chain(ids).collect())
    }
}
