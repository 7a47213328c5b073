//! What a cross-encoder tells apart.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::{DenseActivation, Weights, on_logits_of};
use crate::owned::TextModel;
use crate::owned::folder::{Described, FolderModel, Labels};

/// The classes of a model, and what becomes of their logits.
#[derive(Clone, Debug)]
pub struct Classes {
    labels: Vec<String>,
    on_logits: DenseActivation,
    kernels: Kernels,
}

impl Classes {
    pub(super) fn of<W: Weights + Sync>(
        described: &FolderModel,
        model: &TextModel<W>,
        labels: &Labels,
    ) -> Result<Option<Self>> {
        let (Described::Transformer(family), TextModel::Transformer(model)) =
            (&described.described, model)
        else {
            return Ok(None);
        };
        let labels = labels.first(model.encoder().labels())?;
        let on_logits = match family.classifier.filter(|_| !model.encoder().recipe().gives_scores) {
            Some(head) => head.on_logits_of(labels.len()),
            None if described.compares() => on_logits_of(described.on_scores, labels.len()),
            None => return Ok(None),
        };
        Ok(Some(Self { labels, on_logits, kernels: *model.encoder().kernels() }))
    }

    /// Their names; models that rank have one.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Makes scores of logits: from 0 to 1 as a rule.
    pub fn score(&self, logits: &mut [f32]) {
        self.on_logits.apply(&self.kernels, logits);
    }
}
