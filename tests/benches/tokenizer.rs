//! Tokenisation in MB/s, one thread: `cargo bench -p nanoembed-tests --bench tokenizer`.
//!
//! The English is this repository's own prose, or the file named by `NANOEMBED_BENCH_TEXT`. The
//! SentencePiece models are those of the tests, or the one named by
//! `NANOEMBED_BENCH_SENTENCEPIECE`; `tools/sentencepiece_speed.py` measures `sentencepiece` itself
//! on the same text and model.

use std::path::Path;

use divan::Bencher;
use divan::counter::BytesCount;
use nanoembed_core::owned::{PieceSession, SentencePieceModel};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::token::{Normalization, SpecialIds, Vocabulary, WordPiece};
use nanoembed_tests::data;
use nanoembed_tests::english::paragraphs;
use nanoembed_tests::minilm::sentences;
use nanoembed_tests::vocabularies::{HashMemory, StoredVocabulary};

const VOCABULARY: &str = include_str!("../data/embd/all-MiniLM-L6-v2.vocab");

fn main() {
    divan::main();
}

fn english() -> Vec<String> {
    let path = std::env::var_os("NANOEMBED_BENCH_TEXT");
    paragraphs(path.as_deref().map(Path::new)).unwrap()
}

/// The conformance sentences, of which half are not in English.
fn mixed() -> Vec<String> {
    sentences().into_iter().map(|sentence| sentence.text).collect()
}

fn encode_all<V: Vocabulary>(bencher: Bencher<'_, '_>, vocabulary: V, texts: &[String]) {
    let special = SpecialIds::find(&vocabulary).unwrap();
    let tokenizer = WordPiece::new(vocabulary, special, Normalization::UNCASED).unwrap();
    let mut ids = vec![0; 256];
    bencher.counter(BytesCount::new(texts.iter().map(String::len).sum::<usize>())).bench_local(
        || texts.iter().map(|text| tokenizer.encode(text, &mut ids).unwrap().total).sum::<usize>(),
    );
}

fn with_hash(bencher: Bencher<'_, '_>, texts: &[String]) {
    let stored = StoredVocabulary::from_lines(VOCABULARY);
    let mut memory = HashMemory::for_tokens(stored.count);
    encode_all(bencher, memory.index(&stored).unwrap(), texts);
}

fn with_sorted(bencher: Bencher<'_, '_>, texts: &[String]) {
    let stored = StoredVocabulary::from_lines(VOCABULARY);
    encode_all(bencher, stored.sorted().unwrap(), texts);
}

#[divan::bench]
fn english_hash(bencher: Bencher<'_, '_>) {
    with_hash(bencher, &english());
}

#[divan::bench]
fn english_sorted(bencher: Bencher<'_, '_>) {
    with_sorted(bencher, &english());
}

#[divan::bench]
fn mixed_hash(bencher: Bencher<'_, '_>) {
    with_hash(bencher, &mixed());
}

#[divan::bench]
fn mixed_sorted(bencher: Bencher<'_, '_>) {
    with_sorted(bencher, &mixed());
}

/// The cost of opening a vocabulary without an index.
#[divan::bench]
fn build_hash_index(bencher: Bencher<'_, '_>) {
    let stored = StoredVocabulary::from_lines(VOCABULARY);
    let mut memory = HashMemory::for_tokens(stored.count);
    bencher
        .counter(BytesCount::new(stored.entries.len()))
        .bench_local(|| memory.index(&stored).map(|vocabulary| vocabulary.count()));
}

fn with_pieces(bencher: Bencher<'_, '_>, model: &str, texts: &[String]) {
    let model = match std::env::var_os("NANOEMBED_BENCH_SENTENCEPIECE") {
        Some(path) => std::fs::read(path).unwrap(),
        None => data::read(&format!("sentencepiece/{model}.model")),
    };
    let model = SentencePieceModel::open(model, 0).unwrap();
    let (mut session, mut ids) = (PieceSession::default(), Vec::new());
    bencher.counter(BytesCount::new(texts.iter().map(String::len).sum::<usize>())).bench_local(
        || {
            ids.clear();
            texts.iter().for_each(|it| {
                model.encode(it, SpecialTokens::AsTokens, &mut session, &mut ids).unwrap();
            });
            ids.len()
        },
    );
}

#[divan::bench]
fn english_sentencepiece_bpe(bencher: Bencher<'_, '_>) {
    with_pieces(bencher, "llama", &english());
}

#[divan::bench]
fn english_sentencepiece_unigram(bencher: Bencher<'_, '_>) {
    with_pieces(bencher, "t5", &english());
}

#[divan::bench]
fn mixed_sentencepiece_bpe(bencher: Bencher<'_, '_>) {
    with_pieces(bencher, "llama", &mixed());
}

#[divan::bench]
fn mixed_sentencepiece_unigram(bencher: Bencher<'_, '_>) {
    with_pieces(bencher, "t5", &mixed());
}
