//! Byte-level BPE tokenizers as files describe them.

use super::BAD;
use crate::describe::gguf::{Key, gguf_pre_tokenizer, gguf_text_ends, token_type};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::amb::{self, Amb};
use crate::format::embd::{self, Embd};
use crate::format::gguf::{self, Gguf};
use crate::source::amb::{amb_ids, amb_spelling, amb_text_ends};
use crate::source::embd::embd_text_ends;
use crate::source::spellings::truth;
use crate::source::spellings::{listed_ids, parts_of};
use crate::token::bpe::{Pattern, PreTokenizer};
use crate::token::sentencepiece::PieceKind;
use crate::token::{LengthPrefix, TextEnds};

const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedTokenizer);

/// A tokenizer as its file describes it.
#[derive(Clone, Copy, Debug)]
pub struct BpeSource<'a> {
    file: File<'a>,
    pub(super) pattern: Pattern,
    pub(super) entries: TokenEntries<'a>,
    pub(super) ignores_merges: bool,
    /// True if texts are brought into Unicode's form NFC first.
    pub(super) composes: bool,
    pub(super) ends: TextEnds,
}

#[derive(Clone, Copy, Debug)]
enum File<'a> {
    Amb(Amb<'a>, amb::AmbTokenizer<'a>),
    Gguf(Gguf<'a>),
    /// Merges as lines, and the ids of tokens that are found as they are.
    Text {
        merges: &'a str,
        added: &'a str,
    },
}

/// A tokenizer whose parts lie anywhere.
#[derive(Clone, Copy, Debug)]
pub struct BpeParts<'a> {
    /// How texts are cut into words.
    pub pattern: Pattern,
    /// The spellings of the tokens in the order of their ids, each after its length.
    pub tokens: &'a [u8],
    /// Where `tokens` lie in what is later [taken up again](super::FileBpe::resume).
    pub offset: u64,
    /// The number of tokens.
    pub count: u32,
    /// The width of each token's length.
    pub prefix: LengthPrefix,
    /// A line for each merge, the first one first: its two parts with a space between.
    pub merges: &'a str,
    /// The ids of the tokens that are found in a text as they are, with spaces between.
    pub added: &'a str,
    /// True if a word that is in the vocabulary is one token, whatever the merges make of it.
    pub ignores_merges: bool,
    /// True if texts are brought into Unicode's form NFC first.
    pub composes: bool,
    /// The tokens around texts.
    pub ends: TextEnds,
}

/// Where the spellings of tokens lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenEntries<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: u64,
    pub(super) count: u32,
    pub(super) prefix: LengthPrefix,
}

impl<'a> BpeSource<'a> {
    /// The tokenizer of an `.amb` file, whose configuration has `pre_tokenizer`, `ignore_merges`,
    /// `normalizer`, `added_tokens`, `add_bos`, `add_eos` and `end_tokens`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedTokenizer`] if
    /// it is another one, or cuts texts in a way that is not known; [`ErrorKind::BadMetadata`] if
    /// `ignore_merges` is neither true nor false; as [`amb_text_ends`].
    pub fn amb(file: &Amb<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let tokenizer = file.tokenizer().ok_or(missing)?;
        if tokenizer.kind() != amb::AmbTokenizerKind::Bpe {
            return Err(UNSUPPORTED);
        }
        let of = |member: &str| amb_spelling(file, member);
        let (pattern, ignores_merges) = own_rules(of(Pattern::KEY)?, of("ignore_merges")?)?;
        let composes = composes(of("normalizer")?)?;
        let amb::AmbTokenEntries { bytes, offset, count } =
            tokenizer.token_entries().ok_or(missing)?;
        let entries = TokenEntries { bytes, offset, count, prefix: LengthPrefix::U16 };
        let ends = amb_text_ends(file, &tokenizer)?;
        let file = File::Amb(*file, tokenizer);
        Ok(Self { file, pattern, entries, ignores_merges, composes, ends })
    }

    /// The tokenizer of a GGUF file, whose `tokenizer.ggml.model` is `gpt2`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedTokenizer`] if
    /// it is another one.
    pub fn gguf(file: &Gguf<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let PreTokenizer { pattern, ignores_merges, .. } = gguf_pre_tokenizer(file)?;
        let gguf::GgufTokenEntries { bytes, offset, count } =
            file.token_entries().ok_or(missing)?;
        let entries = TokenEntries { bytes, offset, count, prefix: LengthPrefix::U64 };
        let ends = gguf_text_ends(file)?;
        let file = File::Gguf(*file);
        // llama.cpp, whose format it is, does not compose.
        Ok(Self { file, pattern, entries, ignores_merges, composes: false, ends })
    }

