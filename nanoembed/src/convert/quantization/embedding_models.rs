//! The embedding models that become UQFF: those that run here afterwards. mistral.rs itself runs
//! EmbeddingGemma and Qwen3-Embedding.

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::folder::{Described, FolderModel, MODULES};

use crate::causal::hugging_face::DecoderSettings;
use crate::error::{Error, Result, name_of, passed_over};
use crate::folder::texts::FolderTexts;
use crate::stored::FileSet;

/// Refuses the model of a folder that says how an embedding is made, if it is not run here, and
/// tables, which have no layers.
pub(super) fn check(set: &FileSet) -> Result<()> {
    let folder = set.folder();
    let is_decoder = || {
        let found = passed_over(DecoderSettings::from_folder(&folder, None))?;
        Ok::<_, Error>(!matches!(found, Some(None)))
    };
    if !folder.join("config.json").is_file() || is_decoder()? {
        return Ok(());
    }
    let model = FolderTexts::new(&folder).read(|texts| FolderModel::read(texts));
    match model.map(|model| model.described) {
        Ok(Described::Table(_)) => {
            let message = "a table of a vector for each token has no layers that UQFF could hold";
            Err(Error::input(ErrorKind::UnsupportedArchitecture, message).at(name_of(&folder)))
        }
        Ok(_) => Ok(()),
        Err(failure) if failure.is_no_memory() || folder.join(MODULES).is_file() => Err(failure),
        // Weights of a model that is not for embeddings.
        Err(_) => Ok(()),
    }
}
