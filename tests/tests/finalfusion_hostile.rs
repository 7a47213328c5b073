//! Files with one invalid field: the error and its offset, and no panics in files that still open.

use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{
    Finalfusion, FinalfusionDecoder, FinalfusionVerifier, StorageSpec,
};
use nanoembed_core::read::Slice;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::words::IndexOptions;
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data;
use nanoembed_tests::finalfusion::{KINDS, Parts, indexed, made_up, vector};
use nanoembed_tests::formats::FORMATS;
use nanoembed_tests::fuzz::{self, sources_agree};
use nanoembed_tests::hostile::each_mutation;

/// Two words and subwords of this kind, two columns, norms.
fn parts(subwords: Subwords, rows: u64) -> Parts {
    let (words, ngrams): (&[&str], Vec<(Vec<u8>, u64)>) = match subwords {
        Subwords::Explicit { .. } => {
            (&["ab", "cd"], vec![(b"<a".to_vec(), 0), (b"b>".to_vec(), 1)])
        }
        Subwords::Floret { .. } => (&[], vec![]),
        _ => (&["ab", "cd"], vec![]),
    };
    let rows = rows + words.len() as u64;
    Parts {
        metadata: None,
        vocabulary: WordVocabulary {
            words: 0,
            subwords,
            min_n: 2,
            max_n: 3,
            begin: Bracket::BEGIN,
            end: Bracket::END,
        },
        words: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        ngrams,
        storage: StorageSpec::Array { rows, cols: 2 },
        floats: vec![0.5; usize::try_from(2 * rows).unwrap()],
        codes: vec![],
        norms: Some(vec![1.0; words.len()]),
    }
}

fn bucket() -> Vec<u8> {
    parts(Subwords::Buckets { exponent: 2 }, 4).write()
}

fn quantized() -> Vec<u8> {
    let mut parts = parts(Subwords::Buckets { exponent: 0 }, 1);
    parts.storage = StorageSpec::Quantized {
        rows: 3,
        cols: 4,
        codes_per_row: 2,
        centroids: 3,
        projection: false,
        norms: false,
    };
    parts.floats = vec![0.25; 12];
    parts.codes = vec![0, 1, 2, 0, 1, 2];
    parts.write()
}

fn set<const N: usize>(file: &[u8], at: usize, field: [u8; N]) -> Vec<u8> {
    let mut file = file.to_vec();
    file[at..at + N].copy_from_slice(&field);
    file
}

fn u32_at(file: &[u8], at: usize, value: u32) -> Vec<u8> {
    set(file, at, value.to_le_bytes())
}

fn u64_at(file: &[u8], at: usize, value: u64) -> Vec<u8> {
    set(file, at, value.to_le_bytes())
}

#[track_caller]
fn assert_refused(file: &[u8], offset: u64, kind: ErrorKind) {
    let error = Finalfusion::parse(file, Mode::Lenient).err();
    assert_eq!(error, Some(Error::new(offset, kind)));
}

/// Accepted in lenient mode, with strict mode's error as its deviation.
#[track_caller]
fn assert_deviates(file: &[u8], offset: u64, kind: ErrorKind) {
    let error = Error::new(offset, kind);
    assert_eq!(Finalfusion::parse(file, Mode::Strict).err(), Some(error));
    assert_eq!(Finalfusion::parse(file, Mode::Lenient).unwrap().deviation(), Some(error));
}

// Offsets in `bucket()`: header 0, list 12 (3, 2, 6), vocabulary 24, words 56, storage 68, data
// 100, norms 148.
const VOCABULARY: usize = 24;
const STORAGE: usize = 68;
const NORMS: usize = 148;

#[test]
fn the_layout_is_what_these_tests_think() {
    let file = bucket();
    let read = Finalfusion::parse(&file, Mode::Strict).unwrap();
    let offsets: Vec<_> = read.layout().chunks().map(|chunk| chunk.offset).collect();
    assert_eq!(offsets, [VOCABULARY as u64, STORAGE as u64, NORMS as u64]);
    assert_eq!((read.layout().words.offset, read.layout().norms), (56, Some(176)));
    assert_eq!(read.tensor("embeddings").unwrap().header().offset, 100);
}

