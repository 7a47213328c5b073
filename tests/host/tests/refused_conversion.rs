//! Conversion of models to `.weights`, `.amb` and GGUF files: every failed allocation is an error of
//! that kind; nothing aborts the process, nothing leaks, and a file is whole or not there.
//!
//! Some allocations are infallible and not failed here: names of files, messages, boxes of fixed
//! size and the first elements of short lists, all [smaller](LEAST) than others; and those of some
//! [sizes](SPARED), which are buffers and values of `serde_json`, by which a folder's settings are
//! read. No more bytes than a file of settings may have become such values, but a value takes more
//! memory than its spelling.

use std::path::{Path, PathBuf};
use std::{fs, io};

use nanoembed::convert::Conversion;
use nanoembed::convert::ModelTarget::{self, Amb, Gguf, Weights};
use nanoembed::convert::WeightType::{self, Adaptive, F16, F32, Int4, Int5block, Int8};
use nanoembed::{Error, Silent};
use nanoembed_core::ErrorKind;
use nanoembed_tests::refusing::Refusing;
use tempfile::TempDir;

/// Bytes of the smallest allocation that fails. On other systems, names of temporary files are
/// longer.
const LEAST: usize = if cfg!(target_os = "linux") { 64 } else { 192 };

/// Allocations of these sizes are not failed either.
const SPARED: [usize; 17] = [
    // Shared options.
    72,
    // Hash tables of `serde_json`'s objects with groups of 8 and of 16 bytes, and arrays.
    80,
    88,
    152,
    160,
    296,
    304,
    584,
    592,
    288,
    576,
    // The members of an object that is written.
    312,
    416,
    // Nodes of the set of members that were asked for.
    280,
    376,
    // The target of a link, and the buffer of a file that is written.
    256,
    1 << 20,
];

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::sparing(LEAST, &SPARED);

/// Copies a file, or a folder with all in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    fs::read_dir(from)?.try_for_each(|entry| {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))
    })
}

/// Checks what a conversion left in the folder `out`, and removes it; `whole` is the file without a
/// failure.
fn judge(name: &str, outcome: Result<(), Error>, out: &Path, whole: &mut Option<Vec<u8>>) {
    match outcome {
        Ok(()) => {
            let file = out.join("model");
            let written = fs::read(&file).expect("what was written");
            fs::remove_file(&file).expect("a file");
            let whole = whole.get_or_insert_with(|| written.clone());
            assert!(*whole == written, "{name}: another file after a failure");
        }
        Err(error) => {
            assert_eq!(error.code(), ErrorKind::NoMemory.code(), "{name}: {error}");
        }
    }
    assert_eq!(fs::read_dir(out).expect("a folder").count(), 0, "{name}: files are left");
}

/// Conversions of folders, and of files; the last are made of the first model.
const CASES: [(&str, ModelTarget, WeightType); 20] = [
    ("cases/bert-mean/model", Weights, F32),
    ("cases/bert-mean/model", Amb, Int5block),
    ("cases/bert-mean/model", Gguf, F32),
    ("cases/added-tokens-json/model", Weights, F16),
    ("cases/added-tokens-fast/model", Amb, F16),
    ("models/bert_cased", Weights, F16),
    ("models/roberta", Weights, Int8),
    ("models/roberta", Gguf, F32),
    ("models/mpnet", Amb, Int4),
    ("models/nomic_bert", Amb, Adaptive),
    ("models/nomic_bert", Gguf, F32),
    ("models/xlmr_bge_m3", Gguf, F32),
    ("models/embeddinggemma", Gguf, F32),
    ("models/qwen3_embedding", Weights, F32),
    ("models/model2vec_unigram_f16", Amb, F16),
    ("models/model2vec_int8_mapped", Weights, F32),
    ("cases/gguf-mean/model.gguf", Weights, F32),
    ("cases/gguf-xlmr-without-ends/model.gguf", Amb, F16),
    ("made.weights", Amb, F16),
    ("made.amb", Weights, F16),
];

/// The texts to calibrate with.
const TEXTS: &str = "This is a sentence.\nAnother one, of 10 words; perhaps.\n";

fn refuse_each((model, to, weight_type): (&str, ModelTarget, WeightType), input: &str, out: &Path) {
    let name = format!("{model} to {to:?} in {weight_type:?}");
    let conversion = Conversion::new(input, out.join("model")).to(to).weight_type(weight_type);
    let is_float = matches!(weight_type, F32 | F16);
    let conversion = conversion.calibrate((!is_float).then(|| PathBuf::from("texts")));
    let mut whole = None;
    let run = || conversion.run(&Silent).map(drop);
    let judge = |outcome| judge(&name, outcome, out, &mut whole);
    let refused = ALLOCATOR.judge_each(&name, run, judge);
    assert!(refused > 100, "{name}: {refused}");
}

#[test]
fn conversions_succeed_or_give_an_error() {
    // On one thread, whose allocations are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the only pool");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let data = data.canonicalize().expect("the models");
    // Where paths are short.
    let here = TempDir::new().expect("a folder");
    std::env::set_current_dir(here.path()).expect("a folder");
    let out = TempDir::new().expect("a folder");
    fs::write("texts", TEXTS).expect("a file");
    for made in ["made.weights", "made.amb"] {
        let made = Conversion::new(data.join(CASES[0].0), made).run(&Silent);
        made.expect("a file of a model");
    }
    for (number, case) in CASES.into_iter().enumerate() {
        let (from, input) = (data.join(case.0), number.to_string());
        if !from.exists() {
            refuse_each(case, case.0, out.path());
            continue;
        }
        copy(&from, Path::new(&input)).expect("a copy of the model");
        refuse_each(case, &input, out.path());
    }
}
