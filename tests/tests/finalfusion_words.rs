//! The index, policies for dirty vocabularies, partial searches, and the amount of data read.

use std::cell::Cell;

use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{
    BrokenUtf8, Finalfusion, FinalfusionDecoder, FinalfusionWriter, StorageSpec,
};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::subword::Subwords;
use nanoembed_core::words::{
    Duplicates, Index, IndexOptions, Memory, Scored, SearchMemory, Stored, TopK, Words,
};
use nanoembed_core::{Error, ErrorKind, kernel};
use nanoembed_tests::data;
use nanoembed_tests::finalfusion::{
    Numbers, Parts, index, indexed, indexed_stored, made_up, search, vector,
};

/// A file of these words, row r being `[r, 1]`.
fn simple(words: &[&[u8]]) -> Parts {
    let floats = (0..words.len()).flat_map(|row| [row as f32, 1.0]).collect();
    Parts::from_words(words.iter().map(|word| word.to_vec()).collect(), 2, floats)
}

#[test]
fn a_matrix_without_rows_has_no_more_columns_than_are_read() {
    let mut parts = simple(&[]);
    parts.storage = StorageSpec::Array { rows: 0, cols: 16_384 };
    assert!(Finalfusion::parse(&parts.write(), Mode::Strict).is_ok());
    parts.storage = StorageSpec::Array { rows: 0, cols: 16_385 };
    let error = FinalfusionWriter::new(parts.plan(), Vec::new()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_duplicate_word_is_refused_where_it_stands_or_the_first_is_found() {
    let file = simple(&[b"one", b"two", b"one", b"three"]).write();
    // Header 12 + 2 chunks × 4, chunk header 12, count 8, two entries of 7 bytes.
    let second = 20 + 12 + 8 + 14;
    let error = indexed(&file, IndexOptions::default()).expect_err("a duplicate");
    assert_eq!(error, Error::new(second, ErrorKind::DuplicateWord));
    let first = IndexOptions { duplicates: Duplicates::First, ..IndexOptions::default() };
    let words = indexed(&file, first).unwrap();
    assert_eq!(words.find(b"one"), Ok(Some(0)));
    assert_eq!(words.find(b"three"), Ok(Some(3)));
    assert_eq!(words.word(2), Ok(&b"one"[..]));
}

#[test]
fn a_broken_word_is_refused_at_its_byte_or_kept_as_bytes() {
    let file = simple(&[b"ok", b"br\xc3", b""]).write();
    let error = Finalfusion::parse(&file, Mode::Lenient).expect_err("broken UTF-8");
    assert_eq!(error, Error::new(20 + 12 + 8 + 6 + 4 + 2, ErrorKind::InvalidUtf8));
    let decoder = FinalfusionDecoder::new(Mode::Strict).broken_utf8(BrokenUtf8::Bytes);
    let read = Finalfusion::parse_with(decoder, &file).unwrap();
    let words = Words::with_index(
        Memory(&file),
        *read.layout(),
        index(&Memory(&file), read.layout(), IndexOptions::default(), &mut []).unwrap(),
    );
    assert_eq!(words.find(b"br\xc3"), Ok(Some(1)));
    assert_eq!(words.find(b""), Ok(Some(2)));
    assert_eq!(words.find(b"br"), Ok(None));
}

#[test]
fn an_index_takes_exactly_the_memory_that_it_says() {
    let file = data::read("finalfusion/explicit.fifu");
    let layout = *Finalfusion::parse(&file, Mode::Strict).unwrap().layout();
    let needed = Index::memory_needed(&layout).unwrap();
    let mut memory = vec![0; needed];
    let options = IndexOptions::default();
    assert!(Index::build(&Memory(&file), &layout, options, &mut memory[..], &mut []).is_ok());
    let error = Index::build(&Memory(&file), &layout, options, &mut memory[1..], &mut [])
        .expect_err("one too few");
    assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
}

#[test]
fn a_set_of_words_made_to_collide_is_indexed_under_another_seed() {
    // Words whose slots under seed 0 are all in one run, found as an attacker would find them.
    let all: Vec<String> = (0..120_000).map(|i| format!("w{i:06}")).collect();
    let start = |word: &str| nanoembed_hash(word.as_bytes(), 0) >> 52;
    let mut counts = vec![0_u32; 1 << 12];
    all.iter().for_each(|word| counts[usize::try_from(start(word)).unwrap()] += 1);
    // The words of the lowest twentieth of all hashes: some 6,000 that start within a twentieth of
    // the table.
    let collide: Vec<&[u8]> = all.iter().filter(|w| start(w) < 205).map(String::as_bytes).collect();
    assert!(collide.len() > 5000);
    let file = simple(&collide).write();
    let words = indexed(&file, IndexOptions::default()).expect("another seed is tried");
    for (row, word) in collide.iter().enumerate() {
        assert_eq!(words.find(word), Ok(Some(u32::try_from(row).unwrap())));
    }
}

/// An independent copy of the index's hash: this test is about its weaknesses.
fn nanoembed_hash(bytes: &[u8], seed: u64) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product & u128::from(u64::MAX)) as u64 ^ (product >> 64) as u64
    };
    let mut state = fold(seed ^ 0x9e37_79b9_7f4a_7c15, bytes.len() as u64 ^ 0xd1b5_4a32_d192_ed03);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), seed ^ 0xa076_1d64_78bd_642f);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(state ^ u64::from_le_bytes(last), 0xe703_7ed1_a0b4_28db)
}

