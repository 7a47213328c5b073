//! Conversion of models to `.weights`, `.amb`, GGUF, UQFF and safetensors files: every failed
//! allocation is an error of that kind; nothing aborts the process, nothing leaks, and a file is
//! whole or not there.
//!
//! Some allocations are infallible and not failed here: names of files, messages, boxes of fixed
//! size and the first elements of short lists, all [smaller](refused::LEAST) than others; those of
//! some [sizes](refused::SPARED), which are buffers and values of `serde_json`, by which a folder's
//! settings are read; and the regular expressions of [adapters](PATTERN_BYTES). No more bytes than a
//! file of settings may have become values of `serde_json`, but a value takes more memory than its
//! spelling.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed::convert::ModelTarget::{self, Amb, Gguf, Weights};
use nanoembed::convert::WeightType::{self, Adaptive, F16, F32, Int4, Int5block, Int8};
use nanoembed::convert::{
    Conversion, Dequantization, Migration, QuantType, Quantization, Target, Writing,
};
use nanoembed::{Error, Observer, Silent};
use nanoembed_host_tests::refused;
use nanoembed_tests::refusing::Refusing;
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing::sparing(refused::LEAST, &refused::SPARED);

/// The folder of a decoder.
const LLAMA: &str = "cases/llama-llama3-scaling/model";

/// The same with the tokenizer in `tokenizer.model`.
const PIECES: &str = "pieces";

/// The same with such a tokenizer in `tokenizer.json`, as Gemma has it.
const MERGED_PIECES: &str = "merged-pieces";

/// The same as UQFF 1.2 and 0.2.
const LLAMA_12: &str = "llama-1.2";
const LLAMA_02: &str = "llama-0.2";

/// A model, and its tensors alone.
const ORIGINAL: &str = "llama/tiny.gguf";
const TENSORS: &str = "tensors.safetensors";

/// An embedding model as mistral.rs writes it.
const EMBEDDER: &str = "uqff/mistralrs-0.9.5/qwen3_embedding-afq8";

/// Conversions of folders, and of files; the last are made of the first model.
const CASES: [(&str, ModelTarget, WeightType); 32] = [
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
    (LLAMA, Weights, F16),
    (LLAMA, Amb, Int8),
    (LLAMA, Gguf, F32),
    (PIECES, Amb, F16),
    (MERGED_PIECES, Amb, F16),
    ("cases/qwen3-without-modules/model", Gguf, F32),
    ("cases/phi3-partial-folder/model", Amb, Int5block),
    ("llama/tiny.gguf", Weights, F32),
    ("cases/phi3-factors/model.gguf", Amb, F16),
    ("cases/rope-yarn-gguf/model.gguf", Weights, F32),
    (EMBEDDER, Weights, F16),
    (LLAMA_12, Gguf, F32),
];

/// Migrations of folders and of files.
const MIGRATIONS: [(&str, Target); 14] = [
    (LLAMA, Target::Uqff12),
    (LLAMA, Target::Uqff02),
    ("models/qwen3_embedding", Target::Uqff02),
    ("llama/tiny.gguf", Target::Uqff12),
    ("llama/tiny.gguf", Target::Uqff02),
    ("llama/tiny.gguf", Target::Gguf),
    ("llama/tiny.gguf", Target::Safetensors),
    (EMBEDDER, Target::Uqff02),
    (EMBEDDER, Target::Gguf),
    (EMBEDDER, Target::Safetensors),
    (LLAMA_12, Target::Uqff02),
    (LLAMA_12, Target::Safetensors),
    (LLAMA_02, Target::Uqff12),
    (LLAMA_02, Target::Gguf),
];

/// LoRA adapters, those with regular expressions among them, and the models that they are for.
const ADAPTERS: [(&str, bool, &str); 2] = [
    ("adapters/bert", false, "models/bert_cased"),
    ("adapters/qwen3", true, "models/qwen3_embedding"),
];

/// More than an allocation of an adapter's regular expressions takes. These are infallible, and no
/// more than so many of no more than so many bytes are taken.
const PATTERN_BYTES: usize = 4 << 10;

/// Quantisations of folders and of files.
const QUANTIZATIONS: [(&str, Target, &str); 8] = [
    ("llama/tiny.gguf", Target::Gguf, "q5_0"),
    ("llama/tiny.gguf", Target::Uqff12, "mxfp4"),
    ("llama/tiny.gguf", Target::Safetensors, "f16"),
    (LLAMA, Target::Uqff12, "fp8"),
    (LLAMA, Target::Gguf, "f16"),
    (LLAMA_12, Target::Uqff02, "fp8"),
    (EMBEDDER, Target::Gguf, "q8_0"),
    ("models/bert_cased", Target::Uqff12, "fp8"),
];

