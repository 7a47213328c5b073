//! An encoder of any family in a GGUF file, with the texts and the tensors that a folder of the
//! family has.
//!
//! | in GGUF | in the folder |
//! |---|---|
//! | names of llama.cpp | names of the family |
//! | queries, keys and values in one matrix | three, if the family has three |
//! | Gemma's norms, 1 added already | without that |

use nanoembed_core::describe::folder::CONFIG_SENTENCE_TRANSFORMERS;
use nanoembed_core::model::{ClassifierModel, FamilyModel, Heads, NormKind, Tensor, TensorName};
use nanoembed_core::owned::folder::{Described, FolderModel};
use nanoembed_core::{ErrorKind, limit};

use super::checkpoint::{TensorForm, TextModel};
use super::tensors::Loaded;
use crate::checkpoint::gguf::GgufEncoderFile;
use crate::convert::naming::Naming;
use crate::error::{Error, Result};
use crate::stored::Stored;

impl<'f> TextModel<'f> {
    /// The model in a GGUF file; `None` for a BERT encoder, whose settings have keys of their own
    /// in the files that are written.
    pub(crate) fn from_gguf(file: &'f GgufEncoderFile) -> Result<Option<Self>> {
        let Some((description, source)) = file.described()? else { return Ok(None) };
        let failed = |error| Error::in_file(file.name(), error);
        let mut texts: Vec<(String, String)> = Vec::new();
        let written = description.each_text(&mut |path, text| {
            let folder = if path.folder.is_empty() { "" } else { "/" };
            let path = limit::joined(&[path.folder, folder, path.name])?;
            let text = limit::formatted(format_args!("{text}"))?;
            limit::push(&mut texts, (path, text))
        });
        written.map_err(failed)?;
        let prompts = source.prompts()?.into_core().text().map_err(failed)?;
        texts.extend(prompts.map(|text| (CONFIG_SENTENCE_TRANSFORMERS.to_owned(), text)));
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
        Ok(Some(Self {
            family: to.family,
            texts,
            naming: Naming::Family(to.names),
            tensors: TensorForm::Gguf(Box::new(GgufTensors { from: **from, to: **to })),
            license: file.license(),
            modified: file.modified(),
            source,
        }))
    }
}

/// The tensors of a model under GGUF's names, and under those of its family.
pub(super) struct GgufTensors {
    from: FamilyModel,
    to: FamilyModel,
}

impl GgufTensors {
    /// The tensors of the family in one of the file, called `name` there.
    pub(super) fn loaded<'f>(
        &self,
        stored: &Stored<'f>,
        name: &str,
        file: &str,
    ) -> Result<Vec<Loaded<'f>>> {
        if let Some(own) = self.module_tensor(name) {
            return Ok(vec![Loaded::from_stored(stored, own, file)?]);
        }
        let refuse = || {
            let message =
                format!("models of the family `{}` have no tensor for `{name}`", self.to.family);
            Error::input(ErrorKind::UnsupportedSetting, message).at(file)
        };
        let parts = self.from.names.parts(name).ok_or_else(refuse)?;
        if let Some(own) = self.own_name(&parts) {
            let adds_one = self.to.config.norm == NormKind::Rms { one_plus: true };
            return Ok(vec![match adds_one && parts.tensor.is_norm() {
                true => Loaded::changed(stored, own, file, |values| {
                    values.iter_mut().for_each(|value| *value -= 1.0);
                })?,
                false => Loaded::from_stored(stored, own, file)?,
            }]);
        }
        if parts.tensor != Tensor::QueryKeyValue {
            return Err(refuse());
        }
        let rows = part_rows(&self.to.config.heads).into_iter();
        let mut start = 0;
        rows.map(|(tensor, rows)| {
            let own = self.own_name(&TensorName { tensor, ..parts }).ok_or_else(refuse)?;
            let part = Loaded::rows(stored, own, file, start..start + rows)?;
            start += rows;
            Ok(part)
        })
        .collect()
    }

    /// The name of the tensor of a head or of another module.
    fn module_tensor(&self, name: &str) -> Option<String> {
        if name.contains('/') {
            return Some(name.to_owned());
        }
        let layers = |head: &ClassifierModel| [head.hidden, head.output];
        let (from, to) = self.from.classifier.as_ref().zip(self.to.classifier.as_ref())?;
        let (layer, kind) = name.rsplit_once('.')?;
        let mut pairs = layers(from).into_iter().zip(layers(to));
        pairs.find(|(from, _)| *from == layer).map(|(_, to)| format!("{to}.{kind}"))
    }

    /// The family's name of a tensor, if it has one.
    fn own_name(&self, parts: &TensorName<'_>) -> Option<String> {
        let names = self.to.names;
        let tensor = match parts.tensor {
            // GGUF calls both in one the latter.
            Tensor::Up if names.name_of(Tensor::Up).is_none() => Tensor::GateUp,
            tensor => tensor,
        };
        let mut name = String::new();
        names.spell(&TensorName { tensor, ..*parts }, &mut |part| name.push_str(part))?;
        Some(name)
    }
}

/// The parts of a matrix with queries, keys and values, and how many rows each has.
fn part_rows(heads: &Heads) -> [(Tensor, usize); 3] {
    let keys = heads.key_width();
    [(Tensor::Query, heads.width()), (Tensor::Key, keys), (Tensor::Value, keys)]
}
