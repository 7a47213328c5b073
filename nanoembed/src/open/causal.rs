//! A causal model and its source.

use std::sync::Arc;

use nanoembed_core::Error as CoreError;

use super::source::Source;
use crate::causal::model::CausalModel;
use crate::error::Error;
use crate::files::on_disk::OnDisk;

/// A causal model and its source.
pub(crate) struct Causal {
    model: CausalModel,
    name: String,
    /// `None` for a model whose weights are read from disk, which keeps no other memory of its file.
    source: Option<Arc<Source>>,
}

impl Causal {
    /// The causal model in `source`.
    pub(crate) fn new(model: CausalModel, source: Arc<Source>) -> Self {
        Self { model, name: source.name().to_owned(), source: Some(source) }
    }

    /// The same with weights that are read from `file`, the file that it was opened from, whenever
    /// they are needed. The memory that it was opened in is freed.
    pub(crate) fn stored(self, file: OnDisk) -> Self {
        Self { model: self.model.stored(file), name: self.name, source: None }
    }

    pub(crate) const fn model(&self) -> &CausalModel {
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
