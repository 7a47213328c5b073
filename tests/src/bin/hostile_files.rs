//! Writes small, deliberately invalid files, for other readers: `hostile_files FOLDER`.
//!
//! There is a folder for each kind of file, with a subfolder for each method: `honest`; `field`,
//! one number of the header changed; `value`, one value of a JSON document changed; `cut`, the
//! file's beginning; `changed`, one to eight random changes; and `known`, those among the test
//! files. The output is deterministic.

use std::io;
use std::path::{Path, PathBuf};

use nanoembed_tests::finalfusion::Numbers;
use nanoembed_tests::fuzz::mutated;
use nanoembed_tests::hostile::{fields, json, proto};
use nanoembed_tests::{data, formats};

/// The number of randomly changed files of each kind.
const CHANGED: usize = 1000;

/// The largest number of prefixes of a valid file.
const CUTS: usize = 64;

struct Folder {
    path: PathBuf,
    ending: &'static str,
    /// The number of files.
    count: usize,
}

impl Folder {
    fn new(root: &Path, kind: &str, ending: &'static str) -> Self {
        Self { path: root.join(kind), ending, count: 0 }
    }

    fn add(&mut self, way: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.path.join(way);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{:05}.{}", self.count, self.ending)), bytes)?;
        self.count += 1;
        Ok(())
    }

    /// The files themselves, their prefixes, and random changes.
    fn add_near(&mut self, honest: &[Vec<u8>]) -> io::Result<()> {
        honest.iter().try_for_each(|file| self.add("honest", file))?;
        for file in honest {
            let step = file.len().div_ceil(CUTS).max(1);
            (0..file.len())
                .step_by(step)
                .try_for_each(|length| self.add("cut", &file[..length]))?;
        }
        let mut numbers = Numbers(1);
        (0..CHANGED).try_for_each(|_| self.add("changed", &mutated(honest, 1 << 20, &mut numbers)))
    }
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "hostile".into()));
    let fields = fields::fields();
    for (format, ending) in
        [("gguf", "gguf"), ("safetensors", "safetensors"), ("finalfusion", "fifu")]
    {
        let mut folder = Folder::new(&root, format, ending);
        for field in fields.iter().filter(|field| field.format == format) {
            if folder.count == 0 {
                folder.add("honest", &(field.file)(field.honest))?;
            }
            for value in field.values() {
                folder.add("field", &(field.file)(value))?;
            }
        }
        let format = formats::FORMATS.iter().find(|it| it.name == format);
        let (bad, honest): (Vec<_>, _) = format
            .map(formats::FormatUnderTest::files)
            .unwrap_or_default()
            .into_iter()
            .partition(|(name, _)| name.starts_with("bad_"));
        bad.iter().try_for_each(|(_, file)| folder.add("known", file))?;
        folder.add_near(&honest.into_iter().map(|(_, file)| file).collect::<Vec<_>>())?;
        if ending == "safetensors" {
            let bad = data::files("safetensors/bad", &["safetensors"]);
            bad.iter().try_for_each(|(_, file)| folder.add("known", file))?;
        }
    }
    let mut folder = Folder::new(&root, "sentencepiece", "model");
    let models: Vec<_> =
        ["llama", "t5"].map(|name| data::read(&format!("sentencepiece/{name}.model"))).into();
    for (_, changed) in models.iter().flat_map(|model| proto::changes(model)) {
        folder.add("field", &changed)?;
    }
    // A normalisation rule that expands one byte to a hundred thousand.
    folder.add("known", &data::read("hostile/r100000.model"))?;
    folder.add_near(&models)?;
    let mut folder = Folder::new(&root, "tokenizers", "json");
    let documents = ["bert_cased", "embeddinggemma", "qwen3_embedding"]
        .map(|model| data::read(&format!("models/{model}/tokenizer.json")));
    for document in &documents {
        let document = serde_json::from_slice(document)?;
        for (_, changed) in json::changes(&document) {
            folder.add("value", &serde_json::to_vec(&changed)?)?;
        }
    }
    folder.add_near(&documents)
}
