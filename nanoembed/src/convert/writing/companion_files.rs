//! Files of a model beside its weights, where the weights' format does not hold them.

use std::path::{Path, PathBuf};

use nanoembed_core::describe::folder::CHAT_TEMPLATE;
use nanoembed_core::event::Format;
use nanoembed_core::owned::folder::{LAYERS_BESIDE, MODULES, Modules, WEIGHTS, refuse_adapter};
use nanoembed_core::{ErrorKind, limit};

use super::{Job, Target, WrittenFile, size_of};
use crate::error::{Error, Result, name_of, passed_over};
use crate::files::whole_file;
use crate::folder::texts::FolderTexts;
use crate::layer_names::embedder;
use crate::open::folder::files::layer_file;
use crate::progress::Observer;
use crate::stored::folder_weights::{PICKLE, RESIDUAL, model_folder};
use crate::stored::{Contents, FileSet};

/// Settings, tokenizer, pooling and prompts, as Hugging Face's folders and mistral.rs have them.
const SETTINGS: [&str; 17] = [
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
    CHAT_TEMPLATE,
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

/// The files that belong beside the output.
#[derive(Default)]
pub(super) struct Companions {
    /// Files of the source's folder, and their places in the output's.
    files: Vec<(PathBuf, PathBuf)>,
    warnings: Vec<String>,
}

impl Companions {
    /// The number of files.
    pub(super) const fn count(&self) -> usize {
        self.files.len()
    }
}

/// The files of the source's folder that the output's folder lacks, so that the output is a whole
/// model; with a warning where it is none, or where there is something else. Those at `made` are
/// written by the job itself.
pub(super) fn plan(job: &Job<'_, '_>, made: &[&Path]) -> Result<Companions> {
    let failed = |error| Error::in_file(name_of(&job.folder), error);
    let mut companions = Companions::default();
    let Companions { files, warnings } = &mut companions;
    let residual = (job.from == Format::Uqff).then_some(RESIDUAL);
    let settings = SETTINGS.into_iter().chain(residual).map(PathBuf::from);
    let layers = LAYERS_BESIDE.into_iter().map(|layer| layer_file(layer).into());
    for name in settings.chain(layers).chain(module_files(&job.folder)?) {
        let (from, to) = (job.folder.join(&name), job.output.with_file_name(&name));
        if !from.is_file() || made.contains(&to.as_path()) {
            continue;
        }
        if !to.exists() {
            limit::push(files, (from, to)).map_err(failed)?;
        } else if name != Path::new(RESIDUAL) && !is_same(&from, &to)? {
            let warning = limit::formatted(format_args!(
                "{} is not that of the source and stays as it is: the model runs by it",
                to.display()
            ));
            limit::push(warnings, warning.map_err(failed)?).map_err(failed)?;
        }
    }
    let config = job.output.with_file_name("config.json");
    if !config.exists() && !files.iter().any(|(_, to)| *to == config) {
        let warning = limit::formatted(format_args!(
            "{} has the weights alone: to run it, put the model's `config.json` and tokenizer beside it",
            job.output.display()
        ));
        limit::push(warnings, warning.map_err(failed)?).map_err(failed)?;
    }
    Ok(companions)
}

/// True if both files have the same bytes, or neither can be read.
fn is_same(one: &Path, other: &Path) -> Result<bool> {
    let read = |path: &Path| {
        let bytes = whole_file::read(path);
        passed_over(bytes.map_err(|error| Error::reading(name_of(path), &error)))
    };
    Ok(read(one)? == read(other)?)
}

/// Copies the files, and lists them in `written`, which has capacity for them.
pub(super) fn bring(
    companions: &Companions,
    written: &mut Vec<WrittenFile>,
    observer: &dyn Observer,
) -> Result<()> {
    for (from, to) in &companions.files {
        let failed = |error| Error::writing(to.display(), &error);
        to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        std::fs::copy(from, to).map_err(failed)?;
        written.push(size_of(to));
    }
    companions.warnings.iter().for_each(|warning| observer.warn(warning));
    Ok(())
}

/// The files of the modules after the transformer, by their paths within the model's folder.
fn module_files(folder: &Path) -> Result<Vec<PathBuf>> {
    // The first module is the transformer, whose weights are those that are written.
    let folders = FolderTexts::new(folder).read(|texts| Modules::folders(texts))?;
    let files =
        folders.iter().flat_map(|folder| MODULE_FILES.map(|name| Path::new(folder).join(name)));
    limit::collected(files).map_err(|error| Error::in_file(name_of(folder), error))
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
