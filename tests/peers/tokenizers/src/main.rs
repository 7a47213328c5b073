//! Our WordPiece and Hugging Face `tokenizers` on the same text, one thread, in turns.
//!
//! ```sh
//! cd tests/peers/tokenizers && cargo run --release [-- TEXT_FILE]
//! ```
//!
//! Without a file the text is this repository's own prose. Each paragraph is one text. First all
//! ids are compared; then each tokenizer goes over all texts, ours, theirs, ours, theirs …, and the
//! medians of the thread's processor time are printed, which a busy machine disturbs less than the
//! clock.

use std::path::PathBuf;
use std::time::Duration;

use cpu_time::ThreadTime;
use nanoembed_core::token::{Normalization, SpecialIds, Vocabulary, WordPiece};
use nanoembed_tests::english::paragraphs;
use nanoembed_tests::vocabularies::{HashMemory, StoredVocabulary};
use tokenizers::models::wordpiece::WordPiece as TheirWordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer, TokenizerBuilder};

const VOCABULARY: &str = include_str!("../../../data/embd/all-MiniLM-L6-v2.vocab");
const ROUNDS: usize = 21;
const BUFFER: usize = 65_536;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let texts = paragraphs(path.as_deref())?;
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} texts, {bytes} bytes", texts.len());

    let theirs = build_theirs()?;
    let stored = StoredVocabulary::from_lines(VOCABULARY);
    let mut memory = HashMemory::for_tokens(stored.count);
    let hash = build_ours(memory.index(&stored)?)?;
    let sorted = build_ours(stored.sorted()?)?;

    let mut ids = vec![0; BUFFER];
    let mut tokens = 0;
    for text in &texts {
        let encoded = hash.encode(text, &mut ids)?;
        let expected = theirs.encode(text.as_str(), true)?;
        assert_eq!(&ids[..encoded.tokens], expected.get_ids(), "{text}");
        tokens += encoded.tokens;
    }
    println!("{tokens} tokens, all ids equal\n");

    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(time(&texts, |text| encode_all(&hash, text, &mut ids)));
        times[1].push(time(&texts, |text| encode_all(&sorted, text, &mut ids)));
        // Without offsets, which ours does not compute either.
        times[2].push(time(&texts, |text| {
            theirs.encode_fast(text, true).map_or(0, |encoding| encoding.len())
        }));
    }
    for (name, times) in ["nanoembed, hash", "nanoembed, sorted", "tokenizers"].iter().zip(times) {
        report(name, times, bytes, tokens);
    }
    Ok(())
}

fn build_ours<V: Vocabulary>(vocabulary: V) -> Result<WordPiece<V>, nanoembed_core::Error> {
    let special = SpecialIds::find(&vocabulary)?;
    WordPiece::new(vocabulary, special, Normalization::UNCASED)
}

fn build_theirs() -> Result<Tokenizer, Failure> {
    let vocabulary = VOCABULARY.lines().map(String::from).zip(0..).collect::<Vec<_>>();
    let model = TheirWordPiece::builder()
        .vocab(vocabulary.into_iter().collect::<ahash::AHashMap<String, u32>>())
        .build()?;
    let mut tokenizer: Tokenizer = TokenizerBuilder::default()
        .with_model(model)
        .with_normalizer(Some(BertNormalizer::default()))
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(BertProcessing::new(
            ("[SEP]".into(), 102),
            ("[CLS]".into(), 101),
        )))
        .with_decoder(None::<tokenizers::DecoderWrapper>)
        .build()?
        .into();
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    tokenizer.add_special_tokens(special.map(|token| AddedToken::from(token, true)))?;
    Ok(tokenizer)
}

fn encode_all<V: Vocabulary>(tokenizer: &WordPiece<V>, text: &str, ids: &mut [u32]) -> usize {
    tokenizer.encode(text, ids).map_or(0, |encoded| encoded.tokens)
}

fn time(texts: &[String], mut encode: impl FnMut(&str) -> usize) -> Duration {
    let start = ThreadTime::now();
    std::hint::black_box(texts.iter().map(|text| encode(text)).sum::<usize>());
    start.elapsed()
}

fn report(name: &str, mut times: Vec<Duration>, bytes: usize, tokens: usize) {
    times.sort();
    let [median, fastest] = [times[times.len() / 2], times[0]].map(|time| time.as_secs_f64());
    println!(
        "{name:18} median {:6.2} MB/s, {:5.2} M tokens/s; fastest {:6.2} MB/s",
        bytes as f64 / median / 1e6,
        tokens as f64 / median / 1e6,
        bytes as f64 / fastest / 1e6
    );
}
