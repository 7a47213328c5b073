//! A model of texts, and the parts of it that go into a file.

use std::time::SystemTime;

use nanoembed_core::limit::Boxed;
use nanoembed_core::model::FamilyModel;
use nanoembed_core::owned::Encoder;
use nanoembed_core::owned::folder::Described;
use nanoembed_core::{ErrorKind, limit};

use super::gguf_tensors::GgufTensors;
use super::layout::Beside;
use super::tensors::{Loaded, integers, one};
use crate::causal::weights::ModelWeights;
use crate::checkpoint::tensor::Tensor;
use crate::convert::experts;
use crate::convert::naming::Naming;
use crate::error::{Error, Result};
use crate::layer_names::tensorflow::present_name;
use crate::open::described_model::DescribedModel;
use crate::open::folder::tensor_fault;
use crate::pairs::{self, Pairs};
use crate::stored::Stored;

/// A model of texts in a folder or in a GGUF file.
pub(crate) struct TextModel<'f> {
    pub(super) source: DescribedModel<'f>,
    /// The family in its texts; empty for a table.
    pub(super) family: &'static str,
    /// The texts that describe it, by their paths.
    pub(super) texts: Pairs,
    /// The naming scheme of the tensors in a file.
    pub(super) naming: Naming,
    pub(super) tensors: TensorForm,
    pub(super) license: Option<String>,
    /// When the newest file was changed.
    pub(super) modified: Option<SystemTime>,
}

/// The form of the tensors, which in a file have their family's names.
pub(super) enum TensorForm {
    /// As in the file, but for a prefix, older names of norms, and experts that are transposed.
    Prefixed(&'static str),
    Gguf(Boxed<GgufTensors>),
}

/// The parts of a model that go into a file.
pub(crate) struct TextCheckpoint<'f> {
    /// The name that messages give to the model.
    pub(crate) name: String,
    /// Texts, tokenizer and settings.
    pub(crate) beside: Beside,
    /// The naming scheme of the tensors.
    pub(crate) naming: Naming,
    loaded: Vec<Loaded<'f>>,
    /// Tensors that the model does not need.
    pub(crate) left_out: Vec<String>,
    /// When the newest file was changed.
    pub(crate) modified: Option<SystemTime>,
}

impl<'f> TextModel<'f> {
    /// Reads the parts that go into a file.
    pub(crate) fn checkpoint(&self) -> Result<TextCheckpoint<'f>> {
        let (source, name) = (&self.source, self.source.name());
        let opened = Encoder::listing(source.model(), source.weights()?, source.pipeline()?);
        let (opened, found) = opened.map_err(|fault| tensor_fault::failure(&name, &fault))?;
        let dimensions = opened.dimensions();
        let pipeline = opened.into_tokenizer().into_pipeline().ok_or_else(|| {
            let kind = ErrorKind::UnsupportedTokenizer;
            Error::input(kind, kind.message()).at(&name)
        })?;
        let (mut left_out, mut mapping) = (Vec::new(), None);
        let model = match &source.model().described {
            Described::Transformer(model) => Some(&**model),
            _ => None,
        };
        let failed = |error| Error::in_file(&name, error);
        let slots = limit::exactly(found.iter().map(|_| Vec::new()));
        let mut slots: Vec<Vec<Loaded<'f>>> = slots.map_err(failed)?;
        source.each_tensor(&mut |name_there, stored| {
            let Some(at) = found.iter().position(|known| known == name_there) else {
                let name = limit::copied(name_there);
                return name.and_then(|it| limit::push(&mut left_out, it)).map_err(failed);
            };
            if let (Naming::Table, "mapping") = (self.naming, name_there) {
                mapping = integers(stored).map_err(failed)?;
                return Ok(());
            }
            if let Some(slot) = slots.get_mut(at).filter(|slot| slot.is_empty()) {
                *slot = self.tensors.loaded(stored, (name_there, &name), model)?;
            }
            Ok(())
        })?;
        let loaded = limit::collected(slots.into_iter().flatten()).map_err(failed)?;
        left_out.sort_unstable();
        let mut texts = Pairs::new();
        pairs::add_all(&mut texts, &self.texts).map_err(failed)?;
        let beside = Beside {
            family: self.family,
            dimensions,
            texts,
            pipeline,
            mapping,
            license: self.license.as_deref().map(limit::copied).transpose().map_err(failed)?,
        };
        let (naming, modified) = (self.naming, self.modified);
        Ok(TextCheckpoint { name, beside, naming, loaded, left_out, modified })
    }

    /// The model for calibration; `None` for a table.
    pub(crate) fn transformer(&self) -> Result<Option<Encoder<ModelWeights>>> {
        let model = self.source.open_model()?;
        Ok(Some(model).filter(|model| !model.is_table()))
    }
}

impl TensorForm {
    /// What becomes of a tensor of the file, called `name` there; `model` is none for a table.
    fn loaded<'f>(
        &self,
        stored: &Stored<'f>,
        (name, file): (&str, &str),
        model: Option<&FamilyModel>,
    ) -> Result<Vec<Loaded<'f>>> {
        let failed = |error| Error::in_file(file, error);
        match self {
            Self::Prefixed(prefix) => {
                let own = present_name(name.strip_prefix(prefix).unwrap_or(name));
                let own = own.map_err(failed)?;
                if let Some(model) = model
                    && let Some(written) = experts::written_name(model, &own).map_err(failed)?
                {
                    let count = experts::count(&model.config);
                    return one(Loaded::transposed(stored, written, file, count)?, file);
                }
                one(Loaded::from_stored(stored, own, file)?, file)
            }
            Self::Gguf(tensors) => tensors.loaded(stored, name, file),
        }
    }
}

impl TextCheckpoint<'_> {
    /// The tensors, under the names that they have in files.
    pub(crate) fn tensors(&self) -> Result<Vec<Tensor<'_>>> {
        let tensors = limit::gathered(self.loaded.iter().map(Loaded::borrow));
        tensors.map_err(|error| Error::in_file(&self.name, error))
    }
}
