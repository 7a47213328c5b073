//! Word vectors of all forms, converted, quantised and looked up: every failed allocation is an
//! error of that kind; nothing aborts the process, nothing leaks, and a file is whole or not there.
//!
//! Some allocations are infallible and not failed here: names of files, messages, boxes of fixed
//! size, all [smaller](LEAST) than others; buffers and values of [fixed sizes](SPARED); and, where
//! entries of metadata are edited, those of the TOML library. As much memory as it takes is
//! reserved before and returned, and the [reservation](TOML_BYTES) fails here too.

use std::fs;
use std::path::{Path, PathBuf};

use nanoembed::words::{
    Conversion, ExplicitNgrams, Form, OnBrokenUtf8, OnDuplicate, Policy, Quantization,
    Reconstruction, RotationKind, Words,
};
use nanoembed::{Error, Silent};
use nanoembed_host_tests::refused;
use nanoembed_tests::refusing::Refusing;
use tempfile::TempDir;

/// Bytes of the smallest allocation that fails. On other systems, names of temporary files are
/// longer.
const LEAST: usize = if cfg!(target_os = "linux") { 64 } else { 192 };

/// Allocations of these sizes are not failed either.
const SPARED: [usize; 5] = [
    // Shared options.
    72,
    // Word vectors that clones share.
    1072,
    // The target of a link.
    256,
    // The buffers of a file that is read, and of one that is written.
    1 << 18,
    1 << 20,
];

/// Less than is reserved for the metadata of `licence.bin`, and more than any part of it takes.
const TOML_BYTES: usize = 20_000;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::sparing(LEAST, &SPARED);

/// The number of words in rows of text.
const WORDS: usize = 300;

/// Rows of text: words, some of them twice, some not UTF-8, with seven numbers each.
fn rows(has_faults: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for word in 0..WORDS {
        let number = if has_faults { word / 2 * 2 } else { word };
        text.extend(format!("a-rather-long-word-{number}").bytes());
        if has_faults && word % 3 == 0 {
            text.extend(b"\xff-of-bytes-that-are-no-text-however-they-are-read-in-this-case\xfe");
        }
        for column in 0..7 {
            text.extend(format!(" {}", (word * 7 + column) % 97).bytes());
        }
        text.push(b'\n');
    }
    text
}

fn data(name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    data.canonicalize().expect("the files").join(name)
}

/// Makes the files in the current folder, where paths are short.
fn make_files() {
    for name in ["licence.bin", "no_subwords.bin", "labels.ftz", "licence.floret"] {
        fs::copy(data("words").join(name), name).expect("a file");
    }
    let words = data("../../ffi/tests/data");
    for name in ["words.fifu", "words.pq.fifu"] {
        fs::copy(words.join(name), name).expect("a file");
    }
    fs::write("rows.txt", rows(false)).expect("a file");
    fs::write("faults.txt", rows(true)).expect("a file");
    for (from, to) in
        [("rows.txt", "rows.vec"), ("rows.txt", "rows.w2v"), ("rows.txt", "rows.fifu")]
    {
        Conversion::new(from, to).run(&Silent).expect("a file");
    }
    Conversion::new("licence.bin", "licence.fifu").run(&Silent).expect("a file");
    Conversion::new("licence.floret", "floret.fifu").run(&Silent).expect("a file");
}

/// Conversions: the input, the output's form, and how many of their runs fail at least.
const CONVERSIONS: [(&str, Form, usize); 16] = [
    ("licence.bin", Form::Finalfusion, 40),
    ("no_subwords.bin", Form::Finalfusion, 10),
    ("labels.ftz", Form::Finalfusion, 10),
    ("licence.floret", Form::Finalfusion, 2),
    ("rows.txt", Form::Finalfusion, 20),
    ("rows.vec", Form::Finalfusion, 20),
    ("rows.w2v", Form::Finalfusion, 20),
    ("rows.fifu", Form::Finalfusion, 2),
    ("licence.fifu", Form::Finalfusion, 2),
    ("rows.fifu", Form::Word2vec, 2),
    ("rows.fifu", Form::Text, 2),
    ("words.pq.fifu", Form::Textdims, 2),
    ("floret.fifu", Form::Floret, 2),
    ("rows.vec", Form::Word2vec, 20),
    ("licence.bin", Form::Text, 40),
    ("rows.w2v", Form::Text, 20),
];

fn refuse_each(name: &str, out: &Path, most: usize, job: impl Fn() -> Result<(), Error>) {
    refused::refuse_each(&ALLOCATOR, (name, out), most, job);
}

fn convert(out: &Path) {
    for (input, to, most) in CONVERSIONS {
        let name = format!("{input} to {}", to.name());
        let conversion = Conversion::new(input, out.join("words")).to(to);
        refuse_each(&name, out, most, || conversion.run(&Silent).map(drop));
    }
    let policy = Policy::default().duplicates(OnDuplicate::First).utf8(OnBrokenUtf8::Lossy);
    let conversion = Conversion::new("faults.txt", out.join("words")).to(Form::Finalfusion);
    let conversion = conversion.policy(policy);
    refuse_each("faults that are mended", out, 100, || conversion.run(&Silent).map(drop));
}

fn edit_metadata(out: &Path) {
    let conversion = Conversion::new("licence.bin", out.join("words")).to(Form::Finalfusion);
    let conversion = conversion.metadata("made.by", "a test").metadata("numbers", "[1, 2]");
    ALLOCATOR.with_least(TOML_BYTES, || {
        refuse_each("metadata", out, 0, || conversion.run(&Silent).map(drop));
    });
}

fn quantize(out: &Path) {
    for rotation in [RotationKind::None, RotationKind::Pca, RotationKind::Opq] {
        let name = format!("quantised with {}", rotation.name());
        let quantization = Quantization::new("words.fifu", out.join("words")).rotation(rotation);
        let quantization = quantization.code_bits(3).iterations(3).sample(200);
        refuse_each(&name, out, 10, || quantization.run(&Silent).map(drop));
    }
    let reconstruction = Reconstruction::new("words.pq.fifu", out.join("words"));
    refuse_each("reconstructed", out, 2, || reconstruction.run(&Silent));
    let ngrams = ExplicitNgrams::new("licence.fifu", out.join("words"));
    refuse_each("listed n-grams", out, 100, || ngrams.run().map(drop));
}

fn look_up() {
    for file in ["words.fifu", "words.pq.fifu", "rows.w2v", "licence.bin"] {
        let refused = ALLOCATOR.refuse_each(file, || {
            let words = Words::open(file)?;
            let first = words.iter().next().unwrap_or_default();
            words.get(&first)?;
            words.similar(&first, 5)?;
            words.analogy([&*first; 3], 5).map(drop)
        });
        assert!(refused > 5, "{file}: {refused}");
    }
}

#[test]
fn word_vectors_are_converted_and_looked_up_or_give_an_error() {
    // On one thread, whose allocations are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the only pool");
    let here = TempDir::new().expect("a folder");
    std::env::set_current_dir(here.path()).expect("a folder");
    let out = TempDir::new().expect("a folder");
    make_files();
    convert(out.path());
    edit_metadata(out.path());
    quantize(out.path());
    look_up();
}
