//! The vocabulary indices: lookups, memory requirements, and rejections.

use nanoembed_core::Error;
use nanoembed_core::ErrorKind::{self, BadCount, BadVocabulary, BufferTooSmall, InvalidArgument};
use nanoembed_core::token::vocabulary::{
    Comparison, IdWidth, MAX_TOKEN_BYTES, Match, SortedIds, Tokens,
};
use nanoembed_core::token::{
    Entries, HashVocabulary, LengthPrefix, Normalization, SortedVocabulary, SpecialIds, Vocabulary,
    WordPiece,
};
use nanoembed_tests::vocabularies::{HashMemory, StoredVocabulary};

const BERT: &str = include_str!("../data/embd/all-MiniLM-L6-v2.vocab");

fn slots_needed(count: u32) -> usize {
    HashVocabulary::<Entries<'_>>::slots_needed(count)
}

#[test]
fn every_token_of_bert_is_found_by_both_indices_and_read_back() {
    let stored = StoredVocabulary::from_lines(BERT);
    let mut memory = HashMemory::for_tokens(stored.count);
    let hash = memory.index(&stored).unwrap();
    let sorted = stored.sorted().unwrap();
    assert_eq!(sorted.check(), Ok(()));
    for (id, token) in (0..).zip(BERT.lines()) {
        assert_eq!(hash.find(token.as_bytes()), Ok(Some(id)));
        assert_eq!(sorted.find(token.as_bytes()), Ok(Some(id)));
        let mut bytes = [0; 32];
        assert_eq!(hash.token(id, &mut bytes), Ok(token.len()));
        assert_eq!(&bytes[..token.len()], token.as_bytes());
        assert_eq!(stored.listed().unwrap().get(id).unwrap(), token.as_bytes());
    }
    assert_eq!(hash.find("nanoembed".as_bytes()), Ok(None));
}

#[test]
fn more_memory_than_needed_changes_nothing() {
    let stored = StoredVocabulary::from_lines(BERT);
    let mut slots = vec![0; slots_needed(stored.count) + 1000];
    let index = HashVocabulary::build(stored.listed().unwrap(), &mut slots).unwrap().index();
    let resumed = HashVocabulary::resume(stored.listed().unwrap(), &slots, index);
    for (id, token) in (0..).zip(BERT.lines()) {
        assert_eq!(resumed.find(token.as_bytes()), Ok(Some(id)));
    }
}

#[test]
fn the_memory_for_berts_vocabulary_is_as_documented() {
    assert_eq!(slots_needed(30_522) * 4, 183_140);
    assert_eq!(Entries::samples_needed(30_522) * 4, 15_264);
}

#[test]
fn the_size_of_all_entries_is_the_last_offset() {
    let stored = StoredVocabulary::from_lines(BERT);
    assert_eq!(stored.listed().unwrap().size(), Ok(stored.entries.len()));
    let mut samples = vec![0; Entries::samples_needed(stored.count)];
    // More bytes may follow: EMBD puts the special ids there.
    let longer = [stored.entries.as_slice(), &[1; 20]].concat();
    let sampled =
        Entries::sample(&longer, 0, stored.count, LengthPrefix::U16, &mut samples).unwrap();
    assert_eq!(sampled.size(), Ok(stored.entries.len()));
    assert_eq!(Entries::sample(&[], 0, 0, LengthPrefix::U16, &mut []).unwrap().size(), Ok(0));
}

#[test]
fn the_core_sorts_as_the_tests_do() {
    let stored = StoredVocabulary::new(["b", "a", "", "b", "ab", "\u{10FFFF}", "a"]);
    let mut ids = vec![0; 7];
    stored.listed().unwrap().sort(&mut ids).unwrap();
    assert_eq!(ids, [2, 1, 6, 4, 0, 3, 5]);
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    assert_eq!(bytes, stored.sorted_ids);
    let too_few = stored.listed().unwrap().sort(&mut ids[..6]).unwrap_err();
    assert_eq!(too_few.kind(), InvalidArgument);
}

