//! A causal model and its source.

use std::sync::Arc;

use nanoembed_core::Error as CoreError;

use super::source::Source;
use crate::causal::generation_settings::GenerationSettings;
use crate::causal::model::CausalModel;
use crate::error::Error;
use crate::files::on_disk::OnDisk;

/// A causal model and its source.
pub(crate) struct Causal {
    model: CausalModel,
    name: String,
    /// `None` for a model whose weights are read from disk, which keeps no other memory of its file.
    source: Option<Arc<Source>>,
    generation: GenerationSettings,
}

impl Causal {
    /// The causal model in `source`.
    pub(crate) fn new(model: CausalModel, source: Arc<Source>) -> Self {
        let (name, generation) = (source.name().to_owned(), GenerationSettings::default());
        Self { model, name, source: Some(source), generation }
    }

    /// The same with weights that are read from `file`, the file that it was opened from, whenever
    /// they are needed. The memory that it was opened in is freed.
    pub(crate) fn stored(self, file: OnDisk) -> Self {
        Self { model: self.model.stored(file), source: None, ..self }
    }

    /// The same with the sampling that its files ask for.
    pub(super) fn with_generation(self, generation: GenerationSettings) -> Self {
        Self { generation, ..self }
    }

    /// The sampling that its files ask for.
    pub(crate) const fn generation(&self) -> &GenerationSettings {
        &self.generation
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
