//! The byte-level BPE tokenizer in a decoder's file, used where it lies, in memory that the caller lends.
//!
//! 1. [`BpeSource`] says what the file has and [how much memory](BpeSource::needs) an index over it takes;
//! 2. [`BpeSource::open`] makes the index: tokens by their spelling, merges by their pairs;
//! 3. [`FileBpe`] turns text into ids, and ids into the bytes of their tokens.

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "gguf")]
use crate::event::Value;
#[cfg(feature = "amb")]
use crate::format::amb::{self, Amb};
#[cfg(feature = "embd")]
use crate::format::embd::{self, Embd};
#[cfg(feature = "gguf")]
use crate::format::gguf::{self, Gguf};
#[cfg(feature = "amb")]
use crate::model::amb::{amb_added_tokens, amb_config_value, amb_text_ends};
#[cfg(feature = "embd")]
use crate::model::embd::embd_text_ends;
use crate::token::bpe::{Added, Bpe, Found, Merge, MergeTable, Pattern, Scratch, alphabet};
use crate::token::vocabulary::{HashIndex, MAX_TOKEN_BYTES, Tokens, Vocabulary};
use crate::token::{Entries, HashVocabulary, LengthPrefix};

const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedVersion);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

/// What a file says of its tokenizer.
#[derive(Clone, Copy, Debug)]
pub struct BpeSource<'a> {
    file: File<'a>,
    pattern: Pattern,
    entries: TokenEntries<'a>,
    begin: Option<u32>,
    end: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum File<'a> {
    #[cfg(feature = "amb")]
    Amb(Amb<'a>, amb::Tokenizer<'a>),
    #[cfg(feature = "gguf")]
    Gguf(Gguf<'a>),
    /// Merges as lines, and the ids of tokens that are found as they are.
    Text { merges: &'a str, added: &'a str },
}

/// A tokenizer whose parts lie anywhere.
#[derive(Clone, Copy, Debug)]
pub struct BpeParts<'a> {
    /// How texts are cut into words.
    pub pattern: Pattern,
    /// The spellings of the tokens in the order of their ids, each behind its length.
    pub tokens: &'a [u8],
    /// Where `tokens` lie in what is later [taken up again](FileBpe::resume).
    pub offset: u64,
    /// The number of tokens.
    pub count: u32,
    /// The width of each token's length.
    pub prefix: LengthPrefix,
    /// A line for each merge, the first one first: its two parts with a space between.
    pub merges: &'a str,
    /// The ids of the tokens that are found in a text as they are, with spaces between.
    pub added: &'a str,
    /// The token that begins every text.
    pub begin: Option<u32>,
    /// The token that ends a text.
    pub end: Option<u32>,
}

/// Where the spellings of tokens lie.
#[derive(Clone, Copy, Debug)]
struct TokenEntries<'a> {
    bytes: &'a [u8],
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
}

/// How many elements of each kind [`BpeSource::open`] needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BpeNeeds {
    /// Of [`BpeMemory::samples`].
    pub samples: usize,
    /// Of [`BpeMemory::slots`].
    pub slots: usize,
    /// Of [`BpeMemory::merges`].
    pub merges: usize,
    /// Of [`BpeMemory::merge_slots`].
    pub merge_slots: usize,
    /// Tokens that are found in a text as they are.
    pub added: usize,
}

/// Memory for the index over a tokenizer; what it holds is lost.
#[derive(Debug)]
pub struct BpeMemory<'a> {
    /// Where some of the tokens lie.
    pub samples: &'a mut [u32],
    /// Tokens by the hashes of their spellings.
    pub slots: &'a mut [u32],
    /// Merges by rank.
    pub merges: &'a mut [Merge],
    /// Merges by the hashes of their pairs.
    pub merge_slots: &'a mut [u32],
}

/// What is known of a tokenizer beside the memory of its index.
#[derive(Clone, Copy, Debug)]
pub struct BpeIndex {
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
    hash: HashIndex,
    merges: usize,
    longest_probe: usize,
    pattern: Pattern,
    begin: Option<u32>,
}

impl<'a> BpeSource<'a> {
    /// The tokenizer of an `.amb` file, whose configuration has `pre_tokenizer`, `added_tokens` and `add_bos`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedVersion`] if it is another one.
    #[cfg(feature = "amb")]
    pub fn amb(file: &Amb<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let tokenizer = file.tokenizer().ok_or(missing)?;
        if tokenizer.kind() != amb::TokenizerKind::Bpe {
            return Err(UNSUPPORTED);
        }
        let name = amb_config_value(file, "pre_tokenizer").unwrap_or("gpt-2");
        let pattern = Pattern::of_name(name).ok_or(UNSUPPORTED)?;
        let amb::TokenEntries { bytes, offset, count } =
            tokenizer.token_entries().ok_or(missing)?;
        let entries = TokenEntries { bytes, offset, count, prefix: LengthPrefix::U16 };
        let [begin, end] = amb_text_ends(file, &tokenizer);
        Ok(Self { file: File::Amb(*file, tokenizer), pattern, entries, begin, end })
    }

