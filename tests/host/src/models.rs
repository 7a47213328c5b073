//! Converted models, in all families and forms, and folders of shards.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed::{Encoder, Generator, Silent};
use nanoembed_core::describe::BertConfig;
use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::model::{self, FixedMemory, FixedNeeds, Layer, Plan, SliceWeights};
use nanoembed_tests::data;
use nanoembed_tests::fuzz::{Files, small_model, small_uqff};
use serde_json::Value;
use tempfile::TempDir;

type Seeds = Vec<(String, Vec<u8>)>;

/// The largest amount of memory per model: valid models need less here.
const MOST_MEMORY: usize = 64 << 20;

/// A folder's model converted to one file.
fn converted(folder: &Path, to: ModelTarget, weight_type: WeightType) -> Option<Vec<u8>> {
    let out = TempDir::new().expect("a folder");
    let file = out.path().join("model");
    let conversion = Conversion::new(folder, &file).to(to).weight_type(weight_type);
    conversion.run(&Silent).ok()?;
    Some(fs::read(&file).expect("what was written"))
}

/// Models of all families in all forms: static ones, cross-encoders, and those with quantised
/// layers.
///
/// # Panics
///
/// If hardly any can be converted.
#[must_use]
pub fn family_seeds() -> Seeds {
    let mut seeds = Vec::new();
    for folder in data::folders("models") {
        let files = data::tree(&format!("models/{folder}"));
        let place = written(&small_model(files));
        for (to, weight_type) in [
            (ModelTarget::Weights, WeightType::Int8),
            (ModelTarget::Amb, WeightType::Int4block),
            (ModelTarget::Gguf, WeightType::F32),
        ] {
            let file = converted(place.path(), to, weight_type);
            seeds.extend(file.map(|file| (format!("{folder}-{to:?}"), file)));
        }
    }
    assert!(seeds.len() > 30, "{}", seeds.len());
    seeds
}

/// A BERT model in 8 bits like sentence-transformers' first ones: with a vocabulary, and without
/// tokenizer settings.
///
/// # Panics
///
/// If it cannot be created.
#[must_use]
pub fn fixed_seeds() -> Seeds {
    let folder = small_model(data::tree("models/bert_cased"));
    let file = |name: &str| {
        &folder.iter().find(|(path, _)| path == name).unwrap_or_else(|| panic!("{name}")).1
    };
    let tokenizer: Value = serde_json::from_slice(file("tokenizer.json")).expect("JSON");
    let vocabulary = tokenizer["model"]["vocab"].as_object().expect("a vocabulary");
    let mut tokens: Vec<_> = vocabulary.iter().map(|(token, id)| (id.as_u64(), token)).collect();
    tokens.sort();
    let tokens: Vec<&str> = tokens.into_iter().map(|(_, token)| token.as_str()).collect();
    let place = TempDir::new().expect("a folder");
    let write = |name: &str, bytes: &[u8]| fs::write(place.path().join(name), bytes).expect(name);
    write("config.json", file("config.json"));
    write("model.safetensors", file("model.safetensors"));
    write("vocab.txt", tokens.join("\n").as_bytes());
    let model = converted(place.path(), ModelTarget::Weights, WeightType::Int8);
    vec![("encoder".to_owned(), model.expect("a model"))]
}

/// The model of a `.weights` file embeds in integer arithmetic, or is rejected; reused memory gives
/// the same numbers.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn fixed(file: &[u8]) {
    let _ = embedded(file);
}

/// The embedding of some tokens; `None` if the file is rejected.
fn embedded(file: &[u8]) -> Option<Vec<i32>> {
    let embd = Embd::parse(file, Mode::Lenient).ok()?;
    let config = BertConfig::from_metadata(|key| embd.metadata_value(key)).ok()?;
    let find = |name: &str| embd.tensor(name).map(|tensor| *tensor.header());
    let weights = SliceWeights::new(file, find);
    let encoder = model::Encoder::open(
        &weights,
        config.transformer,
        config.embedding(),
        vec![Layer::EMPTY; config.layers],
    )
    .ok()?;
    let plan = Plan::new(4);
    let needs = FixedNeeds::new(&config, &plan).ok()?;
    if needs.words.saturating_add(needs.codes) > MOST_MEMORY / 4 {
        return None;
    }
    let (mut words, mut codes) = (vec![0; needs.words], vec![0; needs.codes]);
    let mut twice = [0, 1].map(|_| vec![0; config.hidden]);
    let results = twice.each_mut().map(|out| {
        let memory = FixedMemory { words: &mut words, codes: &mut codes, bytes: &mut [] };
        encoder.embed_fixed(&weights, &plan, &[1, 0, 2], memory, out)
    });
    assert_eq!(results[0], results[1], "memory that was used before");
    results[0].ok()?;
    let [first, second] = twice;
    assert_eq!(first, second, "memory that was used before");
    assert!(first.iter().all(|x| x.unsigned_abs() <= 1 << 30));
    Some(first)
}

