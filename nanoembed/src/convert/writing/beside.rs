//! What a model has beside its weights, where the weights' format does not hold it.

use nanoembed_core::event::Format;

use super::{Job, Target, Written, size_of};
use crate::error::{Error, Result, name_of};
use crate::progress::Observer;
use crate::stored::FileSet;

/// Settings, tokenizer, pooling and prompts, as Hugging Face's folders and mistral.rs have them.
const SETTINGS: [&str; 14] = [
    "config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
];

/// The tensors that are no layers of a UQFF file.
const RESIDUAL: &str = "residual.safetensors";

/// The tensors beside a UQFF file, for a target that has all tensors in one file.
pub fn residual(set: &FileSet, target: Target, observer: &dyn Observer) -> Result<Option<FileSet>> {
    let residual = set.folder().join(RESIDUAL);
    let is_wanted =
        set.format() == Some(Format::Uqff) && matches!(target, Target::Gguf | Target::Safetensors);
    if !is_wanted || !residual.exists() {
        return Ok(None);
    }
    observer.note(&format!("taking {} too", residual.display()));
    FileSet::open(&residual).map(Some)
}

/// Copies what is in the source's folder and not yet in that of the output, so that the output is a
/// whole model; warns where it is none, or where there is something else.
pub(super) fn bring(job: &Job<'_, '_>, observer: &dyn Observer) -> Result<Vec<Written>> {
    let mut written = Vec::new();
    let residual = (job.from == Format::Uqff).then_some(RESIDUAL);
    for name in SETTINGS.into_iter().chain(residual) {
        let (from, to) = (job.folder.join(name), job.output.with_file_name(name));
        if !from.is_file() {
            continue;
        }
        let failed = |error| Error::writing(to.display(), &error);
        if !to.exists() {
            to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
            std::fs::copy(&from, &to).map_err(failed)?;
            written.push(size_of(&to));
        } else if name != RESIDUAL
            && crate::files::whole_file::read(&from).ok()
                != crate::files::whole_file::read(&to).ok()
        {
            observer.warn(&format!(
                "{} is not that of the source and stays as it is: the model runs by it",
                name_of(&to)
            ));
        }
    }
    if !job.output.with_file_name("config.json").exists() {
        observer.warn(&format!(
            "{} has the weights alone: to run it, put the model's `config.json` and tokenizer beside it",
            name_of(job.output)
        ));
    }
    Ok(written)
}