    /// The tokenizer of a GGUF file, whose `tokenizer.ggml.model` is `gpt2`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedVersion`] if it is another one.
    #[cfg(feature = "gguf")]
    pub fn gguf(file: &Gguf<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let text = |key: &str| match file.value(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        };
        let model = text("tokenizer.ggml.model").ok_or(missing)?;
        let name = text("tokenizer.ggml.pre").unwrap_or("gpt-2");
        let pattern = Pattern::of_name(name).filter(|_| model == "gpt2").ok_or(UNSUPPORTED)?;
        let gguf::TokenEntries { bytes, offset, count } = file.token_entries().ok_or(missing)?;
        let entries = TokenEntries { bytes, offset, count, prefix: LengthPrefix::U64 };
        let id = |key: &str| file.value(key).and_then(unsigned);
        let adds_begin = file.value("tokenizer.ggml.add_bos_token") == Some(Value::Bool(true));
        let begin = id("tokenizer.ggml.bos_token_id").filter(|_| adds_begin);
        let end = id("tokenizer.ggml.eos_token_id");
        Ok(Self { file: File::Gguf(*file), pattern, entries, begin, end })
    }

    /// The tokenizer of a `.weights` file: its vocabulary, and the merges in the tensor
    /// [`MERGES`](crate::format::embd::MERGES); its metadata has `pre_tokenizer`, `added_tokens`, `add_bos`, `bos_token_id`
    /// and `eos_token_id`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without tokens or merges; [`ErrorKind::UnsupportedVersion`] if texts are cut in a way
    /// that is not known; [`ErrorKind::BadVocabulary`] if the merges are no text.
    #[cfg(feature = "embd")]
    pub fn embd(file: &Embd<'a>) -> Result<Self> {
        let missing = Error::without_offset(ErrorKind::MissingVocabulary);
        let entries = file.token_entries().ok_or(missing)?;
        let merges = file.tensor(embd::MERGES).ok_or(missing)?;
        let bad = Error::new(merges.header().offset, ErrorKind::BadVocabulary);
        let name = file.metadata_value("pre_tokenizer").unwrap_or("gpt-2");
        let [begin, end] = embd_text_ends(file);
        Ok(Self::parts(&BpeParts {
            pattern: Pattern::of_name(name).ok_or(UNSUPPORTED)?,
            tokens: entries.bytes,
            offset: entries.offset,
            count: entries.count,
            prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
            merges: core::str::from_utf8(merges.data()).map_err(|_| bad)?,
            added: file.metadata_value("added_tokens").unwrap_or_default(),
            begin,
            end,
        }))
    }

    /// A tokenizer whose parts lie anywhere.
    #[must_use]
    pub const fn parts(parts: &BpeParts<'a>) -> Self {
        let BpeParts { pattern, tokens, offset, count, prefix, merges, added, begin, end } = *parts;
        let entries = TokenEntries { bytes: tokens, offset, count, prefix };
        Self { file: File::Text { merges, added }, pattern, entries, begin, end }
    }

