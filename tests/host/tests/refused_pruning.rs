//! Vocabularies cut to texts, with every kind of tokenizer: every failed allocation is an error of
//! that kind; nothing aborts the process, nothing leaks, and a folder is whole or not there.
//!
//! As in the test of conversions, allocations [smaller](LEAST) than others and of some
//! [sizes](refused::SPARED) are not failed, and neither are [two](ALSO_SPARED) more of fixed size.

use std::fs;
use std::path::{Path, PathBuf};

use nanoembed::Silent;
use nanoembed::convert::Pruning;
use nanoembed_host_tests::refused;
use nanoembed_tests::refusing::Refusing;
use tempfile::TempDir;

/// Bytes of the smallest allocation that fails: names of files in a temporary folder are longer than
/// elsewhere.
const LEAST: usize = 192;

/// Sizes of the buffer in which the standard library asks for the current folder, and of a tokenizer
/// that clones share.
const ALSO_SPARED: [usize; 2] = [512, 392];

/// Allocations of these sizes are not failed either.
const SPARED: [usize; refused::SPARED.len() + ALSO_SPARED.len()] = {
    let mut spared = [0; refused::SPARED.len() + ALSO_SPARED.len()];
    let (usual, also) = spared.split_at_mut(refused::SPARED.len());
    usual.copy_from_slice(&refused::SPARED);
    also.copy_from_slice(&ALSO_SPARED);
    spared
};

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::sparing(LEAST, &SPARED);

/// Models with WordPiece, BPE of bytes and of characters, and Unigram; with prompts and modules; and
/// a static model with rows for its tokens.
const MODELS: [&str; 5] =
    ["bert_cased", "roberta", "embeddinggemma", "xlmr_bge_m3", "model2vec_int8_mapped"];

const TEXTS: [&str; 3] = [
    "How do I reset my password?",
    "Wie setze ich mein Passwort zurück? Straße, naïve.",
    "привет, мир; Γειά σου",
];

#[test]
fn vocabularies_are_cut_or_give_an_error() {
    // On one thread, whose allocations are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the only pool");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/models");
    let models = models.canonicalize().expect("the models");
    let here = TempDir::new().expect("a folder");
    std::env::set_current_dir(here.path()).expect("a folder");
    fs::create_dir("out").expect("a folder");
    for (number, name) in MODELS.into_iter().enumerate() {
        // Paths are short.
        let model = PathBuf::from(number.to_string());
        refused::copy(&models.join(name), &model).expect("a copy of the model");
        refused::refuse_each(&ALLOCATOR, (name, Path::new("out")), 100, || {
            let mut pruning = Pruning::open(&model)?;
            pruning.read(&TEXTS)?;
            pruning.write("out/m", &Silent).map(drop)
        });
    }
}
