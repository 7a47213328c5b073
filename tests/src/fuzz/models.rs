//! Encoders, opened and run.

use std::borrow::Cow;
use std::sync::OnceLock;

use nanoembed_core::Error;
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::folder::{FolderModel, Prefix};
use nanoembed_core::owned::{
    Encoder, EncoderFile, EncoderRoom, FileWeights, TableFile, TextRoom, TextSession, Tokenized,
};

use super::small::{Files, small_model};
use crate::data;

/// The text to embed, after prompts.
const TEXT: &str = "Hello, w\u{f6}rld! [MASK] 12";
/// The largest number of tokens per run, since an invalid model may be large.
const MOST_TOKENS: usize = 12;

/// A model in a `.weights`, AMB or GGUF file opens and runs, or is rejected with an error at an
/// offset inside the file. If the small reader opens it too, the model is the same: that reader
/// ignores the parts of models that compare texts, and so may open files that are otherwise
/// rejected.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn encoder(file: &[u8]) {
    let opened = Encoder::open(file);
    if let Ok(any) = &opened {
        if let Ok(model) = EncoderFile::open(file, &mut EncoderRoom::default()) {
            same(&model, any);
        }
        if let Ok(table) = TableFile::open(file) {
            same_table(&table, any);
        }
    }
    match opened {
        Ok(model) => run(&model),
        Err(fault) => {
            let at = fault.error().offset();
            assert!(at.is_none_or(|at| at <= file.len() as u64), "{fault}");
            assert!(!fault.to_string().is_empty());
        }
    }
}

/// A folder with arbitrary settings opens and runs with its original weights and tokenizer, or is
/// rejected with the name of the file at fault, and requests no file outside of it.
///
/// The first byte chooses the test model; its settings follow, separated by FF: `config.json`,
/// `modules.json`, those of two modules, prompts, the limit on tokens, those of the tokenizer, and
/// the files of the weights.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn folder(input: &[u8]) {
    let Some((choice, settings)) = input.split_first() else { return };
    let model = &models()[usize::from(*choice) % models().len()];
    let settings: Vec<&[u8]> = settings.split(|byte| *byte == 0xFF).collect();
    let texts = |path: &str| {
        assert!(is_inside(path), "{path}");
        let changed = SETTINGS.iter().position(|it| *it == path).and_then(|at| settings.get(at));
        Ok(match changed {
            Some([]) => None,
            Some(text) => Some(String::from_utf8_lossy(text)),
            None => model.text(path).map(Cow::Borrowed),
        })
    };
    let Ok(described) = FolderModel::read(&texts) else { return };
    // The weights are in one file, which also counts as a part.
    let Ok(paths) = described.weight_files(&texts, &|_| false) else { return };
    let files = paths.into_iter().map(|path| {
        let bytes = model.bytes(&path);
        (path, bytes)
    });
    match Encoder::open_folder(&texts, files) {
        Ok(model) => run(&model),
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
}

/// The settings of a folder that inputs change.
const SETTINGS: [&str; 8] = [
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "model.safetensors.index.json",
];

/// Returns true if a path stays within its folder.
fn is_inside(path: &str) -> bool {
    let is_special = |letter: char| letter.is_control() || letter == '\\' || letter == ':';
    !path.starts_with('/') && !path.contains(is_special) && path.split('/').all(|part| part != "..")
}

/// Two ways to run a model give the same ids, the same vectors, and the same errors.
fn same<B: AsRef<[u8]> + Sync>(model: &EncoderFile<'_>, any: &Encoder<FileWeights<B>>) {
    let sizes = [model.dimensions(), model.usual_tokens(), model.positions()];
    assert_eq!(sizes, [any.dimensions(), any.usual_tokens(), any.positions()]);
    assert!(model.prompts().iter().eq(any.prompts().by_name.keys()));
    let limit = any.usual_tokens().clamp(1, MOST_TOKENS);
    let found = model.encode(TEXT, limit, &mut TextRoom::default());
    let Some(found) = same_ids(found, any, limit) else { return };
    let plan = model.plan(found.ids.len());
    assert_eq!(plan, any.plan(found.ids.len()));
    let Ok(mut session) = model.session_for(plan) else { return };
    let (ids, lengths) = (&found.ids, [found.ids.len()]);
    let mut vectors = [0, 1].map(|_| vec![0.0; model.dimensions()]);
    let [one, two] = &mut vectors;
    let results = [
        model.embed(&mut session, ids, &lengths, 0, one),
        any.embed(&mut session, &InOrder, ids, &lengths, 0, two),
    ];
    assert_eq!(results[0], results[1]);
    assert_same_bits(vectors);
}

