//! The classes of a cross-encoder.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::{DenseActivation, on_logits_of};
use crate::owned::TokenEncoder;
use crate::owned::folder::{FolderModel, Labels};

/// The classes of a model, and the function that makes scores of their logits.
#[derive(Clone, Debug)]
pub struct Classes {
    labels: Vec<String>,
    on_logits: DenseActivation,
    kernels: Kernels,
}

impl Classes {
    /// The classes of the model that `described` describes; `None` if it embeds texts.
    pub(super) fn new(
        described: &FolderModel,
        network: &TokenEncoder,
        labels: &Labels,
    ) -> Result<Option<Self>> {
        if !described.compares() {
            return Ok(None);
        }
        let (count, on_logits) = match network.on_logits() {
            Some(on_logits) => (network.labels(), on_logits),
            // Its modules end with the scores of classes.
            None => {
                let count = network.dimensions();
                (count, on_logits_of(described.on_scores, count))
            }
        };
        let (labels, kernels) = (labels.first(count)?, *network.kernels());
        Ok(Some(Self { labels, on_logits, kernels }))
    }

    /// Gives them other names.
    pub(super) fn rename(&mut self, labels: &Labels) -> Result<()> {
        self.labels = labels.first(self.labels.len())?;
        Ok(())
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
