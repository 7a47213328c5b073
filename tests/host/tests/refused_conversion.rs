//! Conversion of models to `.weights` and `.amb` files: every failed allocation whose size follows
//! from a file is an error; nothing aborts the process, and nothing leaks.
//!
//! Smaller allocations than these are not failed. Those that remain infallible there have a fixed
//! size or that of a name, a path or a message: rayon's threads and queues, the results that it
//! collects (a record for each text that calibrates), nodes of `BTreeMap`s, values of `serde_json`
//! (settings of a folder, not its vocabulary), `format!`. Larger ones are buffers of files (1 MiB
//! each, `BufWriter`), whose size no file controls. Not covered yet: AMB's types of few bits, and
//! conversion to GGUF, which takes infallible memory for names and tokens.

use std::ops::Range;
use std::path::{Path, PathBuf};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed_tests::refusing::Refusing;
use tempfile::TempDir;

/// The sizes of the allocations that fail, in bytes.
const SIZES: Range<usize> = 4096..1 << 20;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::on_all_threads(SIZES);

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data").join(path)
}

#[test]
fn conversions_succeed_or_give_an_error() {
    let out = TempDir::new().expect("a folder");
    for (model, to, weight_type) in [
        ("models/roberta", ModelTarget::Weights, WeightType::F32),
        ("models/roberta", ModelTarget::Weights, WeightType::Int8),
        ("models/model2vec_unigram_f16", ModelTarget::Amb, WeightType::F16),
        ("cases/gguf-mean/model.gguf", ModelTarget::Weights, WeightType::F32),
        ("cases/gguf-xlmr-without-ends/model.gguf", ModelTarget::Amb, WeightType::F16),
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