    /// The number of tokens.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.entries.count
    }

    /// The token that begins every text, if the file says so.
    #[must_use]
    pub const fn begin(&self) -> Option<u32> {
        self.begin
    }

    /// The token that ends a text.
    #[must_use]
    pub const fn end(&self) -> Option<u32> {
        self.end
    }

    /// The memory that an index over it takes.
    #[must_use]
    pub fn needs(&self) -> BpeNeeds {
        let (mut merges, mut added) = (0_usize, 0_usize);
        // Nothing is refused here: that is for `open` to do.
        let _ = self.each_merge(|_, _| {
            merges = merges.saturating_add(1);
            Ok(())
        });
        self.each_added(|_| added = added.saturating_add(1));
        BpeNeeds {
            samples: Entries::samples_needed(self.entries.count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(self.entries.count),
            merges,
            merge_slots: MergeTable::slots_needed(merges),
            added,
        }
    }

    /// Makes the index in lent memory; [`FileBpe::resume`] takes it up.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if merges are not of tokens; [`ErrorKind::BufferTooSmall`] if the memory is less than
    /// [`needs`](Self::needs) says.
    pub fn index(&self, memory: &mut BpeMemory<'_>) -> Result<BpeIndex> {
        let TokenEntries { bytes, offset, count, prefix } = self.entries;
        let tokens = Entries::sample(bytes, offset, count, prefix, memory.samples)?;
        let vocabulary = HashVocabulary::build(tokens, memory.slots)?;
        let mut merges = 0_usize;
        let places = &mut *memory.merges;
        self.each_merge(|left, right| {
            let mut room = [0; MAX_TOKEN_BYTES];
            let whole = joined(left.as_bytes(), right.as_bytes(), &mut room).ok_or(BAD)?;
            let id = |token: &[u8]| vocabulary.find(token)?.ok_or(BAD);
            let (left, right) = (id(left.as_bytes())?, id(right.as_bytes())?);
            *places.get_mut(merges).ok_or(TOO_SMALL)? = Merge { left, right, merged: id(whole)? };
            merges = merges.saturating_add(1);
            Ok(())
        })?;
        let used = places.get(..merges).unwrap_or_default();
        let longest_probe = MergeTable::build(used, memory.merge_slots)?.longest_probe();
        Ok(BpeIndex {
            offset,
            count,
            prefix,
            hash: vocabulary.index(),
            merges,
            longest_probe,
            pattern: self.pattern,
            begin: self.begin,
        })
    }

    /// Makes the index in lent memory for as long as the file lives.
    ///
    /// # Errors
    ///
    /// As [`index`](Self::index).
    pub fn open(
        &self,
        mut memory: BpeMemory<'a>,
        added: &'a mut [Added<'a>],
    ) -> Result<FileBpe<'a>> {
        let index = self.index(&mut memory)?;
        let BpeMemory { samples, slots, merges, merge_slots } = memory;
        let TokenEntries { bytes, offset, count, prefix } = self.entries;
        let tokens = Entries::resume(bytes, offset, count, prefix, samples);
        let mut used = 0_usize;
        self.each_added(|id| {
            if let Some((place, token)) = added.get_mut(used).zip(added_token(&tokens, id)) {
                *place = token;
                used = used.saturating_add(1);
            }
        });
        let added: &'a [Added<'a>] = added;
        let memory = (&*slots, &*merges, &*merge_slots);
        FileBpe::over(tokens, &index, memory, added.get(..used).unwrap_or_default())
    }

    /// Calls `merge` with the two parts of every merge, the first one first.
    fn each_merge(&self, mut merge: impl FnMut(&'a str, &'a str) -> Result<()>) -> Result<()> {
        match &self.file {
            #[cfg(feature = "amb")]
            File::Amb(_, tokenizer) => {
                tokenizer.merges().try_for_each(|(left, right)| merge(left, right))
            }
            #[cfg(feature = "gguf")]
            File::Gguf(file) => {
                let mut merges = file.elements("tokenizer.ggml.merges").into_iter().flatten();
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
    #[cfg_attr(not(feature = "gguf"), allow(unused_mut))]
    pub fn each_added(&self, mut added: impl FnMut(u32)) {
        match &self.file {
            #[cfg(feature = "amb")]
            File::Amb(file, _) => amb_added_tokens(file).for_each(added),
            #[cfg(feature = "gguf")]
            File::Gguf(file) => {
                let types = file.elements("tokenizer.ggml.token_type").into_iter().flatten();
                // Control and user-defined tokens.
                let wanted =
                    (0..).zip(types).filter(|(_, kind)| matches!(unsigned(*kind), Some(3 | 4)));
                wanted.for_each(|(id, _)| added(id));
            }
            File::Text { added: ids, .. } => {
                parts_of(ids, ' ').filter_map(|id| id.parse().ok()).for_each(added);
            }
        }
    }
}

#[cfg(feature = "gguf")]
fn unsigned(value: Value<'_>) -> Option<u32> {
    match value {
        Value::Unsigned(number) => u32::try_from(number).ok(),
        Value::Signed(number) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// The parts of a text between characters. `str::split` could panic for all that the linker knows.
fn parts_of(text: &str, between: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let (part, behind) = match text.split_once(between) {
            Some((part, behind)) => (part, Some(behind)),
            None => (text, None),
        };
        rest = behind;
        Some(part)
    })
}

fn joined<'r>(left: &[u8], right: &[u8], room: &'r mut [u8]) -> Option<&'r [u8]> {
    let length = left.len().checked_add(right.len())?;
    let room = room.get_mut(..length)?;
    for (to, from) in room.iter_mut().zip(left.iter().chain(right)) {
        *to = *from;
    }
    Some(room)
}

