//! The tensors of an encoder in a GGUF file, as a folder of its family has them.
//!
//! | in GGUF | in the folder |
//! |---|---|
//! | names of llama.cpp | names of the family |
//! | queries, keys and values in one matrix | three, if the family has three |
//! | Gemma's norms, 1 added already | without that |
//! | experts in three dimensions | in two |

use nanoembed_core::model::{ClassifierModel, FamilyModel, Heads, NormKind, Tensor, TensorName};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::tensors::{Loaded, one};
use crate::convert::naming::spelled;
use crate::error::{Error, Result};
use crate::stored::Stored;

/// The tensors of a model under GGUF's names, and under those of its family.
pub(super) struct GgufTensors {
    /// With names of llama.cpp.
    pub(super) from: FamilyModel,
    pub(super) to: FamilyModel,
}

impl GgufTensors {
    /// The tensors of the family in one of the file, called `name` there.
    pub(super) fn loaded<'f>(
        &self,
        stored: &Stored<'f>,
        name: &str,
        file: &str,
    ) -> Result<Vec<Loaded<'f>>> {
        let failed = |error| Error::in_file(file, error);
        if let Some(own) = self.module_tensor(name).map_err(failed)? {
            return one(Loaded::from_stored(stored, own, file)?, file);
        }
        let refuse = || {
            let message =
                format!("models of the family `{}` have no tensor for `{name}`", self.to.family);
            Error::input(ErrorKind::UnsupportedSetting, message).at(file)
        };
        let parts = self.from.names.parts(name).ok_or_else(refuse)?;
        if let Some(own) = self.own_name(&parts).map_err(failed)? {
            let adds_one = self.to.config.norm == NormKind::Rms { one_plus: true };
            let loaded = match adds_one && parts.tensor.is_norm() {
                true => Loaded::changed(stored, own, file, |values| {
                    values.iter_mut().for_each(|value| *value -= 1.0);
                })?,
                false => Loaded::from_stored(stored, own, file)?.stacked(),
            };
            return one(loaded, file);
        }
        if parts.tensor != Tensor::QueryKeyValue {
            return Err(refuse());
        }
        let (mut start, mut loaded) = (0, Vec::new());
        for (tensor, rows) in part_rows(&self.to.config.heads) {
            let own = self.own_name(&TensorName { tensor, ..parts }).map_err(failed)?;
            let own = own.ok_or_else(refuse)?;
            let part = Loaded::rows(stored, own, file, start..start + rows)?;
            start += rows;
            limit::push(&mut loaded, part).map_err(failed)?;
        }
        Ok(loaded)
    }

    /// The name of the tensor of a head or of another module.
    fn module_tensor(&self, name: &str) -> Result<Option<String>, CoreError> {
        if name.contains('/') {
            return limit::copied(name).map(Some);
        }
        let layers = |head: &ClassifierModel| [head.hidden, Some(head.output)];
        let heads = self.from.classifier.as_ref().zip(self.to.classifier.as_ref());
        let Some(((from, to), (layer, kind))) = heads.zip(name.rsplit_once('.')) else {
            return Ok(None);
        };
        let mut pairs = layers(from).into_iter().zip(layers(to));
        let pair = pairs.find(|(from, _)| *from == Some(layer));
        pair.and_then(|(_, to)| to).map(|to| limit::joined(&[to, ".", kind])).transpose()
    }

    /// The family's name of a tensor, if it has one.
    fn own_name(&self, parts: &TensorName<'_>) -> Result<Option<String>, CoreError> {
        let names = self.to.names;
        let tensor = match parts.tensor {
            // GGUF calls both in one the latter.
            Tensor::Up if names.name_of(Tensor::Up).is_none() => Tensor::GateUp,
            tensor => tensor,
        };
        spelled(names, &TensorName { tensor, ..*parts })
    }
}

/// The parts of a matrix with queries, keys and values, and how many rows each has.
fn part_rows(heads: &Heads) -> [(Tensor, usize); 3] {
    let keys = heads.key_width();
    [(Tensor::Query, heads.width()), (Tensor::Key, keys), (Tensor::Value, keys)]
}
