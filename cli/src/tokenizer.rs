//! The tokenizer in a model file.

use nanoembed_core::event::SpecialRole;
use nanoembed_core::format::embd::{Embd, TOKEN_OFFSETS};
use nanoembed_core::token::{
    Entries, HashVocabulary, LengthPrefix, Normalization, SpecialIds, WordPiece,
};
use nanoembed_core::{Error, ErrorKind};

/// Memory for the vocabulary's index.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    samples: Vec<u32>,
    slots: Vec<u32>,
}

/// A tokenizer over a file's vocabulary.
pub(crate) type Tokenizer<'f> = WordPiece<HashVocabulary<'f, Entries<'f>>>;

/// The token ids of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// With the special tokens around the text.
    pub(crate) ids: Vec<u32>,
    /// Whether the text has more tokens than there was room for.
    pub(crate) truncated: bool,
}

/// Makes the tokenizer of `file`, whose bytes are `bytes`.
pub(crate) fn open<'f>(
    bytes: &'f [u8],
    file: &Embd<'f>,
    memory: &'f mut Memory,
) -> Result<Tokenizer<'f>, Error> {
    let missing = Error::new(0, ErrorKind::MissingVocabulary);
    let strings = file.token_entries().ok_or(missing)?;
    let special = file.special().ok_or(missing)?;
    let offset = (strings.as_ptr().addr()).saturating_sub(bytes.as_ptr().addr()) as u64;
    let count = u32::try_from(file.tokens().len())
        .map_err(|_| Error::new(offset, ErrorKind::BadVocabulary))?;
    let entries = match file.tensor(TOKEN_OFFSETS) {
        Some(offsets) => {
            Entries::listed(strings, offset, count, LengthPrefix::U16, offsets.data())?
        }
        None => {
            memory.samples.resize(Entries::samples_needed(count), 0);
            Entries::sample(strings, offset, count, LengthPrefix::U16, &mut memory.samples)?
        }
    };
    memory.slots.resize(HashVocabulary::<Entries<'_>>::slots_needed(count), 0);
    let vocabulary = HashVocabulary::build(entries, &mut memory.slots)?;
    let special = SpecialIds {
        pad: Some(special.id(SpecialRole::Pad)),
        unknown: special.id(SpecialRole::Unknown),
        classify: special.id(SpecialRole::Classify),
        separate: special.id(SpecialRole::Separate),
        mask: Some(special.id(SpecialRole::Mask)),
    };
    WordPiece::new(vocabulary, special, normalization(file))
}

fn normalization(file: &Embd<'_>) -> Normalization {
    let truth = |key: &str| match file.metadata_value(key) {
        Some("true" | "True" | "1") => Some(true),
        Some("false" | "False" | "0") => Some(false),
        _ => None,
    };
    Normalization {
        split_ideographs: truth("split_ideographs").unwrap_or(true),
        ..Normalization::new(truth("do_lower_case").unwrap_or(true), truth("strip_accents"))
    }
}

/// The first `limit` tokens of `text`; all with `None`.
pub(crate) fn encode(
    tokenizer: &Tokenizer<'_>,
    text: &str,
    limit: Option<usize>,
) -> Result<Tokens, Error> {
    if let Some(limit) = limit {
        let mut ids = vec![0; limit];
        let encoded = tokenizer.encode_start(text, &mut ids)?;
        ids.truncate(encoded.tokens);
        return Ok(Tokens { ids, truncated: encoded.truncated });
    }
    let mut ids = vec![0; text.len().saturating_add(2)];
    loop {
        let encoded = tokenizer.encode(text, &mut ids)?;
        if !encoded.truncated {
            ids.truncate(encoded.tokens);
            return Ok(Tokens { ids, truncated: false });
        }
        // Rare: normalisation made several tokens of one byte's worth of text.
        ids.resize(encoded.total, 0);
    }
}
