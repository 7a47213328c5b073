//! Files and results of the reference implementation.

use std::collections::BTreeMap;

use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{Finalfusion, Storage, StorageSpec};
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::words::{
    IndexOptions, Memory, Rows, Source, Stored, Words, fasttext_hash, finalfusion_hash, floret_hash,
};
use nanoembed_tests::data;
use nanoembed_tests::finalfusion::{Parts, indexed, indexed_stored, rewritten, search, vector};
use serde_json::Value;

fn expected() -> BTreeMap<String, Value> {
    serde_json::from_slice(&data::read("finalfusion/expected.json")).expect("JSON")
}

/// The files to which an entry of `expected.json` applies.
fn files_of(entry: &str, test: &str) -> Vec<(String, Vec<u8>)> {
    let upstream = |name: &str| {
        let path = data::conformance(&format!("finalfusion/upstream/{name}"), test)?;
        Some((name.to_owned(), std::fs::read(path).expect("a file")))
    };
    if let Some(name) = entry.strip_prefix("finalfusion-rust/") {
        return upstream(name).into_iter().collect();
    }
    if let Some(name) = entry.strip_prefix("finalfusion-python/") {
        return upstream(&format!("py_{name}")).into_iter().collect();
    }
    let (start, end) = entry.split_once('*').unwrap_or((entry, ""));
    let files = data::files("finalfusion", &["fifu"]);
    let named = |name: &str| name.starts_with(start) && name.ends_with(end);
    files.into_iter().filter(|(name, _)| named(name)).collect()
}

fn floats(value: &Value, key: &str) -> Vec<f32> {
    let bits = value[key].as_array().expect("an array of bits");
    bits.iter().map(|bits| f32::from_bits(u32::try_from(bits.as_u64().unwrap()).unwrap())).collect()
}

fn assert_lookup<S: Source, M: AsRef<[u64]>>(
    words: &Words<S, M>,
    word: &str,
    expected: &Value,
    context: &str,
) {
    let found = vector(words, word).expect("a lookup");
    if expected.is_null() {
        assert!(found.is_none(), "{context}");
        return;
    }
    let (vector, found) = found.unwrap_or_else(|| panic!("{context}: nothing found"));
    let mut rows = Vec::new();
    let kind = words.rows(word, |row| {
        rows.push(row);
        Ok(())
    });
    assert_eq!(kind, Ok(Some(found.rows)), "{context}");
    let is_word = matches!(found.rows, Rows::Word { .. });
    assert_eq!(is_word, expected["kind"] == "word", "{context}");
    let indices: Vec<_> =
        expected["indices"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
    assert_eq!(rows, indices, "{context}");
    let norm = u32::try_from(expected["norm_bits"].as_u64().unwrap()).unwrap();
    assert_eq!(found.norm.to_bits(), norm, "{context}");
    let expected = floats(expected, "bits");
    let bits = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&vector), bits(&expected), "{context}: {vector:?} {expected:?}");
}

#[test]
fn every_lookup_has_the_rows_and_the_bits_of_the_reference() {
    let mut lookups = 0;
    for (entry, expected) in expected().into_iter().filter(|(entry, _)| !entry.contains('#')) {
        if entry == "hash_vectors" {
            continue;
        }
        for (name, file) in
            files_of(&entry, "every_lookup_has_the_rows_and_the_bits_of_the_reference")
        {
            let layout = *Finalfusion::parse(&file, Mode::Lenient).expect("a good file").layout();
            let in_memory = indexed(&file, IndexOptions::default()).expect("an index");
            let stored = indexed_stored(&file[..], layout).expect("an index");
            for (word, expected) in expected.as_object().expect("words") {
                let context = format!("{name} {word:?}");
                assert_lookup(&in_memory, word, expected, &format!("{context} indexed"));
                assert_lookup(&stored, word, expected, &format!("{context} indexed, stored"));
                let scan = Words::scan(Memory(&file), layout);
                assert_lookup(&scan, word, expected, &format!("{context} scanned"));
                let scan = Words::scan(Stored(&file[..]), layout);
                assert_lookup(&scan, word, expected, &format!("{context} scanned, stored"));
                lookups += 1;
            }
        }
    }
    assert!(lookups > 100, "{lookups} lookups");
}