    /// The tokenizer of a `.weights` file: its vocabulary, and the merges in the tensor
    /// [`MERGES`](crate::format::embd::MERGES); its metadata has `pre_tokenizer`, `ignore_merges`,
    /// `normalizer`, `added_tokens`, `add_bos`, `add_eos`, `bos_token_id`, `eos_token_id` and
    /// `end_tokens`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without tokens or merges; [`ErrorKind::UnsupportedTokenizer`]
    /// if texts are cut in a way that is not known; [`ErrorKind::BadVocabulary`] if the merges are
    /// no text; [`ErrorKind::BadMetadata`] if `ignore_merges` is neither true nor false; as
    /// [`embd_text_ends`].
    pub fn embd(file: &Embd<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let entries = file.token_entries().ok_or(missing)?;
        let merges = file.tensor(embd::MERGES).ok_or(missing)?;
        let bad = Error::new(merges.header().offset, ErrorKind::BadVocabulary);
        let of = |key: &str| file.metadata_value(key);
        let (pattern, ignores_merges) = own_rules(of(Pattern::KEY), of("ignore_merges"))?;
        Ok(Self::parts(&BpeParts {
            pattern,
            tokens: entries.bytes,
            offset: entries.offset,
            count: entries.count,
            prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
            merges: core::str::from_utf8(merges.data()).map_err(|_| bad)?,
            added: file.metadata_value("added_tokens").unwrap_or_default(),
            ignores_merges,
            composes: composes(of("normalizer"))?,
            ends: embd_text_ends(file)?,
        }))
    }

    /// A tokenizer whose parts lie anywhere.
    #[must_use]
    pub const fn parts(parts: &BpeParts<'a>) -> Self {
        let BpeParts { pattern, tokens, offset, count, prefix, merges, added, .. } = *parts;
        let BpeParts { ignores_merges, composes, ends, .. } = *parts;
        let entries = TokenEntries { bytes: tokens, offset, count, prefix };
        let file = File::Text { merges, added };
        Self { file, pattern, entries, ignores_merges, composes, ends }
    }

    /// The number of tokens.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.entries.count
    }

    /// The tokens around texts.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Calls `merge` with the two parts of every merge, the first one first.
    pub(super) fn each_merge(
        &self,
        mut merge: impl FnMut(&'a str, &'a str) -> Result<()>,
    ) -> Result<()> {
        match &self.file {
            File::Amb(_, tokenizer) => {
                tokenizer.merges().try_for_each(|(left, right)| merge(left, right))
            }
            File::Gguf(file) => {
                let mut merges = file.elements(Key::Merges.name()).into_iter().flatten();
                merges.try_for_each(|pair| match pair {
                    Value::Text(pair) => {
                        let (left, right) = pair.split_once(' ').ok_or(BAD)?;
                        merge(left, right)
                    }
                    _ => Err(BAD),
                })
            }
            File::Text { merges, .. } => {
                let mut lines = parts_of(merges, '\n').filter(|line| !line.is_empty());
                lines.try_for_each(|pair| {
                    let (left, right) = pair.split_once(' ').ok_or(BAD)?;
                    merge(left, right)
                })
            }
        }
    }

    /// Calls `added` with the ids of the tokens that are found in a text as they are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file has something else in their place; what `added`
    /// returns.
    pub fn each_added(&self, mut added: impl FnMut(u32) -> Result<()>) -> Result<()> {
        match &self.file {
            File::Amb(file, _) => amb_ids(file, "added_tokens")?.try_for_each(|id| added(id?)),
            File::Gguf(file) => {
                let types = file.elements(Key::TokenTypes.name()).into_iter().flatten();
                let is_added = |(_, kind): &(u32, _)| {
                    let kind = token_type(*kind);
                    matches!(kind, Some(PieceKind::Control | PieceKind::UserDefined))
                };
                let mut wanted = (0..).zip(types).filter(is_added);
                wanted.try_for_each(|(id, _)| added(id))
            }
            File::Text { added: ids, .. } => listed_ids(ids).try_for_each(|id| added(id?)),
        }
    }
}

/// The settings `pre_tokenizer` and `ignore_merges` of this project's formats.
fn own_rules(name: Option<&str>, ignore_merges: Option<&str>) -> Result<(Pattern, bool)> {
    let known = PreTokenizer::from_name(name.unwrap_or("gpt-2")).ok_or(UNSUPPORTED)?;
    let bad = Error::without_offset(ErrorKind::BadMetadata);
    let says = |spelling| truth(spelling).ok_or(bad);
    Ok((known.pattern, ignore_merges.map_or(Ok(known.ignores_merges), says)?))
}

/// The setting `normalizer` of this project's formats.
fn composes(name: Option<&str>) -> Result<bool> {
    match name {
        None => Ok(false),
        Some("nfc") => Ok(true),
        Some(_) => Err(UNSUPPORTED),
    }
}
