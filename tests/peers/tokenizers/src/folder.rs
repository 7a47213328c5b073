//! The tokenizer of a folder, of any kind: its speed, the time to open it, and the memory it keeps.

use std::path::Path;
use std::time::Duration;

use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use tokenizers::Tokenizer;

use crate::Failure;
use crate::kept::kept;
use crate::turns::{in_turns, median_and_least, time};

const OPENINGS: usize = 15;

/// Compares all ids, then measures.
pub fn compare(folder: &Path, texts: &[String]) -> Result<(), Failure> {
    let json = std::fs::read_to_string(folder.join("tokenizer.json"))?;
    open(&json)?;
    let ours = read(&json);
    let mut theirs: Tokenizer = json.parse()?;
    theirs.with_truncation(None)?.with_padding(None);
    let mut session = PipelineSession::default();
    let encode = |text: &str, session: &mut PipelineSession| {
        ours.encode(text, usize::MAX, SpecialTokens::AsTokens, session).expect("ids").ids
    };
    let mut tokens = 0;
    for text in texts {
        let found = encode(text, &mut session);
        let expected = theirs.encode(text.as_str(), true)?;
        assert_eq!(found, expected.get_ids(), "{text}");
        tokens += found.len();
    }
    println!("{tokens} tokens, all ids equal\n");
    in_turns(
        texts,
        tokens,
        &mut [
            ("nanoembed", &mut |text, _| encode(text, &mut session).len()),
            ("tokenizers", &mut |text, _| theirs.encode_fast(text, true).map_or(0, |it| it.len())),
        ],
    );
    Ok(())
}

fn read(json: &str) -> Pipeline {
    Pipeline::read(json).unwrap_or_else(|fault| panic!("tokenizer.json: {fault}"))
}

/// The time of opening, and the memory kept: of the whole file, of the vocabulary if it is in
/// memory (as in a `.weights` file), and of Hugging Face's.
fn open(json: &str) -> Result<(), Failure> {
    let (whole, bytes) = kept(|| read(json));
    println!("{} pieces", whole.count());
    report("nanoembed", bytes, &mut || drop(read(json)));
    let parts = whole.parts();
    let from_parts = || {
        let scores = parts.scores.as_deref();
        Pipeline::from_parts(parts.settings, &parts.tokens, scores, &parts.merges)
            .unwrap_or_else(|fault| panic!("parts: {fault}"))
    };
    let (_, bytes) = kept(from_parts);
    report("nanoembed, tables", bytes, &mut || drop(from_parts()));
    let (theirs, bytes) = kept(|| json.parse::<Tokenizer>());
    theirs?;
    report("tokenizers", bytes, &mut || drop(json.parse::<Tokenizer>()));
    Ok(())
}

fn report(name: &str, bytes: usize, open: &mut dyn FnMut()) {
    let times: Vec<Duration> = (0..OPENINGS).map(|_| time(&mut *open)).collect();
    let [median, least] = median_and_least(times).map(|seconds| seconds * 1e3);
    let megabytes = bytes as f64 / 1e6;
    println!("{name:18} opens in {median:6.1} ms, at least {least:6.1}; keeps {megabytes:6.1} MB");
}
