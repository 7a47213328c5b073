//! Tokenizers of all kinds against Hugging Face `tokenizers` on synthetic texts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_tests::made_up_texts::Texts;
use tokenizers::utils::truncation::{TruncationParams, truncate_encodings};
use tokenizers::{Encoding, PostProcessor, Tokenizer, TruncationStrategy};

fn folders() -> Vec<PathBuf> {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/data/models");
    let folders = std::fs::read_dir(models).expect("models");
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.expect("a folder").path()).collect();
    folders.retain(|folder| folder.join("tokenizer.json").exists());
    folders.sort();
    assert!(folders.len() >= 23, "there are only {} tokenizers", folders.len());
    folders
}

/// A tokenizer, and its reference.
struct Both {
    name: String,
    ours: Pipeline,
    theirs: Tokenizer,
    session: PipelineSession,
}

impl Both {
    fn read(name: &str, json: &str) -> Self {
        let ours = Pipeline::read(json).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let mut theirs: Tokenizer = json.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        theirs.with_padding(None);
        theirs.with_truncation(None).expect("no limit");
        Self { name: name.into(), ours, theirs, session: PipelineSession::default() }
    }

    /// All tokenizers, without duplicates.
    fn all() -> Vec<Self> {
        let mut seen = BTreeSet::new();
        let read = |folder: PathBuf| {
            let json = std::fs::read_to_string(folder.join("tokenizer.json")).expect("a file");
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            let both = (!seen.contains(&json)).then(|| Self::read(&name, &json));
            seen.insert(json);
            both
        };
        folders().into_iter().filter_map(read).collect()
    }

    fn check(&mut self, text: &str) {
        let Self { name, ours, theirs, session } = self;
        let special = SpecialTokens::AsTokens;
        let found = ours.encode(text, usize::MAX, special, session).expect("no limit");
        let wanted = theirs.encode_fast(text, true).expect("a text");
        assert_eq!(found.ids, wanted.get_ids(), "{name}: {text:?}");
        let mut alone = Vec::new();
        ours.encode_alone(text, special, session, &mut alone).expect("no limit");
        let wanted = theirs.encode_fast(text, false).expect("a text");
        assert_eq!(alone, wanted.get_ids(), "{name} alone: {text:?}");
        for skip_special in [false, true] {
            let wanted = theirs.decode(&found.ids, skip_special).expect("a text");
            let back = ours.decode(&found.ids, skip_special).expect("a text");
            assert_eq!(back, wanted, "{name}: {text:?}");
        }
    }

    fn check_pair(&mut self, first: &str, second: &str, limit: usize) {
        let Self { name, ours, theirs, session } = self;
        let wanted = shortened(theirs, first, second, limit);
        let found = ours.encode_pair(first, second, limit, session).expect("a pair");
        assert_eq!(found.ids, wanted.get_ids(), "{name}, {limit}: {first:?}, {second:?}");
        let types: Vec<u32> = found.types.iter().map(|kind| (*kind).into()).collect();
        assert_eq!(types, wanted.get_type_ids(), "{name}, {limit}: {first:?}, {second:?}");
        let truncation = TruncationParams { max_length: limit, ..Default::default() };
        theirs.with_truncation(Some(truncation)).expect("a limit");
        let wanted = theirs.encode(first, true).expect("a text");
        let found = ours.encode(first, limit, SpecialTokens::AsTokens, session).expect("a text");
        assert_eq!(found.ids, wanted.get_ids(), "{name}, {limit}: {first:?}");
        assert_eq!(found.truncated, found.total > limit);
        theirs.with_truncation(None).expect("no limit");
    }
}

/// The pair as truncated by PyPI's `tokenizers`: by the lengths of whole texts. Version 0.23.2, the
/// crate's newest, stops at the limit in each text and compares the truncated lengths.
fn shortened(theirs: &Tokenizer, first: &str, second: &str, limit: usize) -> Encoding {
    let encode = |text| theirs.encode(text, false).expect("a text");
    let around = theirs.get_post_processor().map_or(0, |post| post.added_tokens(true));
    let params = TruncationParams {
        max_length: limit - around,
        strategy: TruncationStrategy::LongestFirst,
        ..Default::default()
    };
    let whole = (encode(first), Some(encode(second)));
    let (first, second) = truncate_encodings(whole.0, whole.1, &params).expect("a limit");
    theirs.post_process(first, second, true).expect("a pair")
}

#[test]
fn ids_and_texts_are_those_of_tokenizers() {
    for mut both in Both::all() {
        let mut texts = Texts::new(1);
        for text in texts.fixed() {
            both.check(&text);
        }
        for _ in 0..200 {
            both.check(&texts.make());
        }
    }
}

#[test]
fn pairs_are_shortened_as_by_tokenizers() {
    for mut both in Both::all() {
        let mut texts = Texts::new(2);
        for _ in 0..16 {
            let (first, second) = (texts.make(), texts.make());
            for limit in [4, 5, 8, 13, 32, 1000] {
                both.check_pair(&first, &second, limit);
            }
        }
    }
}
