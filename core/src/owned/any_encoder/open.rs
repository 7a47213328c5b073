//! Models are opened: their texts are read, and the weights found.

#[cfg(feature = "safetensors")]
use alloc::string::String;

use super::{AnyEncoder, ModelFault, TextSource};
use crate::limit::copied;
use crate::model::ModelSource;
use crate::owned::embedder::Parts;
use crate::owned::folder::Prompts;
#[cfg(feature = "safetensors")]
use crate::owned::folder::{FolderFault, FolderModel, Texts};
use crate::owned::{Embedder, FileWeights, TextModel};
#[cfg(feature = "safetensors")]
use crate::text::json::Fault;

impl<B: AsRef<[u8]> + Sync> AnyEncoder<B> {
    /// The model in a `.weights`, `.amb` or GGUF file. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::OtherModel`](crate::ErrorKind::OtherModel) if it continues
    /// texts; [`ErrorKind::UnknownFormat`](crate::ErrorKind::UnknownFormat) for files of other formats.
    pub fn open(file: B) -> Result<Self, ModelFault> {
        let source = ModelSource::parse(file.as_ref())?;
        let Some(text) = TextSource::read(source)? else {
            let (prompts, parts) =
                (Prompts::of_source(&source)?, Parts::of(file.as_ref(), &source)?);
            return Ok(Self::from_bert(Embedder::of(file, parts), prompts)?);
        };
        let (prompts, labels) = (text.prompts()?, text.labels()?);
        let mut weights = FileWeights::default();
        let mut added = Ok(());
        text.each_tensor(&mut |name, header| {
            if added.is_ok() {
                added = copied(name).and_then(|name| weights.add(name, 0, header));
            }
        });
        added?;
        let (described, pipeline) = text.into_parts()?;
        weights.push(file)?;
        let model = TextModel::open(&described, weights, pipeline)?;
        Ok(Self::from_text(model, &described, prompts, labels)?)
    }
}

#[cfg(feature = "safetensors")]
impl<B: AsRef<[u8]> + Sync> AnyEncoder<B> {
    /// The model in a Hugging Face folder: its texts, and the files that
    /// [`FolderModel::weight_files`] names, with their paths.
    ///
    /// # Errors
    ///
    /// What is wrong with the texts or the weights.
    pub fn open_folder(
        texts: Texts<'_, '_>,
        files: impl IntoIterator<Item = (String, B)>,
    ) -> Result<Self, ModelFault> {
        let model = FolderModel::read(texts)?;
        let prompts = model.prompts(texts)?;
        let (pipeline, labels) = (model.tokenizer(texts)?, model.labels(texts)?);
        let mut weights = FileWeights::default();
        for (path, file) in files {
            let pushed = weights.push_safetensors(model.tensor_prefix(&path), file);
            pushed.map_err(|error| FolderFault::new(&path, Fault::of(error)))?;
        }
        let opened = TextModel::open(&model, weights, pipeline)?;
        Ok(Self::from_text(opened, &model, prompts, labels)?)
    }
}