#[test]
fn indices_in_no_order_are_numbered_as_the_reference_numbers_them() {
    use finalfusion::prelude::{Embeddings, ReadEmbeddings, StorageWrap, VocabWrap};
    let mut parts = simple(&[b"word"]);
    parts.vocabulary.subwords = Subwords::Explicit { ngrams: 4 };
    (parts.vocabulary.min_n, parts.vocabulary.max_n) = (2, 2);
    let index = [("ab", 1 << 40), ("bc", 7), ("cd", 1 << 40), ("de", 0)];
    parts.ngrams = index.map(|(ngram, index)| (ngram.into(), index)).into();
    parts.storage = StorageSpec::Array { rows: 4, cols: 2 };
    parts.floats = vec![9.0, 9.0, 1.0, 2.0, 3.0, 5.0, 7.0, 11.0];
    let file = parts.write();
    let ours = indexed(&file, IndexOptions::default()).unwrap();
    let theirs: Embeddings<VocabWrap, StorageWrap> =
        Embeddings::read_embeddings(&mut std::io::Cursor::new(&file)).unwrap();
    for word in ["ab", "abc", "abcd", "abcde", "cdcdde", "x"] {
        let (ours, theirs) = (vector(&ours, word).unwrap(), theirs.embedding(word));
        assert_eq!(ours.map(|(vector, _)| vector), theirs.map(|theirs| theirs.to_vec()), "{word}");
    }
    // Without memory this cannot be determined.
    let scan = Words::scan(Memory(&file), *ours.layout());
    let error = vector(&scan, "abc").expect_err("an index is required");
    assert_eq!(error.kind(), ErrorKind::IndexRequired);
    assert_eq!(vector(&scan, "word").unwrap().unwrap().0, [9.0, 9.0]);

    // One row too many for three different indices.
    parts.storage = StorageSpec::Array { rows: 5, cols: 2 };
    parts.floats.extend([0.0, 0.0]);
    let file = parts.write();
    let error = indexed(&file, IndexOptions::default()).expect_err("a row of no n-gram");
    assert_eq!(error.kind(), ErrorKind::WrongShape);
}

/// Storage that counts how many bytes are read.
struct Counting<'a>(&'a [u8], Cell<u64>);

impl ReadAt for Counting<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        let read = ReadAt::read_at(self.0, offset, destination)?;
        self.1.set(self.1.get() + read as u64);
        Ok(read)
    }
}

#[test]
fn a_lookup_in_storage_reads_the_word_and_its_row() {
    let names: Vec<String> = (0..5000).map(|i| format!("word{i}")).collect();
    let words: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    let mut parts = simple(&words);
    parts.storage = StorageSpec::Array { rows: 5000, cols: 300 };
    parts.floats = Numbers(1).floats(5000 * 300);
    let file = parts.write();

    // Opening reads the vocabulary but none of the 6 MB of vectors, through a small buffer.
    let storage = Counting(&file, Cell::new(0));
    let mut buffer = [0; 4096];
    let mut seek =
        Seek::new(&storage, FinalfusionDecoder::new(Mode::Strict), &mut buffer).without_data();
    while seek.next_event(|_| Ok(())).unwrap() {}
    let layout = seek.decoder().layout().unwrap();
    assert!(storage.1.get() < layout.words.bytes + 2 * 4096);

    let words = indexed_stored(&storage, layout).unwrap();
    storage.1.set(0);
    let (found, _) = vector(&words, "word4321").unwrap().unwrap();
    assert_eq!(found, parts.floats[4321 * 300..4322 * 300]);
    // The entry's length and bytes, and 1200 bytes of vector.
    assert!(storage.1.get() < 1300, "{} bytes read", storage.1.get());

    storage.1.set(0);
    assert!(vector(&words, "missing").unwrap().is_none());
    assert!(storage.1.get() < 100);

    // A scan reads only the requested vector.
    storage.1.set(0);
    let scan = Words::scan(Stored(&storage), layout);
    assert_eq!(vector(&scan, "word4321").unwrap().unwrap().0, found);
    assert!(storage.1.get() < layout.words.bytes * 2 + 4096);
}