#[test]
fn header() {
    let file = bucket();
    assert_refused(b"", 0, ErrorKind::UnexpectedEnd);
    assert_refused(b"FiFu", 0, ErrorKind::UnexpectedEnd);
    assert_refused(b"FiFx", 0, ErrorKind::BadMagic);
    assert_refused(&u32_at(&file, 4, 1), 4, ErrorKind::UnsupportedVersion);
    assert_refused(&u32_at(&file, 8, 0), 8, ErrorKind::BadCount);
    // A longer list includes the vocabulary's header.
    assert_refused(&u32_at(&file, 8, 4), 28, ErrorKind::BadChunk);
    assert_refused(&u32_at(&file, 8, u32::MAX), file.len() as u64, ErrorKind::UnexpectedEnd);
}

#[test]
fn the_list_of_chunks_is_advisory() {
    let file = bucket();
    assert_deviates(&u32_at(&file, 12, 99), 12, ErrorKind::BadChunk);
    assert_deviates(&u32_at(&file, 12, 1), 24, ErrorKind::BadChunk);
    // Norms that are announced but missing.
    assert_deviates(&file[..NORMS], NORMS as u64, ErrorKind::UnexpectedEnd);
}

#[test]
fn chunks_in_the_wrong_place() {
    let file = bucket();
    // Storage before the vocabulary, two vocabularies, metadata after the vocabulary, an unknown
    // chunk.
    assert_refused(&u32_at(&file, VOCABULARY, 2), 24, ErrorKind::BadChunk);
    assert_refused(&u32_at(&file, STORAGE, 3), 68, ErrorKind::BadChunk);
    assert_refused(&u32_at(&file, STORAGE, 5), 68, ErrorKind::BadChunk);
    assert_refused(&u32_at(&file, STORAGE, 0), 68, ErrorKind::BadChunk);
    assert_refused(&u32_at(&file, STORAGE, 10), 68, ErrorKind::BadChunk);
    // A second storage after the storage; unknown chunks are skipped there.
    assert_refused(&u32_at(&file, NORMS, 2), 148, ErrorKind::BadChunk);
    assert_deviates(&u32_at(&file, NORMS, 77), 148, ErrorKind::BadChunk);
}

#[test]
fn declared_lengths_of_vocabularies_are_not_relied_upon() {
    let file = bucket();
    let at = VOCABULARY as u64 + 4;
    assert_deviates(&u64_at(&file, VOCABULARY + 4, 0), at, ErrorKind::SizeMismatch);
    // They determine the padding of tensors.
    for (chunk, length) in [(STORAGE, u64::MAX), (STORAGE, 0), (NORMS, 1)] {
        let at = chunk as u64 + 4;
        assert_refused(&u64_at(&file, chunk + 4, length), at, ErrorKind::SizeMismatch);
    }
    // The explicit vocabularies of another writer are short by eight bytes per n-gram.
    let explicit = data::read("finalfusion/explicit.fifu");
    let chunk = Finalfusion::parse(&explicit, Mode::Strict).unwrap();
    let chunk = *chunk.layout().chunks().next().unwrap();
    assert_eq!((chunk.declared_bytes, chunk.payload_bytes), (18114, 18114));
    let at = usize::try_from(chunk.offset).unwrap() + 4;
    assert_deviates(&u64_at(&explicit, at, 9754), at as u64, ErrorKind::SizeMismatch);
}

/// Removes the four bytes of padding that end at `data` from a chunk.
fn unpadded(file: &[u8], chunk: usize, data: usize) -> Vec<u8> {
    let length = u64::from_le_bytes(file[chunk + 4..chunk + 12].try_into().unwrap());
    let mut file = u64_at(file, chunk + 4, length - 4);
    assert_eq!(file.drain(data - 4..data).collect::<Vec<u8>>(), [0; 4]);
    file
}

/// The result is the same with every source and every cut.
#[track_caller]
fn assert_read_alike(file: &[u8]) {
    let format = FORMATS.iter().find(|format| format.name == "finalfusion").unwrap();
    for mode in [Mode::Strict, Mode::Lenient] {
        for cut in 0..file.len() {
            sources_agree(format, file, mode, &[cut]);
        }
    }
    fuzz::finalfusion(file);
}

