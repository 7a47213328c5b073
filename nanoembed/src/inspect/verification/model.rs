//! Checks that the model in a file or folder opens as it would to be used: tokenizer, sizes of its
//! settings and modules, which no format checks.

use std::path::Path;

use nanoembed_core::event::{Format, Mode, Value};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::source::{ModelSource, amb_config_value};

use super::Finding;
use crate::encoder::{Encoder, VectorKind};
use crate::error::Result;
use crate::generator::{Prompt, Sampling};
use crate::model::Model;
use crate::stored::FileSet;

/// The files that make a folder one of a model, or the UQFF files of a folder.
const SETTINGS: [&str; 2] = ["config.json", "modules.json"];

/// The way the model was used, or the faults that keep it from being used; `None` if the files are
/// no model: word vectors, and tensors without settings.
pub(super) fn verify(set: &FileSet, mode: Mode) -> Option<Result<&'static str, Vec<Finding>>> {
    if !is_model(set) {
        return None;
    }
    let used = match mode {
        Mode::Lenient => {
            open(set).and_then(|model| check_routes(&model)).map(|()| "the model opens")
        }
        Mode::Strict => open(set).and_then(|model| run(&model)),
    };
    Some(used.map_err(|failure| vec![Finding::from_error(&set.given_name(), failure)]))
}

fn is_model(set: &FileSet) -> bool {
    let has_settings = |folder: &Path| SETTINGS.iter().any(|name| folder.join(name).is_file());
    match (set.given_folder(), set.format()) {
        (Some(folder), _) => has_settings(folder),
        (None, Some(Format::Embd)) => true,
        (None, Some(Format::Amb)) => Amb::parse(set.first(), Mode::Lenient).is_ok_and(|file| {
            let source = ModelSource::Amb(file);
            let is_named = amb_config_value(&file, "model_type").is_some();
            is_named || source.has_folder_texts() || source.is_causal()
        }),
        (None, Some(Format::Gguf)) => Gguf::parse(set.first(), Mode::Lenient).is_ok_and(|file| {
            let Some(Value::Text(name)) = file.value("general.architecture") else { return false };
            let is_size = |key: &str| key.strip_prefix(name).is_some_and(|it| it.starts_with('.'));
            file.metadata().any(|(key, _)| is_size(key))
        }),
        (None, Some(Format::Uqff)) => has_settings(&set.folder()),
        _ => false,
    }
}

fn open(set: &FileSet) -> Result<Model> {
    let named = set.given_folder().or_else(|| set.iter().next().map(|(path, _)| path));
    match named {
        Some(path) if path != Path::new("-") => Model::open(path),
        // Stdin has been read.
        _ => Model::options().from_bytes(set.first().to_vec()),
    }
}

/// Opens the routes for queries and documents of a model with a Router.
fn check_routes(model: &Model) -> Result<()> {
    let Model::Encoder(encoder) = model else { return Ok(()) };
    encoder.in_each_role().try_for_each(|routed| routed.map(drop))
}

/// The text that models are run on.
const TEXT: &str = "a text";

/// Makes each kind of vectors that the model makes.
fn embed(encoder: &Encoder) -> Result<()> {
    if encoder.makes(VectorKind::Dense) {
        encoder.embed(TEXT)?;
    }
    if encoder.makes(VectorKind::Sparse) {
        encoder.embed_sparse(TEXT)?;
    }
    if encoder.makes(VectorKind::Multi) {
        encoder.embed_multi_query(TEXT)?;
    }
    Ok(())
}

/// Runs the model on one text.
fn run(model: &Model) -> Result<&'static str> {
    Ok(match model {
        Model::Encoder(encoder) => {
            embed(encoder)?;
            encoder.in_each_role().try_for_each(|routed| embed(&*routed?))?;
            "the model embeds a text"
        }
        Model::CrossEncoder(encoder) => {
            encoder.score(TEXT, TEXT)?;
            "the model compares two texts"
        }
        Model::Generator(generator) => {
            let sampling = Sampling::default().max_tokens(1);
            generator.generate(Prompt::Text(TEXT), sampling)?.next().transpose()?;
            "the model continues a text"
        }
        Model::Words(_) => "the vectors open",
    })
}
