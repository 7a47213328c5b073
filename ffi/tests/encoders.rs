//! Encoders from `.weights`, AMB and GGUF files through C: the vectors of Rust's own `Encoder`, bit
//! for bit, in exactly the memory that was planned.

mod support {
    pub(crate) mod embed;
    pub(crate) mod lent;
    pub(crate) mod memory;
    pub(crate) mod source;
}

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::{Mode, SpecialRole};
use nanoembed_core::format::amb::{self, AmbTokenizerSpec, Payload};
use nanoembed_core::format::embd::{self, Embd};
use nanoembed_core::owned::Encoder;
use nanoembed_core::tensor::TensorSpec;
use nanoembed_ffi::decoder_model::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::status::*;
use serde_json::json;

use crate::support::embed::vector;
use crate::support::lent::{Lent, Planned};
use crate::support::source::in_memory;

const TEXTS: [&str; 5] =
    ["hello world", "How do I reset my password?", "", "über café 12 x", "[SEP]"];

const SMALL: &[u8] = include_bytes!("data/small_bert.weights");
const MEAN: &[u8] = include_bytes!("../../tests/data/cases/gguf-mean/model.gguf");
const CASED: &[u8] = include_bytes!("../../tests/data/cases/gguf-cased/model.gguf");
const LLAMA: &[u8] = include_bytes!("data/small_llama.gguf");

/// The vectors of all texts, from a model and a workspace in lent memory.
fn vectors(
    file: &[u8],
    options: &nanoembed_model_options,
) -> Result<Vec<Vec<f32>>, nanoembed_status> {
    let lent = Planned::new(&in_memory(file), options)
        .and_then(Planned::open)
        .map_err(|error| error.status)?;
    let Lent { model, workspace, plan, .. } = lent;
    let dimensions = plan.dimensions as usize;
    TEXTS.iter().map(|text| Ok(vector(model, workspace, dimensions, text)?.0)).collect()
}

fn bits(vectors: &[Vec<f32>]) -> Vec<Vec<u32>> {
    vectors.iter().map(|vector| vector.iter().map(|x| x.to_bits()).collect()).collect()
}

fn by_rust(file: &[u8]) -> Vec<Vec<f32>> {
    let encoder = Encoder::open(file).expect("an encoder");
    TEXTS.iter().map(|text| encoder.embed_text(text).expect("a vector")).collect()
}

fn small() -> Embd<'static> {
    Embd::parse(SMALL, Mode::Strict).expect("an encoder")
}

/// The same model in an `.amb` file.
fn small_in_amb() -> Vec<u8> {
    let small = small();
    let number = |key| small.metadata_value(key).unwrap().parse::<u64>().unwrap();
    let config = json!({
        "architecture": "bert",
        "n_layers": number("num_layers"),
        "n_heads": number("num_attention_heads"),
        "n_embd": number("hidden_size"),
        "n_vocab": number("vocab_size"),
        "max_seq_len": number("max_position_emb"),
        "intermediate_size": number("intermediate_size"),
    });
    let tokens: Vec<&[u8]> = small.tokens().collect();
    let id = |role| small.special().map(|special| special.id(role));
    // In the order of AMB: what begins texts, ends them, fills them, is unknown, is to be guessed.
    let special = [
        SpecialRole::Classify,
        SpecialRole::Separate,
        SpecialRole::Pad,
        SpecialRole::Unknown,
        SpecialRole::Mask,
    ];
    let tensors: Vec<_> = small.tensors().filter(|it| !it.name().starts_with("vocab.")).collect();
    let specs: Vec<amb::AmbTensorSpec<'_>> = tensors
        .iter()
        .map(|it| amb::AmbTensorSpec {
            name: it.name(),
            dtype: it.dtype(),
            shape: it.header().shape,
            full_blocks: 0,
        })
        .collect();
    let plan = amb::AmbPlan {
        metadata: "{}",
        config: &config.to_string(),
        tokenizer: Some(AmbTokenizerSpec {
            special: special.map(|role| id(role).or(found(&tokens, role))),
            payload: Payload::WordPiece(&tokens),
        }),
        tensors: &specs,
        checksum: false,
    };
    let mut writer = amb::AmbWriter::new(plan, Vec::new()).unwrap();
    tensors.iter().for_each(|tensor| writer.data(tensor.data()).unwrap());
    writer.finish().unwrap()
}

