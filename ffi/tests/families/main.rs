//! Transformers of all families in lent memory through C: the bits of models on the heap, in exactly
//! the memory that was planned.

mod generated;
mod opened;
mod pairs;
mod prompts;
#[path = "../support"]
mod support {
    pub(crate) mod embed;
    pub(crate) mod errors;
    pub(crate) mod lent;
    pub(crate) mod memory;
    pub(crate) mod source;
    pub(crate) mod tokenize;
}
mod tokenizers;

use nanoembed::convert::WeightType;
use nanoembed_core::ErrorKind;
use nanoembed_ffi::model::*;

use crate::generated::{TEXTS, generated};
use crate::opened::*;
use crate::support::lent::scratch_bytes;
use crate::support::source::in_memory;

#[test]
fn vectors_are_those_of_models_on_the_heap_bit_for_bit() {
    let types = [WeightType::F32, WeightType::Int8];
    for (ending, weight_type) in ENDINGS.iter().flat_map(|it| types.map(|kind| (it, kind))) {
        for name in FOLDERS.into_iter().chain(HEAP_TOKENIZERS) {
            let path = converted_to(ending, name, weight_type);
            let file = std::fs::read(&path).expect("it was made");
            let ours = lent(&file, NANOEMBED_VOCABULARY_NONE);
            let ours = ours.unwrap_or_else(|error| panic!("{name}: {}", self::name(&error)));
            let theirs = on_heap(&path, 0);
            let ids = expected_ids(name);
            assert!(ids.len() >= 4, "{name}");
            for ids in ids {
                let expected = theirs.of_ids(&ids);
                assert!(expected.is_ok(), "{name}: {expected:?}");
                assert_eq!(ours.of_ids(&ids), expected, "{name} {weight_type:?}: {ids:?}");
            }
            let (text, _) = ours.of_text("x");
            assert_eq!(text, Err(u32::from(ErrorKind::MissingVocabulary.code())), "{name}");
        }
    }
}

#[test]
fn tokenizers_that_need_a_heap_are_refused() {
    for name in HEAP_TOKENIZERS {
        let file = std::fs::read(converted(name, WeightType::F32)).expect("it was made");
        let refused = lent(&file, NANOEMBED_VOCABULARY_AUTO).err().expect("a tokenizer");
        assert_eq!(refused.status, u32::from(ErrorKind::UnsupportedSetting.code()), "{name}");
    }
}

#[test]
fn weights_of_few_bits_in_amb_are_those_of_the_heap() {
    for weight_type in [
        WeightType::F16,
        WeightType::Bf16,
        WeightType::Int4,
        WeightType::Int5,
        WeightType::Int4block,
        WeightType::Int5block,
        WeightType::Adaptive,
    ] {
        let (path, text) = (converted_to("amb", "nomic_bert", weight_type), "a text");
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        let ours = ours.unwrap_or_else(|error| panic!("{weight_type:?}: {}", name(&error)));
        let expected = on_heap(&path, 0).of_text(text);
        assert!(expected.0.is_ok(), "{weight_type:?}");
        assert_eq!(ours.of_text(text), expected, "{weight_type:?}");
    }
}

#[test]
fn encoders_in_gguf_embed_token_ids_as_on_the_heap() {
    for model in ["nomic_bert", "embeddinggemma", "embeddinggemma2_text", "qwen3_embedding"] {
        let path = converted_to("gguf", model, WeightType::F32);
        let file = std::fs::read(&path).expect("it was made");
        let ours = lent(&file, NANOEMBED_VOCABULARY_NONE);
        let ours = ours.unwrap_or_else(|error| panic!("{model}: {}", name(&error)));
        let theirs = on_heap(&path, 0);
        for ids in expected_ids(model) {
            let expected = theirs.of_ids(&ids);
            assert!(expected.is_ok(), "{model}: {expected:?}");
            assert_eq!(ours.of_ids(&ids), expected, "{model}: {ids:?}");
        }
        let refused = lent(&file, NANOEMBED_VOCABULARY_AUTO).err().expect("a tokenizer");
        assert_eq!(refused.status, u32::from(ErrorKind::UnsupportedTokenizer.code()), "{model}");
        assert_eq!(name(&refused), "tokenizer.ggml.model", "{model}");
    }
}