#[test]
fn the_last_of_equal_tokens_counts() {
    let stored = StoredVocabulary::new(["a", "b", "a", "c", "a", "b"]);
    let mut memory = HashMemory::for_tokens(stored.count);
    for vocabulary in
        [&memory.index(&stored).unwrap() as &dyn Vocabulary, &stored.sorted().unwrap()]
    {
        assert_eq!(vocabulary.find(b"a"), Ok(Some(4)));
        assert_eq!(vocabulary.find(b"b"), Ok(Some(5)));
        assert_eq!(vocabulary.find(b"c"), Ok(Some(3)));
    }
}

#[test]
fn a_prefix_has_the_length_asked_for_and_ends_with_a_character() {
    let tokens: [&[u8]; 7] = [b"##", b"##a", b"##abc", b"a", b"", "é".as_bytes(), &[0xC3]];
    let stored = StoredVocabulary::new(tokens);
    let mut memory = HashMemory::for_tokens(stored.count);
    for vocabulary in
        [&memory.index(&stored).unwrap() as &dyn Vocabulary, &stored.sorted().unwrap()]
    {
        let longest = |text: &str, at_least| {
            let found = vocabulary.longest_prefix(text.as_bytes(), at_least).unwrap();
            found.map(|Match { id, bytes }| (id, bytes))
        };
        assert_eq!(longest("##abcd", 3), Some((2, 5)));
        assert_eq!(longest("##abx", 3), Some((1, 3)));
        assert_eq!(longest("##x", 3), None);
        assert_eq!(longest("##x", 1), Some((0, 2)));
        assert_eq!(longest("x", 0), None, "nothing is no token");
        assert_eq!(longest("", 0), None);
        assert_eq!(longest("é", 1), Some((5, 2)));
        assert_eq!(longest("è", 1), None, "C3 is only half of it");
    }
}

#[test]
fn tokens_too_long_for_any_word_are_kept_but_not_found() {
    let longest = "x".repeat(MAX_TOKEN_BYTES);
    let longer = "x".repeat(MAX_TOKEN_BYTES + 1);
    let stored = StoredVocabulary::new([longer.as_str(), &longest]);
    let mut memory = HashMemory::for_tokens(stored.count);
    for vocabulary in
        [&memory.index(&stored).unwrap() as &dyn Vocabulary, &stored.sorted().unwrap()]
    {
        assert_eq!(vocabulary.find(longer.as_bytes()), Ok(None));
        assert_eq!(vocabulary.find(longest.as_bytes()), Ok(Some(1)));
        let found = vocabulary.longest_prefix(longer.as_bytes(), 1).unwrap();
        assert_eq!(found, Some(Match { id: 1, bytes: MAX_TOKEN_BYTES }));
        assert_eq!(vocabulary.token(0, &mut []), Ok(MAX_TOKEN_BYTES + 1));
    }
}

/// Tokens that are only read one by one.
struct OneByOne<'a>(Entries<'a>);

impl Tokens for OneByOne<'_> {
    fn count(&self) -> u32 {
        self.0.count()
    }

    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison, Error> {
        self.0.compare(id, text)
    }

    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize, Error> {
        self.0.copy(id, out)
    }
}

#[test]
fn all_tokens_are_shown_in_order_but_those_that_never_match_until_it_is_enough() {
    let longer = "x".repeat(MAX_TOKEN_BYTES + 1);
    let tokens: Vec<String> = (0..20).map(|id| "ab".repeat(id % 7)).collect();
    let tokens: Vec<&str> =
        [&tokens[0], &longer].into_iter().chain(&tokens).map(|t| &**t).collect();
    let stored = StoredVocabulary::new(tokens.iter().copied());
    let mut samples = vec![0; Entries::samples_needed(stored.count)];
    let bytes = &stored.entries;
    let sampled = Entries::sample(bytes, 0, stored.count, LengthPrefix::U16, &mut samples).unwrap();
    let listed = stored.listed().unwrap();
    for entries in [&sampled as &dyn Tokens, &listed, &OneByOne(sampled)] {
        for most in [0, 1, 5, 21] {
            let mut seen = Vec::new();
            let mut visit = |id: u32, token: &[u8]| {
                seen.push((id, token.to_vec()));
                Ok(seen.len() <= most)
            };
            entries.each(&mut visit).unwrap();
            let expected = (0..).zip(&tokens).filter(|(_, token)| **token != longer);
            let expected = expected.map(|(id, token)| (id, token.as_bytes().to_vec()));
            assert_eq!(seen, expected.take(most + 1).collect::<Vec<_>>());
        }
    }
}

