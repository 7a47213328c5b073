//! Token ids: those of the heap.

use std::path::{Path, PathBuf};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, WeightType};
use nanoembed_core::ErrorKind;
use nanoembed_ffi::model::*;

use crate::generated::{TEXTS, generated};
use crate::opened::*;

#[test]
fn texts_are_tokenised_as_on_the_heap() {
    for (ending, folder) in ENDINGS.iter().flat_map(|it| FOLDERS.map(|folder| (it, folder))) {
        let path = converted_to(ending, folder, WeightType::F32);
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{folder}: {}", name(&error)));
        let theirs = on_heap(&path, 0);
        for text in TEXTS {
            let (expected, ids) = theirs.of_text(text);
            assert!(expected.is_ok(), "{folder}: {text}");
            assert_eq!(ours.of_text(text), (expected, ids), "{folder}: {text:?}");
        }
    }
}

/// A folder's model with the tokenizer of another one.
pub(crate) fn with_tokenizer_of(model: &str, tokenizer: &str) -> PathBuf {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{model}-{}", number()));
    // What an earlier run left.
    let _ = std::fs::remove_dir_all(&made);
    std::fs::create_dir_all(&made).expect("room for a folder");
    let copy = |from: &Path, to: &Path| {
        std::fs::copy(from, to).unwrap_or_else(|why| panic!("{}: {why}", from.display()));
    };
    for entry in std::fs::read_dir(folder(model)).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = made.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&to).expect("room for a folder");
            for inner in std::fs::read_dir(entry.path()).expect("a folder") {
                let inner = inner.expect("an entry");
                copy(&inner.path(), &to.join(inner.file_name()));
            }
        } else {
            copy(&entry.path(), &to);
        }
    }
    copy(&folder(tokenizer).join("tokenizer.json"), &made.join("tokenizer.json"));
    made
}

/// Tokenizers that are done without a heap, and models whose vocabulary has room for them.
const TOKENIZERS: [(&str, &str); 12] = [
    ("xlmr_e5", "xlmr_bge_m3"),
    ("xlmr_bge_m3", "xlmr_bge_m3"),
    ("xlmr_reranker", "xlmr_bge_m3"),
    ("bert_unigram", "xlmr_bge_m3"),
    ("gte", "xlmr_bge_m3"),
    ("jina_v3", "xlmr_bge_m3"),
    ("roberta", "roberta"),
    ("modernbert_cls", "modernbert_mean"),
    ("modernbert_mean", "modernbert_mean"),
    ("qwen3_embedding", "qwen3_embedding"),
    ("eurobert", "eurobert"),
    ("embeddinggemma", "embeddinggemma"),
];

#[test]
fn ids_of_generated_texts_are_those_of_the_heap() {
    let texts = generated(1500, 12);
    let all = ENDINGS.iter().flat_map(|ending| TOKENIZERS.map(|it| (ending, it)));
    for (ending, (tokenizer, model)) in all {
        let made = with_tokenizer_of(model, tokenizer);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("of-{tokenizer}.{ending}"));
        let conversion = Conversion::new(&made, &path);
        conversion.run(&Silent).unwrap_or_else(|why| panic!("{tokenizer}: {why}"));
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{tokenizer}: {}", name(&error)));
        let theirs = on_heap(&path, 0);
        for text in &texts {
            let (found, expected) = (ours.tokenized(text), theirs.tokenized(text));
            assert!(expected.is_ok(), "{tokenizer}: {text:?}");
            assert_eq!(found, expected, "{tokenizer}: {text:?}");
        }
        // Texts that are longer than what is held of them at a time; Unigram needs no spaces.
        for text in generated(30, 1200) {
            let is_ways = model == "xlmr_bge_m3";
            let text = if is_ways { text.split_whitespace().collect() } else { text };
            let expected = theirs.of_text(&text).0;
            assert!(expected.is_ok(), "{tokenizer}: {text:?}");
            assert_eq!(ours.of_text(&text).0, expected, "{tokenizer}: {text:?}");
        }
    }
}

#[test]
fn tokens_that_go_across_spaces_are_merged_as_on_the_heap() {
    let made = with_tokenizer_of("embeddinggemma", "embeddinggemma");
    let settings = made.join("tokenizer.json");
    let text = std::fs::read_to_string(&settings).expect("it was copied");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let vocabulary = json["model"]["vocab"].as_object_mut().expect("tokens");
    let last = vocabulary.values().filter_map(serde_json::Value::as_u64).max().expect("ids");
    vocabulary.retain(|_, id| id.as_u64() != Some(last));
    vocabulary.insert(String::from("e▁t"), last.into());
    let merges = json["model"]["merges"].as_array_mut().expect("merges");
    merges.push(serde_json::json!(["e", "▁t"]));
    std::fs::write(&settings, json.to_string()).expect("room for it");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("across-spaces.weights");
    Conversion::new(&made, &path).run(&Silent).expect("it is a model");
    let file = std::fs::read(&path).expect("it was made");
    let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO).map_err(|error| name(&error)).expect("opens");
    let theirs = on_heap(&path, 0);
    let joined = theirs.tokenized("ze tz").expect("a text").0;
    assert!(joined.contains(&(last as u32)), "{joined:?}");
    for text in ["ze tz", "the time  e t", " e te t", "one to three"] {
        assert_eq!(ours.tokenized(text), theirs.tokenized(text), "{text:?}");
    }
    // All of it is one word, of which there is room for four characters a token.
    assert_eq!(ours.of_text(&"a ".repeat(700)).0, Err(u32::from(ErrorKind::OverLimit.code())));
}