/// A folder of UQFF shards opens as an encoder and as a causal model, or is rejected.
///
/// The first byte chooses the folder, the second the file that is replaced by the rest of the
/// input.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn uqff_folder(input: &[u8]) {
    let Some(([choice, changed], content)) = input.split_first_chunk::<2>() else { return };
    let folders = uqff_folders();
    let choice = usize::from(*choice) % folders.len();
    let files = &folders[choice];
    let (path, honest) = &files[usize::from(*changed) % files.len()];
    PLACES.with_borrow_mut(|places| {
        if places.is_empty() {
            places.extend(folders.iter().map(written));
        }
        let place = places[choice].path();
        // A new file, since the old one may still be mapped.
        replace(place, path, content);
        open(place);
        replace(place, path, honest);
    });
}

thread_local! {
    /// The unchanged folders, written once: a run changes one of their files, and restores it.
    static PLACES: RefCell<Vec<TempDir>> = const { RefCell::new(Vec::new()) };
}

fn replace(folder: &Path, path: &str, content: &[u8]) {
    let file = folder.join(path);
    fs::remove_file(&file).expect("a file");
    fs::write(&file, content).expect("a file");
}

fn open(folder: &Path) {
    match Encoder::open(folder) {
        Ok(encoder) => drop(encoder.embed("Hello, w\u{f6}rld!")),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = Generator::open(folder) {
        assert!(!error.to_string().is_empty());
    }
}

/// The folders of shards among the test files, with few layers and a reduced vocabulary.
fn uqff_folders() -> &'static [Files] {
    static FOLDERS: OnceLock<Vec<Files>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let all = "uqff/mistralrs-0.9.5";
        let folder = |name: String| {
            let mut files = small_uqff(data::tree(&format!("{all}/{name}")));
            files.sort();
            files
        };
        data::folders(all).into_iter().map(folder).collect()
    })
}

/// A folder of files.
fn written(files: &Files) -> TempDir {
    let place = TempDir::new().expect("a folder");
    for (path, content) in files {
        let to = place.path().join(path);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::write(to, content).expect("a file");
    }
    place
}

/// Every file of every folder.
///
/// # Panics
///
/// If there are none.
#[must_use]
pub fn uqff_seeds() -> Seeds {
    let mut seeds = Vec::new();
    for (choice, files) in (0_u8..).zip(uqff_folders()) {
        for (number, (path, content)) in (0_u8..).zip(files) {
            let name = format!("{choice}-{}", path.replace('/', "-"));
            seeds.push((name, [&[choice, number], &content[..]].concat()));
        }
    }
    assert!(seeds.len() > 4, "{}", seeds.len());
    seeds
}

#[cfg(test)]
mod tests {
    use nanoembed_core::owned::{EncoderFile, TableFile};

    use super::*;

    #[test]
    fn honest_folders_open() {
        for files in uqff_folders() {
            let place = written(files);
            assert!(Encoder::open(place.path()).is_ok(), "{:?}", files[0].0);
        }
    }

    #[test]
    fn some_honest_models_open_in_little_code() {
        let seeds = family_seeds();
        let opens = |is_open: fn(&[u8]) -> bool| seeds.iter().filter(|it| is_open(&it.1)).count();
        assert!(opens(EncoderFile::is_in) > 20);
        assert!(opens(|file| TableFile::open(file).is_ok()) > 0);
    }

    #[test]
    fn honest_models_embed_in_integers() {
        for (name, file) in fixed_seeds() {
            let embedding = embedded(&file).unwrap_or_else(|| panic!("{name} is refused"));
            assert!(embedding.iter().any(|x| *x != 0), "{name}");
        }
    }
}