/// The same of a table.
fn same_table<B: AsRef<[u8]> + Sync>(table: &TableFile<&[u8]>, any: &Encoder<FileWeights<B>>) {
    assert_eq!(table.dimensions(), any.dimensions());
    let found = table.tokenize(TEXT, MOST_TOKENS);
    let Some(Tokenized { ids, .. }) = same_ids(found, any, MOST_TOKENS) else { return };
    let Ok(mut session) = any.session_for(any.plan(ids.len())) else { return };
    let lengths = [ids.len()];
    let mut vectors = [0, 1].map(|_| vec![0.0; table.dimensions()]);
    let [one, two] = &mut vectors;
    let results = [
        table.embed(&ids, &lengths, one),
        any.embed(&mut session, &InOrder, &ids, &lengths, 0, two),
    ];
    assert_eq!(results[0], results[1]);
    assert_same_bits(vectors);
}

/// The ids, which must be equal in both.
fn same_ids<B: AsRef<[u8]> + Sync>(
    found: Result<Tokenized, Error>,
    any: &Encoder<FileWeights<B>>,
    limit: usize,
) -> Option<Tokenized> {
    let other = any.encode(TEXT, limit, &mut TextSession::default());
    assert_eq!(found.as_ref().map_err(Error::kind), other.as_ref().map_err(Error::kind));
    found.ok()
}

fn assert_same_bits(vectors: [Vec<f32>; 2]) {
    let [one, two] = vectors.map(|it| it.into_iter().map(f32::to_bits).collect::<Vec<_>>());
    assert_eq!(one, two);
}

/// Embeds, and compares if that is what the model does.
fn run<B: AsRef<[u8]> + Sync>(model: &Encoder<FileWeights<B>>) {
    let mut tokens = TextSession::default();
    let prompt = model.prompts().choose(&Prefix::Usual).unwrap_or_default();
    let Ok(prompt) = model.prompt(prompt, &mut tokens) else { return };
    let limit = model.usual_tokens().clamp(1, MOST_TOKENS);
    if let Some(classes) = model.classes() {
        let Ok(pair) = model.encode_pair(TEXT, TEXT, limit, &mut tokens) else { return };
        let mut logits = vec![0.0; classes.labels().len()];
        let Ok(mut session) = model.session_for(model.plan(pair.ids.len())) else { return };
        let _ = model.classify(&mut session, &InOrder, &[pair], &mut logits);
    }
    let text = prompt.before(TEXT).unwrap();
    let Ok(found) = model.encode(&text, limit, &mut tokens) else { return };
    assert!(found.ids.len() <= limit);
    let lengths = [found.ids.len(), 0];
    let Ok(mut session) = model.session_for(model.plan(found.ids.len())) else { return };
    let mut twice = [0, 1].map(|_| vec![f32::NAN; 2 * model.dimensions()]);
    let results = twice
        .each_mut()
        .map(|out| model.embed(&mut session, &InOrder, &found.ids, &lengths, prompt.skipped, out));
    assert_eq!(results[0], results[1], "memory that was used before");
    assert_same_bits(twice);
}

/// A complete folder of a test model, with a reduced vocabulary.
struct Model {
    name: String,
    files: Files,
}

impl Model {
    fn bytes(&self, path: &str) -> &[u8] {
        let file = self.files.iter().find(|(name, _)| name == path);
        file.map_or(&[], |(_, bytes)| bytes)
    }

    fn text(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|(name, _)| name == path);
        file.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok())
    }
}

fn models() -> &'static [Model] {
    static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let models = data::folders("models").into_iter().map(|name| {
            let files = data::tree(&format!("models/{name}"));
            Model { name, files }
        });
        let whole = models.filter(|model| !model.bytes("model.safetensors").is_empty());
        whole.map(|Model { name, files }| Model { name, files: small_model(files) }).collect()
    })
}

/// The settings of every test model.
pub(super) fn folder_seeds() -> Vec<(String, Vec<u8>)> {
    let index = br#"{"metadata": {"total_size": 9}, "weight_map": {"a": "model.safetensors"}}"#;
    let seed = |(choice, model): (u8, &Model)| {
        let mut settings = SETTINGS.map(|path| model.bytes(path));
        // Half of the folders state which files contain the weights.
        if choice % 2 == 1 {
            settings[SETTINGS.len() - 1] = index;
        }
        (model.name.clone(), [&[choice], settings.join(&0xFF).as_slice()].concat())
    };
    (0..).zip(models()).map(seed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_folder_that_opens() {
        assert!(models().len() >= 19);
        for model in models() {
            let texts = |path: &str| Ok(model.text(path).map(Cow::Borrowed));
            let described = FolderModel::read(&texts).unwrap();
            let paths = described.weight_files(&texts, &|_| false).unwrap();
            let files = paths.into_iter().map(|path| {
                let bytes = model.bytes(&path);
                (path, bytes)
            });
            let opened = Encoder::open_folder(&texts, files);
            run(&opened.unwrap_or_else(|fault| panic!("{}: {fault}", model.name)));
        }
    }
}