#[test]
fn padding_as_the_specification_prints_it_is_told_by_the_length_of_the_chunk() {
    let file = bucket();
    let storage = unpadded(&file, STORAGE, 100);
    let both = unpadded(&storage, NORMS - 4, 172);
    let norms = unpadded(&file, NORMS, 176);
    for (printed, chunk) in [(&storage, STORAGE), (&both, STORAGE), (&norms, NORMS)] {
        assert_deviates(printed, chunk as u64 + 4, ErrorKind::BadVersion);
        let (read, original) = (
            Finalfusion::parse(printed, Mode::Lenient).unwrap(),
            Finalfusion::parse(&file, Mode::Strict).unwrap(),
        );
        for tensor in original.tensors() {
            let found = read.tensor(tensor.header().name).unwrap();
            assert_eq!(found.data(), tensor.data(), "{}", tensor.header().name);
        }
        assert_read_alike(printed);
    }
    // If the fields end elsewhere, both paddings are the same.
    let odd = data::read("finalfusion/quantized_p1_n1_pad0.fifu");
    let chunk = *Finalfusion::parse(&odd, Mode::Strict).unwrap().layout().chunks().last().unwrap();
    let at = usize::try_from(chunk.offset).unwrap() + 4;
    for length in [chunk.declared_bytes - 4, chunk.declared_bytes + 4] {
        let wrong = u64_at(&odd, at, length);
        assert_refused(&wrong, at as u64, ErrorKind::SizeMismatch);
        assert_read_alike(&wrong);
    }
}

#[test]
fn fields_as_the_specification_prints_them_are_read_or_refused() {
    for subwords in [Subwords::Buckets { exponent: 2 }, Subwords::FastText { buckets: 4 }] {
        let file = parts(subwords, 4).write();
        let mut printed = file.clone();
        // The number of words comes last.
        printed[36..56].rotate_left(8);
        assert_deviates(&printed, 36, ErrorKind::BadVersion);
        let (read, original) = (
            Finalfusion::parse(&printed, Mode::Lenient).unwrap(),
            Finalfusion::parse(&file, Mode::Strict).unwrap(),
        );
        assert_eq!(read.vocabulary(), original.vocabulary());
        assert!(read.words().eq(original.words()));
        assert_read_alike(&printed);
    }
    let mut explicit = parts(Subwords::Explicit { ngrams: 2 }, 2).write();
    // The lengths of n-grams, the number of words, and their entries.
    let fields = [2_u32, 3, 2, 0].map(u32::to_le_bytes).concat();
    explicit.splice(36..60, fields);
    assert_refused(&explicit, 36, ErrorKind::UnsupportedVersion);
    assert_read_alike(&explicit);
}

#[test]
fn metadata() {
    let mut parts = parts(Subwords::Buckets { exponent: 2 }, 4);
    parts.metadata = Some("k = \"é\"\n".to_owned());
    let file = parts.write();
    // List of four, so the chunk lies at 28 and its text at 40, nine bytes long.
    assert_eq!(Finalfusion::parse(&file, Mode::Strict).unwrap().metadata(), Some("k = \"é\"\n"));
    assert_refused(&u64_at(&file, 32, 5), 40 + 5, ErrorKind::BadChunk);
    assert_refused(&u64_at(&file, 32, 6), 40 + 5, ErrorKind::InvalidUtf8);
    assert_refused(&u64_at(&file, 32, u64::MAX), 32, ErrorKind::OutOfBounds);
    assert_refused(&set(&file, 46, *b"x"), 45, ErrorKind::InvalidUtf8);
    // No parser of TOML runs here, so no depth of nesting matters.
    parts.metadata = Some("a = ".to_owned() + &"[".repeat(100_000));
    let file = parts.write();
    assert_eq!(Finalfusion::parse(&file, Mode::Strict).unwrap().metadata().unwrap().len(), 100_004);
}

