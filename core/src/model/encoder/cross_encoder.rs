//! Cross-encoders: a transformer and the head that scores a text, or a pair of texts.

use super::INVALID;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::model::block::layer::Layer;
use crate::model::config::Config;
use crate::model::head::classifier::ClassifierPlaces;
use crate::model::head::dense::DenseActivation;
use crate::model::parallel::Parallel;
use crate::model::pass::packed::workspace::Workspace;
use crate::model::pass::packed::{Batch, Transformer};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// A transformer that classifies texts or pairs of texts.
///
/// `L` holds one [`Layer`] per layer and `F` the weights of the head: a slice, an array or a `Vec`
/// each.
#[derive(Clone, Debug)]
pub struct CrossEncoder<L, F> {
    /// The transformer.
    pub transformer: Transformer<L>,
    /// The head.
    pub classifier: ClassifierPlaces,
    /// The weights of the head.
    pub floats: F,
    /// The function that makes scores of logits.
    pub on_logits: DenseActivation,
}

impl<L: AsRef<[Layer]> + Sync, F: AsRef<[f32]>> CrossEncoder<L, F> {
    /// The transformer's sizes and settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        self.transformer.config()
    }

    /// The number of classes.
    #[must_use]
    pub const fn labels(&self) -> usize {
        self.classifier.output.outputs
    }

    /// Floats of scratch memory that [`logits`](Self::logits) takes.
    #[must_use]
    pub const fn scratch(&self) -> usize {
        self.config().hidden.saturating_mul(2)
    }

    /// The logits of texts or pairs of texts, [`labels`](Self::labels) each, into `out`, with
    /// [`scratch`](Self::scratch) floats of scratch memory. As many texts as the workspace holds
    /// are computed together.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::BufferTooSmall`] if there is less scratch memory;
    /// [`ErrorKind::InvalidArgument`] if `out` has another length.
    pub fn logits<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let labels = self.labels();
        if labels == 0 || texts.lengths.len().checked_mul(labels) != Some(out.len()) {
            return Err(INVALID);
        }
        let classifier = self.classifier.over(self.floats.as_ref())?;
        let mut rows = out.chunks_exact_mut(labels);
        let mut each = |_, states: &[f32]| {
            let row = rows.next().ok_or(super::TOO_SMALL)?;
            classifier.logits(run.kernels, states, scratch, row)
        };
        self.transformer.states(run, texts, workspace, &mut each, &|_| {})
    }

    /// As [`logits`](Self::logits), and makes scores of them: from 0 to 1 as a rule.
    ///
    /// # Errors
    ///
    /// As [`logits`](Self::logits).
    pub fn classify<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        self.logits(run, texts, workspace, scratch, out)?;
        self.on_logits.apply(run.kernels, out);
        Ok(())
    }
}
