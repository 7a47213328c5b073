//! Cross-encoders.

use std::path::Path;
use std::ptr::null_mut;

use nanoembed::Silent;
use nanoembed::convert::{Conversion, WeightType};
use nanoembed_core::ErrorKind;
use nanoembed_ffi::model::*;
use nanoembed_ffi::score::nanoembed_score;
use nanoembed_ffi::status::*;

use crate::generated::generated;
use crate::opened::*;
use crate::tokenizers::with_tokenizer_of;

/// Models that compare texts.
const CROSS_ENCODERS: [&str; 3] = ["cross_encoder", "xlmr_reranker", "modernbert_reranker"];

impl Opened {
    /// The bits of the score of a pair.
    fn score(&self, query: &str, document: &str) -> Result<u32, nanoembed_status> {
        let mut score = f32::NAN;
        let (a, b) = (query.as_ptr().cast(), document.as_ptr().cast());
        let (a_bytes, b_bytes, out, none) =
            (query.len(), document.len(), &raw mut score, null_mut());
        let Self { model, workspace, .. } = *self;
        // SAFETY: handles are good, and the rest lies here.
        match unsafe { nanoembed_score(model, workspace, a, a_bytes, b, b_bytes, out, none) } {
            NANOEMBED_OK => Ok(score.to_bits()),
            status => Err(status),
        }
    }
}

/// Both give the same scores, texts that are cut included.
fn assert_scores(path: &Path, what: &str) {
    let file = std::fs::read(path).expect("it was made");
    let (short, long) = (generated(40, 12), generated(12, 160));
    let pairs = short.iter().zip(short.iter().rev());
    let pairs = pairs.chain(long.iter().zip(long.iter().rev())).chain(long.iter().zip(&short));
    let pairs: Vec<_> = pairs.chain(short.iter().zip(&long)).collect();
    for tokens in [0, 7, 16, 23] {
        let options = nanoembed_model_options { tokens, ..Default::default() };
        let ours = lent_as(&file, options).unwrap_or_else(|why| panic!("{what}: {}", name(&why)));
        let theirs = on_heap(path, tokens);
        for (query, document) in &pairs {
            let (found, expected) = (ours.score(query, document), theirs.score(query, document));
            assert!(expected.is_ok(), "{what}: {query:?} {document:?}");
            assert_eq!(found, expected, "{what} {tokens}: {query:?} {document:?}");
        }
    }
}

#[test]
fn scores_of_pairs_are_those_of_the_heap_bit_for_bit() {
    for folder in CROSS_ENCODERS {
        for weight_type in [WeightType::F32, WeightType::Int8] {
            for ending in ENDINGS {
                assert_scores(&converted_to(ending, folder, weight_type), folder);
            }
        }
    }
    let bert = r#"{"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}"#;
    let sequence = r#"{"type": "Sequence", "processors": [{"type": "RobertaProcessing",
        "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": true}]}"#;
    let roberta = r#"{"type": "RobertaProcessing", "sep": ["[SEP]", 907], "cls": ["[CLS]", 906],
        "trim_offsets": true, "add_prefix_space": false}"#;
    for (kind, folder, post) in [
        ("bert", "cross_encoder", bert),
        ("sequence", "xlmr_reranker", sequence),
        ("roberta", "modernbert_reranker", roberta),
    ] {
        let made = with_tokenizer_of(folder, folder);
        let settings = made.join("tokenizer.json");
        let text = std::fs::read_to_string(&settings).expect("it was copied");
        let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        json["post_processor"] = serde_json::from_str(post).expect("JSON");
        std::fs::write(&settings, json.to_string()).expect("room for it");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pair-{kind}.weights"));
        Conversion::new(&made, &path).run(&Silent).unwrap_or_else(|why| panic!("{kind}: {why}"));
        assert_scores(&path, kind);
    }
}

#[test]
fn models_that_compare_embed_nothing_and_others_compare_nothing() {
    let other = u32::from(ErrorKind::OtherModel.code());
    for (folder, compares) in [("cross_encoder", true), ("nomic_bert", false)] {
        let file = std::fs::read(converted(folder, WeightType::F32)).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{folder}: {}", name(&error)));
        assert_eq!(ours.dimensions == 0, compares, "{folder}");
        let refused = if compares { ours.of_text("x").0.err() } else { ours.score("x", "y").err() };
        assert_eq!(refused, Some(other), "{folder}");
        if compares {
            assert_eq!(ours.of_ids(&[2, 3]), Err(other));
            let without = lent(&file, NANOEMBED_VOCABULARY_NONE).unwrap_or_else(|_| panic!());
            let missing = u32::from(ErrorKind::MissingVocabulary.code());
            assert_eq!(without.score("x", "y"), Err(missing));
        }
    }
}

#[test]
fn rerankers_that_are_causal_models_need_a_heap() {
    for (folder, key) in [
        ("qwen3_reranker", "chat_template.jinja"),
        ("qwen3_reranker_seqcls", "architectures"),
        ("qwen3_reranker_seqcls_st6", "chat_template.jinja"),
    ] {
        for ending in ENDINGS {
            let path = converted_to(ending, folder, WeightType::F32);
            let file = std::fs::read(&path).expect("it was made");
            let refused = lent(&file, NANOEMBED_VOCABULARY_AUTO).err().expect("a template");
            let expected = u32::from(ErrorKind::UnsupportedSetting.code());
            assert_eq!((refused.status, &*name(&refused)), (expected, key), "{folder}.{ending}");
            assert!(on_heap(&path, 0).score("q", "d").is_ok(), "{folder}.{ending}");
        }
    }
}