#[test]
fn vocabulary_fields() {
    let file = bucket();
    for words in [1_u64 << 32, 1 << 40, 1 << 63, u64::MAX] {
        assert_refused(&u64_at(&file, 36, words), 36, ErrorKind::BadCount);
    }
    // A plausible count that is too large: the storage's identifier and length are read as a word.
    assert_refused(&u64_at(&file, 36, 3), 74, ErrorKind::BadChunk);
    // The second word's length is an array's identifier, and the following bytes are not an element
    // type.
    assert_refused(&u64_at(&file, 36, 1), 86, ErrorKind::BadDtype);
    assert_refused(&u32_at(&file, 44, 0), 44, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&file, 44, 4), 48, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&file, 48, 1), 48, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&file, 52, 64), 52, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&file, 52, 65), 52, ErrorKind::BadVocabulary);
    for exponent in [0, 1, 3, 31, 32, 63] {
        assert_refused(&u32_at(&file, 52, exponent), 80, ErrorKind::WrongShape);
    }
    assert_refused(&u32_at(&file, 56, 65_537), 56, ErrorKind::NameTooLong);
    assert_refused(&u32_at(&file, 56, u32::MAX), 56, ErrorKind::NameTooLong);
    assert_refused(&u32_at(&file, 56, 65_536), 56, ErrorKind::UnexpectedEnd);
    assert_refused(&set(&file, 60, [0xff]), 60, ErrorKind::InvalidUtf8);

    let fasttext = parts(Subwords::FastText { buckets: 4 }, 4).write();
    assert_refused(&u32_at(&fasttext, 52, 0), 52, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&fasttext, 52, 1 << 31), 52, ErrorKind::BadVocabulary);

    // Floret: lengths at 36, buckets at 44, hashes at 52, seed, brackets at 60.
    let floret = parts(Subwords::Floret { buckets: 4, hashes: 2, seed: 1 }, 4).write();
    assert_refused(&u64_at(&floret, 44, 0), 44, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&floret, 52, 0), 52, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&floret, 52, 5), 52, ErrorKind::BadVocabulary);
    assert_refused(&u32_at(&floret, 60, 33), 60, ErrorKind::NameTooLong);
    assert_refused(&set(&floret, 64, [0x80]), 64, ErrorKind::InvalidUtf8);

    // Explicit: counts at 36 and 44, lengths at 52, words at 60, n-grams at 72: 6 bytes and an
    // index each.
    let explicit = parts(Subwords::Explicit { ngrams: 2 }, 2).write();
    assert_refused(&u64_at(&explicit, 44, 1 << 32), 44, ErrorKind::BadCount);
    // Both n-grams with one index: two rows are one too many, and the error is at the rows' count.
    assert_refused(&u64_at(&explicit, 92, 0), 112, ErrorKind::WrongShape);
    // An index without a row is a number like any other: the second different one is row 1.
    let renumbered = u64_at(&explicit, 92, 1 << 40);
    let words = indexed(&renumbered, IndexOptions::default()).unwrap();
    assert_eq!(
        words.subword_rows("ab", |row| {
            let _: () = assert!(row == 2 || row == 3);
            Ok(())
        }),
        Ok(2)
    );
}

#[test]
fn storage_fields() {
    let file = bucket();
    for rows in [0, 1, 5, 7, 1 << 32, 1 << 62, u64::MAX] {
        assert_refused(&u64_at(&file, 80, rows), 80, ErrorKind::WrongShape);
    }
    // Missing columns: the chunk is shorter than declared.
    for cols in [0, 1, 3, u32::MAX] {
        assert_refused(&u32_at(&file, 88, cols), 72, ErrorKind::SizeMismatch);
    }
    for element in 0..=12 {
        match element {
            10 => continue,
            0..=9 | 11 => {
                assert_refused(&u32_at(&file, 92, element), 92, ErrorKind::UnsupportedDtype);
            }
            _ => assert_refused(&u32_at(&file, 92, element), 92, ErrorKind::BadDtype),
        }
    }
    // Padding is skipped without being checked, as in other readers.
    assert!(Finalfusion::parse(&u32_at(&file, 96, 77), Mode::Strict).is_ok());
    // 2^63 buckets are counted by the rows of a wrong file, but never fit.
    let overflow = u64_at(&u32_at(&file, 52, 63), 80, (1 << 63) + 2);
    assert_refused(&overflow, 80, ErrorKind::SizeOverflow);
    // A matrix without rows may not declare vectors of any length.
    let empty = u64_at(&parts(Subwords::None, 0).write(), 28 + 8, 0);
    assert!(Finalfusion::parse(&empty, Mode::Lenient).is_err());
}

#[test]
fn norms_fields() {
    let file = bucket();
    for count in [0, 1, 3, u64::MAX] {
        assert_refused(&u64_at(&file, NORMS + 12, count), 160, ErrorKind::WrongShape);
    }
    assert_refused(&u32_at(&file, NORMS + 20, 1), 168, ErrorKind::UnsupportedDtype);
}

#[test]
fn quantised_fields() {
    // Storage at 68: flags at 80 and 84, codes per row at 88, columns at 92, centroids at 96, rows
    // at 100, types at 108.
    let file = quantized();
    for flag in [80, 84] {
        // A flag declares missing data; the offset of the error depends on the flag.
        for value in [1, 2, u32::MAX] {
            assert!(Finalfusion::parse(&u32_at(&file, flag, value), Mode::Lenient).is_err());
        }
    }
    assert_refused(&u32_at(&file, 88, 0), 88, ErrorKind::BadDimensions);
    assert_refused(&u32_at(&file, 88, 3), 92, ErrorKind::BadDimensions);
    assert_refused(&u32_at(&file, 88, 8), 92, ErrorKind::BadDimensions);
    assert_refused(&u32_at(&file, 96, 0), 96, ErrorKind::BadDimensions);
    assert_refused(&u32_at(&file, 96, 257), 96, ErrorKind::BadDimensions);
    assert_refused(&u64_at(&file, 100, 1 << 40), 100, ErrorKind::WrongShape);
    assert_refused(&u32_at(&file, 108, 10), 108, ErrorKind::UnsupportedDtype);
    assert_refused(&u32_at(&file, 112, 1), 112, ErrorKind::UnsupportedDtype);
}

