//! Encoders in `.amb` and GGUF files: every failed allocation is an error; nothing aborts the
//! process, and nothing leaks.

use std::path::{Path, PathBuf};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed_core::owned::Encoder;
use nanoembed_tests::data;
use nanoembed_tests::refusing::{Refusing, used};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::on_each_thread();

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/models")
}

/// The model in a folder, as a file of this form.
fn converted(folder: &Path, to: ModelTarget, weight_type: WeightType) -> Vec<u8> {
    let out = TempDir::new().expect("a folder");
    let file = out.path().join("model");
    let conversion = Conversion::new(folder, &file).to(to).weight_type(weight_type);
    conversion.run(&Silent).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    std::fs::read(&file).expect("what was written")
}

fn refuse_each(name: &str, file: &[u8]) {
    let refused = ALLOCATOR.refuse_each(name, || Encoder::open(file).and_then(used));
    assert!(refused > 5, "{name}: {refused}");
}

#[test]
fn encoders_in_amb_files_are_opened_and_used_or_an_error_is_given() {
    for (family, weight_type) in [
        ("bert_cased", WeightType::F16),
        ("distilbert", WeightType::Int8),
        ("roberta", WeightType::Int4),
        ("xlmr_reranker", WeightType::F16),
        ("embeddinggemma", WeightType::Int5block),
        ("qwen3_embedding", WeightType::F32),
        ("modernbert_mean", WeightType::Int8),
        ("model2vec_unigram_f16", WeightType::F16),
    ] {
        let folder = models().join(family);
        let file = converted(&folder, ModelTarget::Amb, weight_type);
        refuse_each(&format!("{family} in AMB"), &file);
    }
}

#[test]
fn encoders_in_gguf_files_are_opened_and_used_or_an_error_is_given() {
    for family in ["distilbert", "roberta", "xlmr_bge_m3", "embeddinggemma", "qwen3_embedding"] {
        let folder = models().join(family);
        let file = converted(&folder, ModelTarget::Gguf, WeightType::F32);
        refuse_each(&format!("{family} in GGUF"), &file);
    }
    for case in ["gguf-cased", "gguf-mean", "gguf-xlmr-without-ends", "gguf-reranker"] {
        refuse_each(case, &data::read(&format!("cases/{case}/model.gguf")));
    }
}