#[test]
fn neighbours_have_the_order_and_scores_of_the_reference() {
    let expected = &expected()["fasttext.fifu#similarity"];
    let file = data::read("finalfusion/fasttext.fifu");
    let words = indexed(&file, IndexOptions::default()).unwrap();
    for expected in expected.as_array().unwrap() {
        let query = expected["query"].as_str().unwrap();
        let (vector, found) = vector(&words, query).unwrap().unwrap();
        let skip = match found.rows {
            Rows::Word { row } => vec![row],
            Rows::Subwords { .. } => vec![],
        };
        let best = search(&words, &vector, &skip, 5, 0).unwrap().remove(0);
        for (scored, expected) in best.iter().zip(expected["top"].as_array().unwrap()) {
            assert_eq!(words.word(scored.row).unwrap(), expected[0].as_str().unwrap().as_bytes());
            let measures = [
                scored.cosine(),
                scored.angular(),
                scored.euclidean_distance(),
                scored.euclidean_similarity(),
            ];
            for (measure, expected) in measures.iter().zip(&expected.as_array().unwrap()[1..]) {
                assert!((f64::from(*measure) - expected.as_f64().unwrap()).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn hashes_are_those_of_the_reference() {
    for (ngram, hashes) in expected()["hash_vectors"].as_object().unwrap() {
        let finalfusion = format!("{:016x}", finalfusion_hash(ngram));
        assert_eq!(finalfusion, hashes["fifu_fnv1a64"].as_str().unwrap());
        let fasttext = u64::from(fasttext_hash(ngram) % 2_147_483_647);
        assert_eq!(fasttext, hashes["fasttext_mod_2147483647"].as_u64().unwrap());
        let (_, floret) =
            hashes.as_object().unwrap().iter().find(|(key, _)| key.starts_with("floret")).unwrap();
        let ours = floret_hash(ngram, 2_166_136_261).map(|hash| u64::from(hash) % 4_294_967_291);
        assert_eq!(serde_json::json!(ours), *floret);
    }
}

#[test]
fn floret_rows_are_those_of_the_reference_with_brackets_of_several_letters() {
    for (hashes, entry) in [
        (1, "floret_h1#indices seed42 n37 1..4 ^^ §$"),
        (4, "floret_h4#indices seed42 n37 1..4 ^^ §$"),
    ] {
        let parts = Parts {
            metadata: None,
            vocabulary: WordVocabulary {
                words: 0,
                subwords: Subwords::Floret { buckets: 37, hashes, seed: 42 },
                min_n: 1,
                max_n: 4,
                begin: Bracket::new("^^").unwrap(),
                end: Bracket::new("§$").unwrap(),
            },
            words: vec![],
            ngrams: vec![],
            storage: StorageSpec::Array { rows: 37, cols: 1 },
            floats: vec![1.0; 37],
            codes: vec![],
            norms: None,
        };
        let file = parts.write();
        let words = indexed(&file, IndexOptions::default()).unwrap();
        for (word, expected) in expected()[entry].as_object().unwrap() {
            let mut rows = Vec::new();
            words
                .subword_rows(word, |row| {
                    rows.push(row);
                    Ok(())
                })
                .unwrap();
            assert_eq!(serde_json::json!(rows), *expected, "{entry} {word}");
        }
    }
}

#[test]
fn what_was_read_is_written_byte_for_byte() {
    let mut files = data::files("finalfusion", &["fifu"]);
    for name in ["similarity", "quantized", "py_embeddings", "py_simple_vocab"] {
        let path = format!("finalfusion/upstream/{name}.fifu");
        if let Some(path) = data::conformance(&path, "what_was_read_is_written_byte_for_byte") {
            files.push((name.to_owned(), std::fs::read(path).unwrap()));
        }
    }
    for (name, file) in files {
        let read = Finalfusion::parse(&file, Mode::Lenient).unwrap();
        assert_eq!(rewritten(&read).unwrap(), file, "{name}");
    }
}

#[test]
fn a_file_whose_norms_are_not_listed_has_them_all_the_same() {
    let test = "a_file_whose_norms_are_not_listed_has_them_all_the_same";
    let Some(path) = data::conformance("finalfusion/upstream/py_embeddings.fifu", test) else {
        return;
    };
    let file = std::fs::read(path).unwrap();
    assert!(Finalfusion::parse(&file, Mode::Strict).is_err());
    let words = indexed(&file, IndexOptions::default()).unwrap();
    let norms = [6.557438, 8.831_76, 6.164414, 9.165152, 7.483315, 7.211103, 7.483315];
    for (row, norm) in (0..).zip(norms) {
        assert!((words.norm(row).unwrap() - norm).abs() < 1e-5);
    }
}

/// The published vectors in text, which the file's rows are.
#[test]
fn vectors_are_those_of_the_text_file() {
    let test = "vectors_are_those_of_the_text_file";
    let path = |name| data::conformance(&format!("finalfusion/upstream/{name}"), test);
    let (Some(file), Some(text)) = (path("similarity.fifu"), path("similarity.nodims")) else {
        return;
    };
    let file = std::fs::read(file).unwrap();
    let words = indexed(&file, IndexOptions::default()).unwrap();
    let text = std::fs::read_to_string(text).unwrap();
    let mut lines = 0;
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let (found, _) = vector(&words, fields.next().unwrap()).unwrap().unwrap();
        let values: Vec<f32> = fields.map(|field| field.parse().unwrap()).collect();
        assert_eq!(values.len(), found.len());
        for (value, found) in values.iter().zip(found) {
            assert!((value - found).abs() < 1e-5);
        }
        lines += 1;
    }
    assert_eq!(lines, words.layout().vocabulary.words);
}

/// A bare storage chunk of the reference at offset 0, appended to a vocabulary that ends at a
/// multiple of four.
#[test]
fn a_bare_quantised_chunk_is_reconstructed_as_its_own_centroids() {
    let test = "a_bare_quantised_chunk_is_reconstructed_as_its_own_centroids";
    let Some(path) = data::conformance("finalfusion/upstream/quantized_storage.bin", test) else {
        return;
    };
    let chunk = std::fs::read(path).unwrap();
    let mut file = b"FiFu\0\0\0\0\x02\0\0\0\x01\0\0\0\x04\0\0\0".to_vec();
    file.extend_from_slice(&1_u32.to_le_bytes());
    file.extend_from_slice(&(8 + 100 * 8_u64).to_le_bytes());
    file.extend_from_slice(&100_u64.to_le_bytes());
    for word in 1000..1100 {
        file.extend_from_slice(&4_u32.to_le_bytes());
        file.extend_from_slice(word.to_string().as_bytes());
    }
    assert_eq!(file.len() % 4, 0);
    file.extend_from_slice(&chunk);
    let read = Finalfusion::parse(&file, Mode::Strict).unwrap();
    let Storage::Quantized(quantized) = read.layout().storage else { panic!() };
    assert_eq!((quantized.rows, quantized.codes_per_row, quantized.centroids), (100, 10, 16));
    let words = indexed(&file, IndexOptions::default()).unwrap();
    let codes = read.tensor("codes").unwrap().data();
    let centroids = read.tensor("subquantizers").unwrap();
    let norms = read.tensor("row_norms");
    for row in [0_usize, 57, 99] {
        let (vector, _) = vector(&words, &(1000 + row).to_string()).unwrap().unwrap();
        let size = vector.len() / 10;
        for (at, value) in vector.iter().enumerate() {
            let code = usize::from(codes[row * 10 + at / size]);
            let mut expected = [0.0];
            centroids
                .dequantize((at / size * 16 + code) * size + at % size, &mut expected)
                .unwrap();
            let mut norm = [1.0];
            if let Some(norms) = norms {
                norms.dequantize(row, &mut norm).unwrap();
            }
            assert_eq!(*value, expected[0] * norm[0]);
        }
    }
}