#[test]
fn a_code_that_no_centroid_has_is_found_by_whoever_uses_it() {
    let file = quantized();
    let codes = Finalfusion::parse(&file, Mode::Strict).unwrap();
    let codes = usize::try_from(codes.tensor("codes").unwrap().header().offset).unwrap();
    let bad = set(&file, codes + 3, [3]);
    let error = Error::new(codes as u64 + 3, ErrorKind::CodeOutOfRange);
    let words = indexed(&bad, IndexOptions::default()).expect("opening looks at no code");
    assert!(vector(&words, "ab").is_ok());
    assert_eq!(vector(&words, "cd"), Err(error));
    let query = vec![1.0; 4];
    assert_eq!(nanoembed_tests::finalfusion::search(&words, &query, &[], 1, 0), Err(error));
    let mut verifier =
        Slice::new(FinalfusionVerifier::new(FinalfusionDecoder::new(Mode::Strict)), &bad);
    let found = loop {
        match verifier.next_event() {
            Ok(nanoembed_core::event::Event::End) => panic!("not found"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(found, error);
}

#[test]
fn the_longest_ngrams_and_words_take_bounded_time() {
    let file = u32_at(&bucket(), 48, u32::MAX);
    let words = indexed(&file, IndexOptions::default()).unwrap();
    assert!(vector(&words, "word").unwrap().is_some());
    let error = vector(&words, &"x".repeat(65_536)).expect_err("more n-grams than anybody adds up");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // With the usual lengths such a word is accepted.
    let file = u32_at(&bucket(), 48, 6);
    let words = indexed(&file, IndexOptions::default()).unwrap();
    assert!(vector(&words, &"x".repeat(65_536)).unwrap().is_some());
}

#[test]
fn strange_names_are_words_like_any_other() {
    let long = vec![b'x'; 65_536];
    let names: [&[u8]; 5] = [b"", b"\0", b"a\0b", &long, " \t\n".as_bytes()];
    let mut parts = parts(Subwords::None, 3);
    parts.words = names.iter().map(|name| name.to_vec()).collect();
    parts.norms = None;
    let file = parts.write();
    let words = indexed(&file, IndexOptions::default()).unwrap();
    for (row, name) in (0..).zip(names) {
        assert_eq!(words.find(name), Ok(Some(row)));
        assert_eq!(words.word(row), Ok(name));
    }
}

#[test]
fn a_mutated_file_that_still_opens_can_be_used() {
    for kind in KINDS {
        for quantized in [false, true] {
            let file = made_up(kind + 10, kind, quantized).write();
            fuzz::finalfusion(&file);
            // Header and vocabulary; bulk data is only numbers. The fuzz target covers more.
            let read = Finalfusion::parse(&file, Mode::Strict).unwrap();
            let bulk = read.tensors().next().unwrap().header().offset;
            let places = (0..usize::try_from(bulk).unwrap()).step_by(5);
            each_mutation(&file, places, |mutated, _| fuzz::finalfusion(mutated));
        }
    }
}

/// A file that has become shorter since it was opened.
#[derive(Clone, Copy)]
struct Shrunk<'f>(&'f [u8], usize);

impl nanoembed_core::read::ReadAt for Shrunk<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        self.0[..self.1].read_at(offset, destination)
    }
}

#[test]
fn a_source_that_changes_between_calls_is_an_error() {
    let file = bucket();
    let layout = *Finalfusion::parse(&file, Mode::Strict).unwrap().layout();
    for cut in [0, 30, 58, 101, 130, file.len() - 1] {
        let words = nanoembed_core::words::Words::scan(
            nanoembed_core::words::Stored(Shrunk(&file, cut)),
            layout,
        );
        // The first word, and a word of n-grams.
        let errors = ["cd", "xy"].map(|word| vector(&words, word).err().map(|error| error.kind()));
        assert!(errors.contains(&Some(ErrorKind::SourceChanged)), "{cut}: {errors:?}");
        let memory =
            nanoembed_core::words::Words::scan(nanoembed_core::words::Memory(&file[..cut]), layout);
        assert!(vector(&memory, "cd").is_err(), "{cut}");
    }
}
