//! A causal model beside the files that it borrows from.

use std::sync::Arc;

use nanoembed_core::Error as CoreError;

use super::source::Source;
use crate::causal::model::CausalModel;
use crate::error::{Error, Result};
use crate::files::on_disk::OnDisk;

/// A causal model and the files that it borrows from.
pub(crate) struct Causal {
    // Declared before `source`, which it borrows from.
    model: CausalModel<'static>,
    name: String,
    /// None of a model that borrows from no file.
    source: Option<Arc<Source>>,
}

impl Causal {
    /// Keeps `model`, which borrows from `source`, beside it.
    pub(crate) fn kept(model: CausalModel<'static>, source: Arc<Source>) -> Self {
        Self { model, name: source.name().to_owned(), source: Some(source) }
    }

    /// The same with weights that are read from `file`, which is the one it was opened from,
    /// whenever they are needed: the memory that it was opened in is freed.
    pub(crate) fn stored(self, file: OnDisk) -> Result<Self> {
        let model = self.model.stored(file).map_err(|error| Error::in_file(&self.name, error))?;
        Ok(Self { model, name: self.name, source: None })
    }

    pub(crate) const fn model(&self) -> &CausalModel<'_> {
        &self.model
    }

    /// A warning for each unknown setting that was ignored.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.source.as_ref().map(|source| source.warnings()).unwrap_or_default()
    }

    /// The name that messages give to the model.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The core's error with the name of the model.
    pub(crate) fn failure(&self, error: CoreError) -> Error {
        match &self.source {
            Some(source) => source.failure(error),
            None => Error::in_file(&self.name, error),
        }
    }
}