#[test]
fn one_place_too_few_is_refused() {
    let stored = StoredVocabulary::from_lines("a\nb\nc\nd\ne\nf\ng\nh\ni");
    let mut samples = vec![0; Entries::samples_needed(9)];
    assert_eq!(samples.len(), 2);
    let bytes = &stored.entries;
    let sampled = Entries::sample(bytes, 0, 9, LengthPrefix::U16, &mut samples[..1]);
    assert_eq!(sampled.unwrap_err().kind(), BufferTooSmall);
    let sampled = Entries::sample(bytes, 0, 9, LengthPrefix::U16, &mut samples).unwrap();
    let mut slots = vec![0; slots_needed(9)];
    let (_, fewer) = slots.split_first_mut().unwrap();
    assert_eq!(HashVocabulary::build(sampled, fewer).unwrap_err().kind(), BufferTooSmall);
    assert!(HashVocabulary::build(sampled, &mut slots).is_ok());
}

#[test]
fn entries_that_are_cut_are_refused_at_the_cut_entry() {
    // Three entries: two bytes of length, then the string.
    let bytes = [1, 0, b'a', 2, 0, b'b', b'c', 1, 0, b'd'];
    for length in 0..bytes.len() {
        let mut samples = [0];
        let cut = Entries::sample(&bytes[..length], 1000, 3, LengthPrefix::U16, &mut samples);
        let error = cut.unwrap_err();
        let entry = [0, 0, 0, 3, 3, 3, 3, 7, 7, 7][length];
        assert_eq!(error, Error::new(1000 + entry, BadCount), "cut at {length}");
    }
    let mut samples = [0];
    let whole = Entries::sample(&bytes, 1000, 3, LengthPrefix::U16, &mut samples).unwrap();
    assert_eq!(whole.get(1), Ok(b"bc".as_slice()));
    assert_eq!(whole.get(3).unwrap_err().kind(), BadVocabulary);
}

#[test]
fn lengths_may_have_four_bytes() {
    let bytes = [1, 0, 0, 0, b'a', 2, 0, 0, 0, b'b', b'c'];
    let mut samples = [0];
    let sampled = Entries::sample(&bytes, 0, 2, LengthPrefix::U32, &mut samples).unwrap();
    assert_eq!(sampled.get(1), Ok(b"bc".as_slice()));
    assert_eq!(sampled.size(), Ok(11));
    let offsets: Vec<u8> = [0_u32, 5, 11].iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let listed = Entries::listed(&bytes, 0, 2, LengthPrefix::U32, &offsets).unwrap();
    assert_eq!(listed.get(1), Ok(b"bc".as_slice()));
    // A length of 4 GiB.
    let huge = [255, 255, 255, 255, b'a'];
    let error = Entries::sample(&huge, 0, 1, LengthPrefix::U32, &mut samples).unwrap_err();
    assert_eq!(error.kind(), BadCount);
}

#[test]
fn offsets_at_odds_with_the_entries_are_refused_when_read() {
    let bytes = [1, 0, b'a', 2, 0, b'b', b'c'];
    let entry = |offsets: [u32; 3], id| -> Result<Vec<u8>, ErrorKind> {
        let offsets: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        let listed = Entries::listed(&bytes, 0, 2, LengthPrefix::U16, &offsets).unwrap();
        listed.get(id).map(<[u8]>::to_vec).map_err(|error| error.kind())
    };
    assert_eq!(entry([0, 3, 7], 1), Ok(b"bc".to_vec()));
    assert_eq!(entry([0, 3, 6], 1), Err(BadVocabulary), "too short for its length");
    assert_eq!(entry([0, 2, 7], 1), Err(BadVocabulary), "another entry's length");
    assert_eq!(entry([0, 3, 8], 1), Err(BadVocabulary), "beyond the end");
    assert_eq!(entry([0, 7, 3], 1), Err(BadVocabulary), "backwards");
    assert_eq!(entry([0, u32::MAX, 7], 0), Err(BadVocabulary));
    let missing = Entries::listed(&bytes, 77, 2, LengthPrefix::U16, &[0; 8]).unwrap_err();
    assert_eq!(missing, Error::new(77, BadVocabulary));
}

