//! WordPiece over vocabularies and texts of any kind.

use nanoembed_core::Error;
use nanoembed_core::token::vocabulary::{IdWidth, SortedIds};
use nanoembed_core::token::{
    Entries, HashVocabulary, LengthPrefix, Normalization, SortedVocabulary, SpecialIds, Vocabulary,
    WordPiece,
};

use crate::vocabularies::{HashMemory, StoredVocabulary};
use crate::wordpiece_reference::Reference;

/// The first tokens of every well-formed vocabulary.
const FIRST_TOKENS: &[&str] = &["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##a", "##b"];

const SPECIAL: SpecialIds =
    SpecialIds { pad: Some(0), unknown: 1, classify: 2, separate: 3, mask: Some(4) };

/// Asserts properties of every tokenizer:
///
/// * nothing panics, whatever the vocabulary's bytes;
/// * every id is in the vocabulary;
/// * the hash index, the file's sorted index and a simple implementation give the same ids;
/// * with less room the ids are the same up to the last, which is `[SEP]`, and omitted ones are
///   counted.
///
/// The first byte of `data` chooses the normalisation (bits 0–2) and whether the vocabulary is raw
/// (bit 3). A well-formed one is made of the lines up to the first byte FF, followed by the text.
/// For a raw one see `raw`.
pub fn tokenizer(data: &[u8]) {
    let Some((&mode, rest)) = data.split_first() else { return };
    let normalization = Normalization {
        lower_case: mode & 1 != 0,
        strip_accents: mode & 2 != 0,
        split_ideographs: mode & 4 == 0,
    };
    if mode & 8 == 0 {
        let (lines, text) = split_at_byte(rest, 0xFF);
        let lines = lines.split(|&byte| byte == b'\n');
        let first = FIRST_TOKENS.iter().map(|token| token.as_bytes());
        let tokens: Vec<Vec<u8>> = first.chain(lines).map(<[u8]>::to_vec).collect();
        well_formed(&tokens, &String::from_utf8_lossy(text), normalization);
    } else {
        // Faults of the vocabulary may or may not be found; only the assertions in the calls count.
        let _ = raw(rest, normalization);
    }
}

/// Seeds of [`tokenizer`]: every mode, with vocabularies that spell most of the texts.
///
/// # Panics
///
/// Never: the vocabulary is small.
#[must_use]
pub fn tokenizer_seeds() -> Vec<Vec<u8>> {
    let tokens = "b\n##ab\nab\né\ne\n##\u{302E}\n中\nᄀ\n##ᅡ\n##ᆨ\n.\n<\ni\nhello\n##llo\nhe";
    let texts = [
        "Hello, abab [CLS] b.[MASK]",
        "É\u{302E}\u{301} 中가각 \u{226E}İ",
        "\u{1D16D}\u{901}\u{302E}\u{1D165}\t\0[SEP",
    ];
    let mut seeds = Vec::new();
    for (text, mode) in texts.iter().flat_map(|text| (0..16).map(move |mode| (text, mode))) {
        if mode & 8 == 0 {
            seeds.push([&[mode], tokens.as_bytes(), &[0xFF], text.as_bytes()].concat());
        } else {
            seeds.push([&[mode], raw_seed(tokens, text).as_slice()].concat());
        }
    }
    seeds
}

/// A valid vocabulary in the layout of `raw`.
fn raw_seed(tokens: &str, text: &str) -> Vec<u8> {
    let first = FIRST_TOKENS.iter().copied();
    // The size is counted in units of four bytes.
    let lines: Vec<&str> = first.chain(tokens.split('\n')).collect();
    let size = StoredVocabulary::new(&lines).entries.len();
    let filler = "x".repeat((4 - (size + 2) % 4) % 4);
    let stored = StoredVocabulary::new(lines.into_iter().chain([filler.as_str()]));
    let small = |number: usize| u8::try_from(number).expect("a small vocabulary");
    let head = [small(stored.count as usize), 2, small(stored.entries.len() / 4), 0, 1, 2, 3, 4];
    [&head, stored.entries.as_slice(), &stored.offsets, &stored.sorted_ids, text.as_bytes()]
        .concat()
}

fn split_at_byte(bytes: &[u8], byte: u8) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|&other| other == byte).unwrap_or(bytes.len());
    (&bytes[..at], bytes.get(at + 1..).unwrap_or_default())
}

fn well_formed(tokens: &[Vec<u8>], text: &str, normalization: Normalization) {
    let stored = StoredVocabulary::new(tokens);
    let mut memory = HashMemory::for_tokens(stored.count);
    let hash = memory.index(&stored).expect("a vocabulary that is not made to collide");
    let sorted = stored.sorted().expect("a sorted index");
    assert_eq!(sorted.check(), Ok(()));
    for token in tokens {
        assert_eq!(hash.find(token), sorted.find(token));
    }
    let hash = WordPiece::new(hash, SPECIAL, normalization).expect("special tokens");
    let sorted = WordPiece::new(sorted, SPECIAL, normalization).expect("special tokens");
    let expected = Reference::new(tokens, SPECIAL, normalization).encode(text);
    for room in [expected.len() + 1, expected.len(), expected.len() - 1, 7, 2] {
        check_prefix(&hash, text, room, &expected);
        check_prefix(&sorted, text, room, &expected);
    }
}