impl BpeIndex {
    /// The number of tokens.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How texts are cut into words.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// The spellings of the tokens in `file`, with the samples of the index.
    fn tokens<'a>(&self, file: &'a [u8], samples: &'a [u32]) -> Result<Entries<'a>> {
        let bytes = usize::try_from(self.offset).ok().and_then(|start| file.get(start..));
        let bytes = bytes.ok_or(Error::new(self.offset, ErrorKind::BadVocabulary))?;
        Ok(Entries::resume(bytes, self.offset, self.count, self.prefix, samples))
    }

    /// How token `id` is spelled in GPT-2's alphabet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such token, or the file is shorter than it was.
    pub fn token<'a>(&self, file: &'a [u8], samples: &'a [u32], id: u32) -> Result<&'a [u8]> {
        if id < self.count { self.tokens(file, samples)?.get(id) } else { Err(BAD) }
    }
}

/// A token that is found in a text as it is; `None` if it is no text.
fn added_token<'a>(tokens: &Entries<'a>, id: u32) -> Option<Added<'a>> {
    let text = core::str::from_utf8(tokens.get(id).ok()?).ok()?;
    Some(Added { text, id })
}

/// A tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct FileBpe<'a> {
    tokens: Entries<'a>,
    bpe: Bpe<'a>,
    begin: Option<u32>,
}

impl<'a> FileBpe<'a> {
    /// Takes up again an index that [`BpeSource::index`] made of the tokenizer in `file`: its samples, the slots of tokens, and
    /// the memory of merges with their slots. `added` are the tokens that are found in a text as they are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file is shorter than it was.
    pub fn resume(
        file: &'a [u8],
        index: &BpeIndex,
        (samples, slots): (&'a [u32], &'a [u32]),
        (merges, merge_slots): (&'a [Merge], &'a [u32]),
        added: &'a [Added<'a>],
    ) -> Result<Self> {
        let tokens = index.tokens(file, samples)?;
        Self::over(tokens, index, (slots, merges, merge_slots), added)
    }

    fn over(
        tokens: Entries<'a>,
        index: &BpeIndex,
        (slots, merges, merge_slots): (&'a [u32], &'a [Merge], &'a [u32]),
        added: &'a [Added<'a>],
    ) -> Result<Self> {
        let vocabulary = HashVocabulary::resume(tokens, slots, index.hash);
        let merges = merges.get(..index.merges).unwrap_or_default();
        let table = MergeTable::resume(merges, merge_slots, index.longest_probe);
        let bpe = Bpe::new(&vocabulary, table, index.pattern, added)?;
        Ok(FileBpe { tokens, bpe, begin: index.begin })
    }

    /// The number of tokens.
    #[must_use]
    pub fn count(&self) -> u32 {
        Tokens::count(&self.tokens)
    }

    /// The ids of `text`, as many as `ids` holds, behind the token that begins every text if there is one.
    ///
    /// # Errors
    ///
    /// As [`Bpe::encode`].
    pub fn encode(&self, text: &str, ids: &mut [u32], scratch: &mut Scratch<'_>) -> Result<Found> {
        let Some(begin) = self.begin else { return self.bpe.encode(text, ids, scratch) };
        let (first, rest) = match ids.split_first_mut() {
            Some((first, rest)) => (Some(first), rest),
            None => (None, &mut [][..]),
        };
        let kept = usize::from(first.is_some());
        if let Some(first) = first {
            *first = begin;
        }
        let Found { tokens, total } = self.bpe.encode(text, rest, scratch)?;
        Ok(Found { tokens: tokens.saturating_add(kept), total: total.saturating_add(1) })
    }

    /// Writes the bytes that a token stands for into `out`, and says how many they are; they need not be whole characters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`] for an id of no token; [`ErrorKind::BufferTooSmall`]; [`ErrorKind::InvalidUtf8`] if the
    /// file's token is no text.
    pub fn bytes(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        if id >= self.count() {
            return Err(Error::without_offset(ErrorKind::TokenOutOfRange));
        }
        let token = self.tokens.get(id)?;
        let invalid = |_| Error::without_offset(ErrorKind::InvalidUtf8);
        let mut length = 0_usize;
        for character in core::str::from_utf8(token).map_err(invalid)?.chars() {
            let mut room = [0; 4];
            let bytes = match alphabet::byte(character) {
                Some(byte) => {
                    room = [byte, 0, 0, 0];
                    room.get(..1).unwrap_or_default()
                }
                None => character.encode_utf8(&mut room).as_bytes(),
            };
            let end = length.saturating_add(bytes.len());
            let place = out.get_mut(length..end).ok_or(TOO_SMALL)?;
            place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            length = end;
        }
        Ok(length)
    }
}