#[test]
fn a_sorted_index_is_checked_for_order_repetition_and_range() {
    let stored = StoredVocabulary::new(["b", "a", "a"]);
    let check = |ids: &[u16]| {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        let ids = SortedIds { bytes: &bytes, width: IdWidth::U16, offset: 99 };
        SortedVocabulary::new(stored.listed().unwrap(), ids).and_then(|sorted| sorted.check())
    };
    assert_eq!(check(&[1, 2, 0]), Ok(()));
    for wrong in [&[2, 1, 0][..], &[1, 0, 2], &[1, 1, 0], &[1, 2, 3], &[1, 2], &[1, 2, 0, 0]] {
        assert_eq!(check(wrong).unwrap_err().kind(), BadVocabulary, "{wrong:?}");
    }
}

/// FNV-1a and the finaliser of MurmurHash3, as an attacker would know them.
fn home(token: &[u8], seed: u32, slots: usize) -> usize {
    let state =
        token.iter().fold(seed, |state, &byte| (state ^ u32::from(byte)).wrapping_mul(16_777_619));
    let mut hash = state;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85EB_CA6B);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xC2B2_AE35);
    hash ^= hash >> 16;
    ((u64::from(hash) * slots as u64) >> 32) as usize
}

#[test]
fn tokens_made_to_collide_are_indexed_with_another_seed() {
    // More than one lookup may visit: they cannot be indexed with the first seed.
    const COUNT: u32 = 300;
    let slots = slots_needed(COUNT);
    let colliding: Vec<String> = (0_u32..)
        .map(|number| format!("{number:x}"))
        .filter(|token| home(token.as_bytes(), 0x811C_9DC5, slots) == 5)
        .take(COUNT as usize)
        .collect();
    let stored = StoredVocabulary::new(&colliding);
    let mut memory = HashMemory::for_tokens(COUNT);
    let hash = memory.index(&stored).unwrap();
    for (id, token) in (0..).zip(&colliding) {
        assert_eq!(hash.find(token.as_bytes()), Ok(Some(id)));
    }
}

#[test]
fn special_ids_outside_the_vocabulary_are_refused() {
    let stored = StoredVocabulary::new(["[UNK]", "[CLS]", "[SEP]", "[PAD]"]);
    let vocabulary = stored.sorted().unwrap();
    let found = SpecialIds::find(&vocabulary).unwrap();
    let expected = SpecialIds { pad: Some(3), unknown: 0, classify: 1, separate: 2, mask: None };
    assert_eq!(found, expected);
    let outside = SpecialIds { mask: Some(4), ..found };
    let error = WordPiece::new(vocabulary, outside, Normalization::UNCASED).unwrap_err();
    assert_eq!(error.kind(), BadVocabulary);
    let without = StoredVocabulary::new(["[UNK]", "[CLS]"]);
    let error = SpecialIds::find(&without.sorted().unwrap()).unwrap_err();
    assert_eq!(error.kind(), BadVocabulary);
}

#[test]
fn room_for_the_special_tokens_alone_is_enough_and_less_is_refused() {
    let stored = StoredVocabulary::new(["[UNK]", "[CLS]", "[SEP]", "a"]);
    let vocabulary = stored.sorted().unwrap();
    let special = SpecialIds::find(&vocabulary).unwrap();
    let tokenizer = WordPiece::new(vocabulary, special, Normalization::UNCASED).unwrap();
    for room in [0, 1] {
        let error = tokenizer.encode("a", &mut vec![0; room]).unwrap_err();
        assert_eq!(error.kind(), BufferTooSmall);
    }
    let mut ids = [9; 2];
    let encoded = tokenizer.encode("a a", &mut ids).unwrap();
    assert_eq!((ids, encoded.tokens, encoded.total, encoded.truncated), ([1, 2], 2, 4, true));
}