fn found(tokens: &[&[u8]], role: SpecialRole) -> Option<u32> {
    let name: &[u8] = match role {
        SpecialRole::Pad => b"[PAD]",
        SpecialRole::Unknown => b"[UNK]",
        SpecialRole::Classify => b"[CLS]",
        SpecialRole::Separate => b"[SEP]",
        SpecialRole::Mask => b"[MASK]",
        _ => return None,
    };
    tokens.iter().position(|token| *token == name).map(|id| id as u32)
}

/// The same model in a `.weights` file that says more, in a file of no more than that.
fn small_with(metadata: &[(&str, &str)]) -> Vec<u8> {
    let small = small();
    let tokens: Vec<&[u8]> = small.tokens().collect();
    let known = small.metadata().filter(|(key, _)| metadata.iter().all(|(it, _)| it != key));
    let metadata: Vec<(&str, &str)> = known.chain(metadata.iter().copied()).collect();
    let id = |role| found(&tokens, role).unwrap_or(0);
    let vocabulary = embd::EmbdVocabulary { tokens: &tokens, special: SpecialRole::ALL.map(id) };
    let tensors: Vec<_> = small.tensors().filter(|it| !it.name().starts_with("vocab.")).collect();
    let specs: Vec<TensorSpec<'_>> = tensors
        .iter()
        .map(|it| TensorSpec { name: it.name(), dtype: it.dtype(), shape: it.header().shape })
        .collect();
    let plan = embd::EmbdPlan {
        metadata: &metadata,
        vocabulary: Some(vocabulary),
        ..embd::EmbdPlan::new(&specs)
    };
    let mut writer = embd::EmbdWriter::new(plan, Vec::new()).unwrap();
    tensors.iter().for_each(|tensor| writer.data(tensor.data()).unwrap());
    writer.finish().unwrap()
}

#[test]
fn vectors_are_those_of_rust_from_every_format() {
    let amb = small_in_amb();
    for file in [SMALL, &amb, MEAN, CASED] {
        let ours = vectors(file, &Default::default()).expect("vectors");
        assert_eq!(bits(&ours), bits(&by_rust(file)));
        assert!(ours.iter().all(|vector| vector.iter().any(|x| *x != 0.0)));
    }
    assert_eq!(bits(&by_rust(&amb)), bits(&by_rust(SMALL)));
}

#[test]
fn a_vocabulary_is_indexed_or_left_alone() {
    let amb = small_in_amb();
    let with = |vocabulary| nanoembed_model_options { vocabulary, ..Default::default() };
    let none = nanoembed_status::from(ErrorKind::MissingVocabulary.code());
    let required = nanoembed_status::from(ErrorKind::IndexRequired.code());
    for file in [&amb, MEAN] {
        assert!(vectors(file, &with(NANOEMBED_VOCABULARY_INDEXED)).is_ok());
        // Opened, but texts cannot be tokenised.
        assert_eq!(vectors(file, &with(NANOEMBED_VOCABULARY_NONE)), Err(none));
        assert_eq!(vectors(file, &with(NANOEMBED_VOCABULARY_IN_FILE)), Err(required));
    }
}

#[test]
fn added_tokens_are_found() {
    let file = small_with(&[("wordpiece_added_tokens", "110:n:hello")]);
    let ours = vectors(&file, &Default::default()).expect("vectors");
    assert_eq!(bits(&ours), bits(&by_rust(&file)));
    assert_ne!(bits(&ours)[0], bits(&by_rust(SMALL))[0]);
    assert_eq!(bits(&ours)[1], bits(&by_rust(SMALL))[1]);
}

#[test]
fn models_of_the_other_kind_are_refused_as_such() {
    let other = nanoembed_status::from(ErrorKind::OtherModel.code());
    let continues = small_with(&[("architecture", "llama")]);
    for file in [LLAMA, &continues] {
        assert_eq!(vectors(file, &Default::default()), Err(other));
    }
    let amb = small_in_amb();
    for file in [SMALL, &amb, MEAN] {
        let (source, options) = (in_memory(file), nanoembed_decoder_options::default());
        // SAFETY: everything is there.
        let status = unsafe {
            let mut plan = nanoembed_decoder_plan::default();
            nanoembed_plan_decoder(&source, &options, &mut plan, null_mut())
        };
        assert_eq!(status, other);
    }
}

#[test]
fn files_that_are_cut_anywhere_are_refused() {
    let amb = small_in_amb();
    for file in [&amb[..], MEAN] {
        for cut in (0..file.len()).step_by(file.len() / 97) {
            assert!(vectors(&file[..cut], &Default::default()).is_err(), "{cut}");
        }
    }
}
