//! Token ids and normalised words against Hugging Face `tokenizers`: the files of
//! `tests/data/minilm/`.

use std::collections::HashMap;

use crc::{CRC_32_ISO_HDLC, Crc};
use nanoembed_core::token::words::TextWords;
use nanoembed_core::token::{Normalization, SpecialIds, Vocabulary, WordPiece};
use nanoembed_tests::minilm::{Sentence, sentences};
use nanoembed_tests::vocabularies::{HashMemory, StoredVocabulary};
use serde::Deserialize;

const VOCABULARY: &str = include_str!("../data/embd/all-MiniLM-L6-v2.vocab");
const TEXTS: &str = include_str!("../data/minilm/wordpiece.jsonl");
const CHARACTERS: &str = include_str!("../data/minilm/normalization.txt");

#[derive(Deserialize)]
struct Expected {
    text: String,
    ids: Vec<u32>,
    #[serde(default = "uncased")]
    normalization: String,
}

fn uncased() -> String {
    "uncased".into()
}

fn normalization(name: &str) -> Normalization {
    match name {
        "uncased" => Normalization::UNCASED,
        "cased" => Normalization::CASED,
        "lower_only" => Normalization::new(true, Some(false)),
        "strip_only" => Normalization::new(false, Some(true)),
        _ => panic!("unknown normalization {name}"),
    }
}

fn check<V: Vocabulary + Copy>(vocabulary: V, all: &[Expected]) {
    let special = SpecialIds::find(&vocabulary).unwrap();
    let mut ids = vec![0; 4096];
    for expected in all {
        let steps = normalization(&expected.normalization);
        let tokenizer = WordPiece::new(vocabulary, special, steps).unwrap();
        let encoded = tokenizer.encode(&expected.text, &mut ids).unwrap();
        assert!(!encoded.truncated);
        assert_eq!(
            &ids[..encoded.tokens],
            expected.ids,
            "{} of {:?}",
            expected.normalization,
            expected.text
        );
        assert_eq!(encoded.total, expected.ids.len());
    }
}

fn check_both_vocabularies(all: &[Expected]) {
    let stored = StoredVocabulary::from_lines(VOCABULARY);
    assert_eq!(stored.count, 30_522);
    let mut memory = HashMemory::for_tokens(stored.count);
    check(&memory.index(&stored).unwrap(), all);
    check(stored.sorted().unwrap(), all);
}

#[test]
fn the_conformance_sentences_have_the_reference_ids() {
    let sentences = sentences().into_iter();
    let all: Vec<Expected> = sentences
        .map(|Sentence { text, ids, .. }| Expected { text, ids, normalization: uncased() })
        .collect();
    assert_eq!(all.len(), 100);
    check_both_vocabularies(&all);
}

#[test]
fn texts_of_all_scripts_have_the_reference_ids() {
    let all: Vec<Expected> =
        TEXTS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(all.len() > 3000);
    check_both_vocabularies(&all);
}

/// The texts that `probe` in `tests/tools/wordpiece_reference.py` builds from a character.
fn probe(c: char) -> String {
    format!("A{c}\u{1D16D}{c}\u{302E}{c}\u{1D165}B")
}

#[test]
fn every_character_is_normalised_as_the_reference_does() {
    const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    let mut blocks: HashMap<&str, usize> = HashMap::new();
    let mut name = "";
    for line in CHARACTERS.lines() {
        let Some((start, expected)) = line.split_once(' ') else {
            name = line;
            continue;
        };
        *blocks.entry(name).or_default() += 1;
        let start = u32::from_str_radix(start, 16).unwrap();
        let mut digest = CRC.digest();
        for c in (start..start + 4096).filter_map(char::from_u32) {
            let text = probe(c);
            let mut words = TextWords::new(&text, normalization(name));
            while let Some(word) = words.next_word() {
                digest.update(word.start.as_bytes());
                digest.update(&[0]);
            }
        }
        let expected = u32::from_str_radix(expected, 16).unwrap();
        assert_eq!(digest.finalize(), expected, "{name}, characters from {start:x} on");
    }
    assert_eq!(blocks.len(), 4);
    assert!(blocks.values().all(|&count| count == 272), "all 17 planes in blocks of 4096");
}