/// Files and folders whose tensors become floats.
const DEQUANTIZATIONS: [&str; 5] = [
    "gguf/blocks.gguf",
    "uqff/containers/all-0.uqff",
    "embd/section_all_dtypes_flags7.weights",
    "amb/int4.amb",
    LLAMA,
];

/// The most bytes of a UQFF shard, so that there are several.
const SHARD_BYTES: u64 = 16 << 10;

/// A file with names of layers.
const NAMES: &str = "names";

/// The texts to calibrate with.
const TEXTS: &str = "This is a sentence.\nAnother one, of 10 words; perhaps.\n";

/// Runs `job`, which writes files into the folder `out`, with each allocation failing: more than
/// `most` of its runs do.
fn refuse_each(name: &str, out: &Path, most: usize, job: impl Fn() -> Result<(), Error>) {
    refused::refuse_each(&ALLOCATOR, (name, out), most, job);
}

fn convert(model: &Model, (to, weight_type): (ModelTarget, WeightType), out: &Path) {
    let name = format!("{} to {to:?} in {weight_type:?}", model.name);
    let output = out.join("model");
    let conversion = Conversion::new(&model.path, output).to(to).weight_type(weight_type);
    let is_float = matches!(weight_type, F32 | F16);
    let conversion = conversion.calibrate((!is_float).then(|| PathBuf::from("texts")));
    refuse_each(&name, out, 100, || conversion.run(&Silent).map(drop));
}

/// Converts a model with a LoRA adapter merged into it.
fn adapt((adapter, has_patterns): (&Model, bool), model: &Model, out: &Path) {
    for to in [Weights, Amb] {
        let name = format!("{} with {} to {to:?}", model.name, adapter.name);
        let conversion = Conversion::new(&model.path, out.join("model")).to(to);
        let conversion = conversion.adapter(adapter.path.clone());
        let run = || refuse_each(&name, out, 40, || conversion.run(&Silent).map(drop));
        match has_patterns {
            true => ALLOCATOR.with_least(PATTERN_BYTES, run),
            false => run(),
        }
    }
}

/// Counts warnings.
#[derive(Default)]
struct Warned(AtomicUsize);