#[test]
fn a_search_in_parts_merges_to_the_search_of_all() {
    let parts = made_up(11, 1, false);
    let file = parts.write();
    let words = indexed(&file, IndexOptions::default()).unwrap();
    let query = Numbers(5).floats(words.cols());
    let all = search(&words, &query, &[], 7, 0).unwrap().remove(0);
    let count = words.layout().vocabulary.words;
    for cut in 0..=count {
        let mut memory = vec![Scored::default(); 7];
        let mut merged = TopK::new(&mut memory, &[]);
        for rows in [0..cut, cut..count] {
            let mut memory = vec![Scored::default(); 7];
            let mut tops = [TopK::new(&mut memory, &[])];
            let memory = SearchMemory { floats: &mut [], tile: &mut [] };
            words.search(kernel::detect().product_f32, rows, &query, &mut tops, memory).unwrap();
            words.merge(&mut merged, tops[0].rows()).unwrap();
        }
        assert_eq!(words.ranked(merged).unwrap(), all);
    }
}

#[test]
fn a_search_on_codes_scores_as_reconstructed_vectors_do() {
    for seed in 0..60 {
        let parts = made_up(seed, 0, true);
        let file = parts.write();
        let words = indexed(&file, IndexOptions::default()).unwrap();
        let layout = *words.layout();
        let cols = words.cols();
        let queries = Numbers(!seed).floats(3 * cols);
        let count = parts.words.len();
        let found = search(&words, &queries, &[], count, 0).unwrap();
        // With random access, one row at a time.
        let stored = indexed_stored(&file[..], layout).unwrap();
        let tile = usize::try_from(layout.storage.cols()).unwrap();
        assert_eq!(search(&stored, &queries, &[], count, tile).unwrap(), found);
        for (query, found) in queries.chunks(cols).zip(found) {
            assert_eq!(found.len(), count);
            for scored in found {
                let (mut row, mut scratch) = (vec![0.0; cols], vec![0.0; cols]);
                words.row(scored.row.into(), &mut row, &mut scratch).unwrap();
                let exact: f64 =
                    row.iter().zip(query).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                let size: f64 = row.iter().zip(query).map(|(x, y)| f64::from((x * y).abs())).sum();
                let bound = 1e-5 * size.max(1.0) * f64::from(u32::try_from(cols).unwrap());
                assert!((f64::from(scored.score) - exact).abs() < bound);
            }
        }
    }
}

#[test]
fn a_search_in_storage_is_that_in_memory() {
    let parts = made_up(3, 0, false);
    let file = parts.write();
    let words = indexed(&file, IndexOptions::default()).unwrap();
    let stored = indexed_stored(&file[..], *words.layout()).unwrap();
    let cols = words.cols();
    for count in [1, 5] {
        let queries = Numbers(9).floats(count * cols);
        let expected = search(&words, &queries, &[2], 6, 0).unwrap();
        for tile in [4 * cols, 12 * cols, 1 << 16] {
            assert_eq!(search(&stored, &queries, &[2], 6, tile).unwrap(), expected);
        }
        let error = search(&stored, &queries, &[], 6, 4 * cols - 1).expect_err("no room for a row");
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    }
}

#[test]
fn a_row_of_what_is_not_a_number_is_nobodys_neighbour() {
    let mut parts = simple(&[b"a", b"b", b"c"]);
    parts.floats[2] = f32::NAN;
    let file = parts.write();
    let words = indexed(&file, IndexOptions::default()).unwrap();
    let best = search(&words, &[1.0, 0.0], &[], 3, 0).unwrap().remove(0);
    assert_eq!(best.iter().map(|scored| scored.row).collect::<Vec<_>>(), [2, 0]);
}
