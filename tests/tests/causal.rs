//! A small decoder with its tokenizer, from a GGUF file of `tools/tiny_llama.py`, against that
//! tool's results in f64.

use nanoembed_core::ErrorKind;
use nanoembed_core::model::llama::{Activations, LlamaPlan, Output};
use nanoembed_core::owned::CausalModel;
use nanoembed_core::token::SpecialTokens;
use nanoembed_tests::{changed, data};

fn texts() -> Vec<serde_json::Value> {
    let json: serde_json::Value = serde_json::from_slice(&data::read("llama/tiny.json")).unwrap();
    json["texts"].as_array().unwrap().clone()
}

fn list(text: &serde_json::Value, key: &str) -> Vec<u32> {
    let ids = text[key].as_array().unwrap().iter();
    ids.map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

fn likeliest(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    u32::try_from(best.0).unwrap()
}

#[test]
fn prompts_have_the_ids_of_hugging_face_and_go_on_as_in_f64() {
    let model = CausalModel::open(data::read("llama/tiny.gguf")).unwrap();
    let mut logits = vec![0.0; model.config().vocabulary];
    for text in texts() {
        let (ids, greedy) = (list(&text, "ids"), list(&text, "greedy"));
        assert_eq!(
            model.tokenize(text["prompt"].as_str().unwrap(), SpecialTokens::AsTokens).unwrap(),
            ids
        );
        for activations in [Activations::Floats, Activations::Words] {
            let plan = LlamaPlan { activations, ..LlamaPlan::new(7, ids.len() + greedy.len()) };
            let mut session = model.session(plan).unwrap();
            let mut next = ids.clone();
            for &expected in &greedy {
                model.forward(&mut session, &next, Output::LastLogits(&mut logits)).unwrap();
                next = vec![likeliest(&logits)];
                assert_eq!(next, [expected], "{activations:?} {}", text["prompt"]);
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_or_of_another_kind_is_refused() {
    let file = data::read("llama/tiny.gguf");
    for length in (0..file.len()).step_by(997) {
        assert!(CausalModel::open(&file[..length]).is_err(), "{length}");
    }
    let kind = |path: &str| CausalModel::open(data::read(path)).unwrap_err().kind();
    assert_eq!(kind("embd/section_all_dtypes_flags7.weights"), ErrorKind::OtherModel);
    assert_eq!(kind("llama/tiny.json"), ErrorKind::UnknownFormat);
    assert_eq!(kind("gguf/small.gguf"), ErrorKind::UnsupportedArchitecture);
    assert_eq!(kind("amb/wordpiece.amb"), ErrorKind::MissingMetadata);
}

#[test]
fn a_file_without_a_norm_of_the_first_layer_is_refused() {
    let file = data::read("llama/tiny.gguf");
    for norm in ["blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"] {
        let file = changed::gguf(&file, &[norm], &[], &[]);
        let kind = CausalModel::open(file).map(drop).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::MissingTensor), "{norm}");
    }
}