impl Observer for Warned {
    fn warn(&self, _: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A conversion that ignores a setting warns of it, or gives an error.
fn ignore(model: &Model, to: ModelTarget, out: &Path) {
    let name = format!("{} to {to:?}", model.name);
    let conversion = Conversion::new(&model.path, out.join("model")).to(to);
    let conversion = conversion.allow_unknown(["is_matryoshka"]);
    refuse_each(&name, out, 100, || {
        let warned = Warned::default();
        let converted = conversion.run(&warned).map(drop);
        assert!(converted.is_err() || warned.0.into_inner() == 1, "{name}: a warning is lost");
        converted
    });
}

/// The output, and how it is written.
fn written(to: Target, out: &Path) -> (PathBuf, Writing) {
    let writing = Writing::default().to(to).report(to == Target::Uqff12);
    match to {
        Target::Uqff12 | Target::Uqff02 => (out.join("m-0.uqff"), writing.shard_size(SHARD_BYTES)),
        _ => (out.join("m"), writing),
    }
}

fn migrate(model: &Model, to: Target, out: &Path) {
    let (output, writing) = written(to, out);
    migrate_as(model, (output, writing), to, out);
}

fn migrate_as(model: &Model, (output, writing): (PathBuf, Writing), to: Target, out: &Path) {
    let migration = Migration::new([&model.path], output).writing(writing);
    let name = format!("{} to {}", model.name, to.name());
    refuse_each(&name, out, 40, || migration.run(&Silent).map(drop));
}

fn quantize(model: &Model, (to, quant_type): (Target, QuantType), out: &Path) {
    let (output, writing) = written(to, out);
    let quantization = Quantization::new(&model.path, output, quant_type).writing(writing);
    let name = format!("{} to {} in {}", model.name, to.name(), quant_type.name());
    refuse_each(&name, out, 40, || quantization.run(&Silent).map(drop));
}

/// A model in the current folder, where paths are short.
struct Model {
    name: &'static str,
    path: PathBuf,
}

/// The models that were copied.
#[derive(Default)]
struct Models(BTreeMap<&'static str, PathBuf>);

impl Models {
    fn model(&mut self, name: &'static str) -> Model {
        let from = data().join(name);
        if !from.exists() {
            return Model { name, path: name.into() };
        }
        let number = self.0.len();
        let path = self.0.entry(name).or_insert_with(|| {
            // Shards of UQFF are known by the endings of their names.
            let ending = if from.is_dir() {
                ""
            } else {
                from.extension().map_or("", |it| it.to_str().expect("UTF-8"))
            };
            let to = PathBuf::from(number.to_string()).with_extension(ending);
            refused::copy(&from, &to).expect("a copy of the model");
            to
        });
        Model { name, path: path.clone() }
    }
}

fn data() -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    data.canonicalize().expect("the models")
}

/// Makes further models in the current folder.
fn make_models() {
    for made in ["made.weights", "made.amb"] {
        let made = Conversion::new(data().join(CASES[0].0), made).run(&Silent);
        made.expect("a file of a model");
    }
    refused::copy(&data().join(LLAMA), Path::new(PIECES)).expect("a copy of the model");
    fs::remove_file(Path::new(PIECES).join("tokenizer.json")).expect("a tokenizer");
    let pieces = data().join("sentencepiece/llama.model");
    fs::copy(pieces, Path::new(PIECES).join("tokenizer.model")).expect("a tokenizer");
    let merged = Path::new(MERGED_PIECES);
    refused::copy(&data().join(LLAMA), merged).expect("a copy of the model");
    let tokenizer = data().join("models/embeddinggemma/tokenizer.json");
    fs::copy(tokenizer, merged.join("tokenizer.json")).expect("a tokenizer");
    let ends = r#"{"bos_token_id": 2, "eos_token_id": 1}"#;
    fs::write(merged.join("generation_config.json"), ends).expect("a file");
    let names = (0..50).map(|number| format!("{number} a.rather.long.name.of.a.layer.{number}\n"));
    fs::write(NAMES, names.collect::<String>()).expect("a file");
    let tensors = Writing::default().to(Target::Safetensors);
    let tensors = Migration::new([data().join(ORIGINAL)], TENSORS).writing(tensors);
    tensors.run(&Silent).expect("a file of tensors");
    for (made, to) in [(LLAMA_12, Target::Uqff12), (LLAMA_02, Target::Uqff02)] {
        fs::create_dir(made).expect("a folder");
        let output = Path::new(made).join("m-0.uqff");
        let made = Migration::new([data().join(LLAMA)], output).writing(Writing::default().to(to));
        made.run(&Silent).expect("a file of a model");
    }
}

#[test]
fn conversions_succeed_or_give_an_error() {
    // On one thread, whose allocations are counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the only pool");
    let here = TempDir::new().expect("a folder");
    std::env::set_current_dir(here.path()).expect("a folder");
    let out = TempDir::new().expect("a folder");
    let out = out.path();
    fs::write("texts", TEXTS).expect("a file");
    make_models();
    let mut models = Models::default();
    for (name, to, weight_type) in CASES {
        convert(&models.model(name), (to, weight_type), out);
    }
    for to in [Weights, Gguf] {
        ignore(&models.model("cases/allow-unknown/model"), to, out);
    }
    for (name, to) in MIGRATIONS {
        migrate(&models.model(name), to, out);
    }
    let (output, writing) = written(Target::Uqff12, out);
    let named = (output, writing.names(PathBuf::from(NAMES)));
    migrate_as(&models.model(LLAMA_02), named, Target::Uqff12, out);
    let (output, writing) = written(Target::Gguf, out);
    let like = (output, writing.like(models.model(ORIGINAL).path));
    migrate_as(&models.model(TENSORS), like, Target::Gguf, out);
    for (adapter, has_patterns, base) in ADAPTERS {
        adapt((&models.model(adapter), has_patterns), &models.model(base), out);
    }
    for (name, to, quant_type) in QUANTIZATIONS {
        let quant_type = quant_type.parse().expect("a type");
        quantize(&models.model(name), (to, quant_type), out);
    }
    for name in DEQUANTIZATIONS {
        let model = models.model(name);
        let dequantization = Dequantization::new(&model.path, out.join("m"));
        let name = format!("{name} to floats");
        refuse_each(&name, out, 10, || dequantization.run(&Silent).map(drop));
    }
}