#[test]
fn what_opens_on_the_heap_alone_is_refused() {
    let unsupported = u32::from(ErrorKind::UnsupportedArchitecture.code());
    let refused = |file: &[u8]| {
        assert!(scratch_bytes(&in_memory(file)).is_ok());
        lent(file, NANOEMBED_VOCABULARY_AUTO).err().map(|it| it.status)
    };
    // A static model in `.amb`.
    let path = converted_to("amb", "model2vec_unigram_f16", WeightType::F32);
    let file = std::fs::read(path).expect("it was made");
    assert_eq!(refused(&file), Some(unsupported));
    // Two texts of one path: readers might choose different ones.
    let path = converted_to("amb", "nomic_bert", WeightType::F32);
    let mut file = std::fs::read(&path).expect("it was made");
    let of = |file: &[u8], text: &str| {
        let found = file.windows(text.len()).position(|window| window == text.as_bytes());
        found.unwrap_or_else(|| panic!("{text}"))
    };
    let at = of(&file, "tokenizer_config.json");
    file[at..at + 21].copy_from_slice(br"\u0063\u006fnfig.json");
    assert_eq!(refused(&file), Some(u32::from(ErrorKind::DuplicateName.code())));
}

#[test]
fn static_models_with_a_unigram_tokenizer_are_those_of_the_heap() {
    for weight_type in [WeightType::F32, WeightType::F16] {
        let path = converted("model2vec_unigram_f16", weight_type);
        let file = std::fs::read(&path).expect("it was made");
        for tokens in [0, 5, 200] {
            let options = nanoembed_model_options { tokens, ..Default::default() };
            let ours = lent_as(&file, options).unwrap_or_else(|why| panic!("{}", name(&why)));
            let theirs = on_heap(&path, tokens);
            let long = generated(20, 900);
            for text in generated(1500, 12).iter().chain(&long).map(String::as_str).chain(TEXTS) {
                let (found, expected) = (ours.of_text(text), theirs.of_text(text));
                assert!(expected.0.is_ok(), "{text:?}");
                assert_eq!(found, expected, "{tokens}: {text:?}");
                assert_eq!(ours.tokenized(text), theirs.tokenized(text), "{tokens}: {text:?}");
            }
        }
        let ours = lent(&file, NANOEMBED_VOCABULARY_NONE).unwrap_or_else(|_| panic!());
        assert_eq!(ours.of_ids(&[5, 9]), on_heap(&path, 0).of_ids(&[5, 9]));
    }
}

#[test]
fn files_that_are_cut_or_damaged_are_refused_or_run() {
    for ending in ENDINGS {
        damage(ending, "nomic_bert");
        damage(ending, "xlmr_bge_m3");
        damage(ending, "modernbert_mean");
        damage(ending, "embeddinggemma");
        damage(ending, "cross_encoder");
    }
    damage("weights", "model2vec_unigram_f16");
}

fn damage(ending: &str, name: &str) {
    let path = converted_to(ending, name, WeightType::Int8);
    let mut file = std::fs::read(&path).expect("it was made");
    for cut in (0..file.len()).step_by(file.len() / 31) {
        assert!(lent(&file[..cut], NANOEMBED_VOCABULARY_AUTO).is_err(), "{cut}");
    }
    let end = file.len();
    for at in (0..end.min(8192)).step_by(97).chain((8192..end).step_by(end / 61)) {
        file[at] ^= 0x15;
        let _ = lent(&file, NANOEMBED_VOCABULARY_AUTO);
        file[at] ^= 0x15;
    }
}
