//! Files of a model beside its weights, where the weights' format does not hold them.

use std::path::{Path, PathBuf};

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
use nanoembed_core::owned::folder::{MODULES, Modules, WEIGHTS, refuse_adapter};

use super::{Job, Target, WrittenFile, size_of};
use crate::error::{Error, Result, name_of, passed_over};
use crate::files::whole_file;
use crate::folder::texts::FolderTexts;
use crate::layer_names::embedder;
use crate::progress::Observer;
use crate::stored::folder_weights::{PICKLE, RESIDUAL, model_folder};
use crate::stored::{Contents, FileSet};

/// Settings, tokenizer, pooling and prompts, as Hugging Face's folders and mistral.rs have them.
const SETTINGS: [&str; 16] = [
    "config.json",
    "tokenizer.json",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    MODULES,
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
];

/// The files of a module's folder.
const MODULE_FILES: [&str; 3] = ["config.json", WEIGHTS, PICKLE];

/// The tensors beside a UQFF file, for a target that has all tensors in one file, or that puts more
/// of them beside.
pub fn residual(set: &FileSet, target: Target, observer: &dyn Observer) -> Result<Option<FileSet>> {
    let residual = set.folder().join(RESIDUAL);
    let gets_more = || {
        let contents = passed_over(set.contents())?;
        let is_table = |it: Contents<'_>| it.layers.iter().any(|it| embedder::is_table(it.name));
        Ok::<_, Error>(contents.is_some_and(is_table))
    };
    let is_wanted = set.format() == Some(Format::Uqff)
        && match target {
            Target::Gguf | Target::Safetensors => true,
            Target::Uqff02 => gets_more()?,
            Target::Uqff12 => false,
        };
    if !is_wanted || !residual.exists() {
        return Ok(None);
    }
    observer.note(&format!("taking {} too", residual.display()));
    FileSet::open(&residual).map(Some)
}

/// Refuses weights of Hugging Face with an adapter beside them, and those in a subfolder of the
/// model's: the output would lack the adapter or the other modules.
pub fn check_beside(set: &FileSet) -> Result<()> {
    if !matches!(set.format(), Some(Format::Safetensors | Format::Uqff)) {
        return Ok(());
    }
    let folder = set.folder();
    FolderTexts::new(&folder).read(|texts| refuse_adapter(texts, ""))?;
    if model_folder(&folder)? == folder {
        return Ok(());
    }
    let message = "the weights lie in a folder of their own, and the model's modules above it, which the output would be without";
    Err(Error::input(ErrorKind::UnsupportedSetting, message)
        .at(name_of(&folder))
        .with_hint("`nanoembed convert` writes such a model to `.weights` and `.amb`"))
}

/// Copies the files of the source's folder that the output's folder lacks, so that the output is a
/// whole model; warns where it is none, or where there is something else.
pub(super) fn bring(job: &Job<'_, '_>, observer: &dyn Observer) -> Result<Vec<WrittenFile>> {
    let mut written = Vec::new();
    let residual = (job.from == Format::Uqff).then_some(RESIDUAL);
    let settings = SETTINGS.into_iter().chain(residual).map(PathBuf::from);
    for name in settings.chain(module_files(&job.folder)?) {
        let (from, to) = (job.folder.join(&name), job.output.with_file_name(&name));
        if !from.is_file() {
            continue;
        }
        let failed = |error| Error::writing(to.display(), &error);
        if !to.exists() {
            to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
            std::fs::copy(&from, &to).map_err(failed)?;
            written.push(size_of(&to));
        } else if name != Path::new(RESIDUAL)
            && whole_file::read(&from).ok() != whole_file::read(&to).ok()
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

/// The files of the modules after the transformer, by their paths within the model's folder.
fn module_files(folder: &Path) -> Result<Vec<PathBuf>> {
    // The first module is the transformer, whose weights are those that are written.
    let folders = FolderTexts::new(folder).read(|texts| Modules::folders(texts))?;
    let files =
        folders.iter().flat_map(|folder| MODULE_FILES.map(|name| Path::new(folder).join(name)));
    Ok(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_of(modules: &str) -> Result<Vec<PathBuf>> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(MODULES), modules).unwrap();
        module_files(folder.path())
    }

    #[test]
    fn files_of_modules_are_those_in_their_folders() {
        let files = files_of(r#"[{"path": ""}, {"path": "2_Dense"}, {"no": "path"}]"#).unwrap();
        assert_eq!(files.len(), MODULE_FILES.len());
        assert!(files.contains(&Path::new("2_Dense").join("model.safetensors")));
        assert!(files_of("no list").is_err() && files_of("{}").is_err());
    }

    #[test]
    fn modules_outside_of_the_folder_are_refused() {
        for path in ["../x", "/etc", "a/../../b"] {
            let list = format!(r#"[{{"path": "{path}"}}]"#);
            assert!(files_of(&list).is_err(), "{path}");
        }
    }
}
