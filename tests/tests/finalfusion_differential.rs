//! The core against crate `finalfusion`, in both directions, on synthetic files of every kind and
//! words in many scripts.

use std::io::Cursor;

use finalfusion::io::WriteEmbeddings as _;
use finalfusion::prelude::{Embeddings, ReadEmbeddings, StorageWrap, VocabWrap};
use finalfusion::similarity::{Analogy as _, WordSimilarity as _};
use finalfusion::storage::NdArray;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::Finalfusion;
use nanoembed_core::words::{Found, IndexOptions, Memory, Rows, Words};
use nanoembed_tests::finalfusion::{
    IndexedWords, KINDS, Numbers, indexed, made_up, rewritten, search, vector,
};
use proptest::prelude::*;

type Theirs = Embeddings<VocabWrap, StorageWrap>;

fn assert_close(ours: &[f32], theirs: &[f32], context: &str) {
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!(
            (ours - theirs).abs() <= 1e-5 * theirs.abs().max(1.0),
            "{context}: {ours} {theirs}"
        );
    }
}

/// Looking words up in a batch gives the same vectors as one at a time.
fn compare_batches(ours: &IndexedWords<'_>, words: &[String]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let cols = ours.cols();
    let (mut out, mut found) = (vec![0.0; words.len() * cols], vec![None; words.len()]);
    let mut scratch = vec![0.0; ours.scratch_needed()];
    ours.vectors(&words, &mut out, &mut found, &mut scratch).expect("lookups");
    for ((word, out), found) in words.iter().zip(out.chunks(cols)).zip(found) {
        let alone = vector(ours, word).expect("a lookup");
        assert_eq!(alone, found.map(|found| (out.to_vec(), found)), "{word:?} among others");
    }
}

/// The borrowed row of a known word equals the copied one.
fn compare_view(words: &IndexedWords<'_>, (vector, found): &(Vec<f32>, Found), quantized: bool) {
    let Rows::Word { row } = found.rows else { return };
    let view = words.row_view(row.into()).expect("a row");
    assert_eq!(view.is_none(), quantized);
    if let Some(view) = view {
        let values = view.iter().map(|bytes| f32::from_le_bytes(*bytes));
        assert!(values.map(f32::to_bits).eq(vector.iter().copied().map(f32::to_bits)));
    }
    let rows = words.layout().storage.rows();
    assert_eq!(words.row_view(rows).is_err(), !quantized);
}

