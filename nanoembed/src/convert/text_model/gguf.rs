//! An encoder of any family in a GGUF file, with the texts that a folder of the family has.

use nanoembed_core::describe::folder::CONFIG_SENTENCE_TRANSFORMERS;
use nanoembed_core::describe::gguf::gguf_description;
use nanoembed_core::limit::Boxed;
use nanoembed_core::owned::folder::{Described, FolderModel};
use nanoembed_core::source::ModelSource;
use nanoembed_core::{ErrorKind, limit};

use super::checkpoint::{TensorForm, TextModel};
use super::gguf_tensors::GgufTensors;
use crate::checkpoint::gguf::GgufEncoderFile;
use crate::convert::naming::Naming;
use crate::error::{Error, Result};
use crate::folder::texts::Allowed;
use crate::open::described_model::DescribedModel;

impl<'f> TextModel<'f> {
    /// The model in a GGUF file; `None` for a BERT encoder, whose settings have keys of their own
    /// in the files that are written.
    pub(crate) fn from_gguf(file: &'f GgufEncoderFile) -> Result<Option<Self>> {
        let (parsed, name) = (file.parse()?, file.name());
        let source = ModelSource::Gguf(parsed);
        let Some(source) =
            DescribedModel::from_file(&name, file.bytes(), source, &Allowed::default())?
        else {
            return Ok(None);
        };
        let description = gguf_description(&parsed);
        let description = description.map_err(|fault| file.failure(fault.error()))?;
        if description.template.is_some() {
            let message = "a reranker that is a causal model is not converted from GGUF";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(file.name()));
        }
        let failed = |error| Error::in_file(file.name(), error);
        let mut texts: Vec<(String, String)> = Vec::new();
        let written = description.each_text(&mut |path, text| {
            let separator = if path.folder.is_empty() { "" } else { "/" };
            let path = limit::joined(&[path.folder, separator, path.name])?;
            let text = limit::formatted(format_args!("{text}"))?;
            limit::push(&mut texts, (path, text))
        });
        written.map_err(failed)?;
        let prompts = source.prompts()?.into_core().text().map_err(failed)?;
        let prompts = prompts.map(|text| (CONFIG_SENTENCE_TRANSFORMERS.to_owned(), text));
        limit::extend(&mut texts, prompts).map_err(failed)?;
        texts.sort_unstable();
        let model = FolderModel::read(&|path: &str| {
            let text = texts.iter().find(|(known, _)| known == path);
            Ok(text.map(|(_, text)| text.as_str().into()))
        });
        let model = model.map_err(|fault| failed(fault.error))?;
        let (Described::Transformer(from), Described::Transformer(to)) =
            (&source.model().described, &model.described)
        else {
            return Ok(None);
        };
        if let Some(part) = from.difference(to) {
            let message = format!(
                "the settings of the family `{}`, which the file would keep, have no words for {part}",
                to.family
            );
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(file.name()));
        }
        let tensors = Boxed::new(GgufTensors { from: **from, to: **to });
        Ok(Some(Self {
            family: to.family,
            texts,
            naming: Naming::Family(to.names),
            tensors: TensorForm::Gguf(tensors.map_err(failed)?),
            license: file.license()?,
            modified: file.modified(),
            source,
        }))
    }
}