/// Asserts that with `room` for ids the result is the part of `expected` that fits.
fn check_prefix<V: Vocabulary>(
    tokenizer: &WordPiece<V>,
    text: &str,
    room: usize,
    expected: &[u32],
) {
    let mut ids = vec![u32::MAX; room];
    let Ok(encoded) = tokenizer.encode(text, &mut ids) else {
        assert!(room < 2, "only too little room is refused");
        return;
    };
    assert_eq!(encoded.total, expected.len());
    assert_eq!(encoded.tokens, room.min(expected.len()));
    assert_eq!(encoded.truncated, room < expected.len());
    let (written, untouched) = ids.split_at(encoded.tokens);
    let (last, kept) = written.split_last().expect("two tokens at least");
    assert_eq!(*last, tokenizer.special().separate);
    assert_eq!(kept, &expected[..kept.len()]);
    assert!(untouched.iter().all(|&id| id == u32::MAX));

    let mut start = vec![u32::MAX; room];
    let stopped = tokenizer.encode_start(text, &mut start).expect("as before");
    assert_eq!(start, ids);
    assert_eq!((stopped.tokens, stopped.truncated), (encoded.tokens, encoded.truncated));
    assert!(stopped.tokens <= stopped.total && stopped.total <= encoded.total);
}

/// Two indices over bytes that need not be a vocabulary:
///
/// | bytes | contents |
/// |---|---|
/// | 1 | number of entries |
/// | 1 | bit 0: lengths have four bytes instead of two; bit 1: ids four instead of two |
/// | 1 | size of the entries, in units of four bytes |
/// | 5 | special ids |
/// | … | entries, `vocab.offsets`, `vocab.sorted_ids`, text |
fn raw(data: &[u8], normalization: Normalization) -> Result<(), Error> {
    let Some((&[count, flags, size, pad, unknown, classify, separate, mask], rest)) =
        data.split_first_chunk()
    else {
        return Ok(());
    };
    let special = SpecialIds {
        pad: Some(pad.into()),
        unknown: unknown.into(),
        classify: classify.into(),
        separate: separate.into(),
        mask: Some(mask.into()),
    };
    let prefix = if flags & 1 == 0 { LengthPrefix::U16 } else { LengthPrefix::U32 };
    let (width, id_bytes) = if flags & 2 == 0 { (IdWidth::U16, 2) } else { (IdWidth::U32, 4) };
    let (bytes, rest) = cut(rest, usize::from(size) * 4);
    let (offsets, rest) = cut(rest, (usize::from(count) + 1) * 4);
    let (sorted_ids, text) = cut(rest, usize::from(count) * id_bytes);
    let count = u32::from(count);

    let mut samples = vec![0; Entries::samples_needed(count)];
    let mut slots = vec![0; HashVocabulary::<Entries<'_>>::slots_needed(count)];
    let text = String::from_utf8_lossy(text);
    if let Ok(entries) = Entries::sample(bytes, 0, count, prefix, &mut samples) {
        let vocabulary = HashVocabulary::build(entries, &mut slots)?;
        check_range(vocabulary, special, normalization, &text)?;
    }
    let entries = Entries::listed(bytes, 0, count, prefix, offsets)?;
    let ids = SortedIds { bytes: sorted_ids, width, offset: 0 };
    let vocabulary = SortedVocabulary::new(entries, ids)?;
    let _ = vocabulary.check();
    check_range(vocabulary, special, normalization, &text)
}

fn cut(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    bytes.split_at(at.min(bytes.len()))
}

/// Asserts that all ids are in the vocabulary.
fn check_range<V: Vocabulary>(
    vocabulary: V,
    special: SpecialIds,
    normalization: Normalization,
    text: &str,
) -> Result<(), Error> {
    let count = vocabulary.count();
    let tokenizer = WordPiece::new(vocabulary, special, normalization)?;
    let mut ids = [u32::MAX; 64];
    let encoded = tokenizer.encode(text, &mut ids)?;
    assert!(ids[..encoded.tokens].iter().all(|&id| id < count));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_seeds_are_sound() {
        let seeds = tokenizer_seeds();
        let raw_seeds = seeds.iter().filter(|seed| seed[0] & 8 != 0);
        assert_eq!(raw_seeds.clone().count(), 24);
        for seed in raw_seeds {
            assert_eq!(raw(&seed[1..], Normalization::UNCASED), Ok(()));
        }
    }
}