/// Looks words up in the same file with both.
fn compare_lookups(file: &[u8], theirs: &Theirs, words: &[String], quantized: bool) {
    let ours = indexed(file, IndexOptions::default()).expect("ours opens it");
    let scan = Words::scan(Memory(file), *ours.layout());
    compare_batches(&ours, words);
    for word in words {
        let found = vector(&ours, word).expect("a lookup");
        assert_eq!(vector(&scan, word), Ok(found.clone()), "{word:?} scanned");
        found.iter().for_each(|found| compare_view(&ours, found, quantized));
        match (found, theirs.embedding_with_norm(word)) {
            (None, None) => {}
            (Some((vector, found)), Some(expected)) => {
                let expected_vector = expected.embedding.to_vec();
                if quantized {
                    assert_close(&vector, &expected_vector, word);
                    assert_close(&[found.norm], &[expected.norm], word);
                } else {
                    assert_eq!((vector, found.norm), (expected_vector, expected.norm), "{word:?}");
                }
            }
            (ours, theirs) => panic!("{word:?}: {ours:?} {}", theirs.is_some()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn both_read_what_both_write_and_look_words_up_alike(
        seed: u64, kind in KINDS, quantized: bool,
    ) {
        let parts = made_up(seed, kind, quantized);
        let file = parts.write();
        let theirs = Theirs::read_embeddings(&mut Cursor::new(&file)).expect("theirs reads ours");

        let mut numbers = Numbers(!seed);
        let mut words = numbers.words(30, 9);
        words.extend(parts.words.iter().map(|word| String::from_utf8(word.clone()).unwrap()));
        compare_lookups(&file, &theirs, &words, quantized);

        let mut written = Cursor::new(Vec::new());
        theirs.write_embeddings(&mut written).expect("theirs writes");
        let written = written.into_inner();
        let read = Finalfusion::parse(&written, Mode::Strict).expect("ours reads theirs");
        prop_assert_eq!(rewritten(&read).unwrap(), &written[..]);
        prop_assert_eq!(&written, &file);
    }

    #[test]
    fn neighbours_and_their_order_are_theirs(seed: u64, kind in 0_u64..4, limit in 0_usize..50) {
        let mut parts = made_up(seed, kind, false);
        // Few different vectors, so that many words have the same score.
        parts.floats.iter_mut().for_each(|value| *value = value.round().clamp(-1.0, 1.0));
        let file = parts.write();
        let theirs = Embeddings::<VocabWrap, NdArray>::read_embeddings(&mut Cursor::new(&file)).unwrap();
        let ours = indexed(&file, IndexOptions::default()).unwrap();
        let mut numbers = Numbers(!seed);
        let mut words = numbers.words(5, 5);
        words.extend(parts.words.iter().take(5).map(|word| String::from_utf8(word.clone()).unwrap()));
        let mut queries = Vec::new();
        for word in &words {
            let Some((query, _)) = vector(&ours, word).unwrap() else { continue };
            let skip: Vec<_> = ours.find(word.as_bytes()).unwrap().into_iter().collect();
            let found = search(&ours, &query, &skip, limit, 0).unwrap().remove(0);
            let found: Vec<_> =
                found.iter().map(|s| (ours.word(s.row).unwrap(), s.cosine())).collect();
            // The crate panics without words, and with a limit of 0.
            if limit > 0 && !parts.words.is_empty() {
                let expected = theirs.word_similarity(word, limit, None).unwrap();
                let expected: Vec<_> =
                    expected.iter().map(|r| (r.word().as_bytes(), r.cosine_similarity())).collect();
                prop_assert_eq!(found, expected);
            }
            queries.extend(query);
        }
        // Queries searched together give the same results as one by one.
        let cols = ours.cols();
        if limit == 0 {
            return Ok(());
        }
        for (query, batch) in queries.chunks(cols).zip(search(&ours, &queries, &[], limit, 0).unwrap()) {
            let alone = search(&ours, query, &[], limit, 0).unwrap().remove(0);
            prop_assert_eq!(alone, batch);
        }
    }

    #[test]
    fn analogies_are_theirs(seed: u64, kind in 0_u64..4, mask in any::<[bool; 3]>()) {
        let parts = made_up(seed, kind, false);
        let file = parts.write();
        let theirs = Embeddings::<VocabWrap, NdArray>::read_embeddings(&mut Cursor::new(&file)).unwrap();
        let ours = indexed(&file, IndexOptions::default()).unwrap();
        let mut numbers = Numbers(!seed);
        let mut words = numbers.words(3, 6);
        words.extend(parts.words.iter().map(|word| String::from_utf8(word.clone()).unwrap()));
        prop_assume!(words.len() >= 4 && !parts.words.is_empty());
        let mut pick = || words[usize::try_from(numbers.below(words.len() as u64)).unwrap()].clone();
        let [a, b, c] = [pick(), pick(), pick()];
        let mut query = vec![0.0; ours.cols()];
        let mut scratch = vec![0.0; ours.cols()];
        let analogy = ours.analogy([&a, &b, &c], &mut query, &mut scratch).unwrap();
        match theirs.analogy_masked([&a, &b, &c], mask, 10, None) {
            Err(present) => prop_assert_eq!(present, analogy.present),
            Ok(expected) => {
                prop_assert_eq!(analogy.present, [true; 3]);
                let masked = analogy.rows.iter().zip(mask).filter(|(_, masked)| *masked);
                let skip: Vec<u32> = masked.filter_map(|(row, _)| *row).collect();
                let found = search(&ours, &query, &skip, 10, 0).unwrap().remove(0);
                let found: Vec<_> = found.iter().map(|s| (ours.word(s.row).unwrap(), s.cosine())).collect();
                let expected: Vec<_> =
                    expected.iter().map(|r| (r.word().as_bytes(), r.cosine_similarity())).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
