//! Conversion of models: every failed allocation whose size follows from a file is an error; nothing
//! aborts the process, and nothing leaks.

use std::path::{Path, PathBuf};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed_tests::refusing::Refusing;
use tempfile::TempDir;

const LEAST: usize = 2048;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::on_all_threads(LEAST);

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data").join(path)
}

#[test]
fn conversions_succeed_or_give_an_error() {
    let out = TempDir::new().expect("a folder");
    for (model, to, weight_type) in [
        ("models/roberta", ModelTarget::Weights, WeightType::F32),
        ("models/roberta", ModelTarget::Weights, WeightType::Int8),
        ("models/distilbert", ModelTarget::Amb, WeightType::Int4),
        ("models/bert_cased", ModelTarget::Weights, WeightType::F16),
        ("models/model2vec_unigram_f16", ModelTarget::Amb, WeightType::F16),
        ("cases/gguf-mean/model.gguf", ModelTarget::Weights, WeightType::F32),
        ("cases/gguf-xlmr-without-ends/model.gguf", ModelTarget::Amb, WeightType::F16),
        ("models/roberta", ModelTarget::Gguf, WeightType::F32),
    ] {
        let file = out.path().join("model");
        let name = format!("{model} to {to:?} in {weight_type:?}");
        let refused = ALLOCATOR.refuse_each(&name, || {
            let conversion = Conversion::new(data(model), &file).to(to).weight_type(weight_type);
            conversion.run(&Silent).map(drop)
        });
        assert!(refused > 0, "{name}: {refused}");
    }
}
