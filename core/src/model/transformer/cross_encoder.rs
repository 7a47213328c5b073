//! Cross-encoders: a transformer and the head that scores a text, or a pair of texts.

use super::classes::Classes;
use crate::error::{Error, ErrorKind, Result};
use crate::model::block::layer::Layer;
use crate::model::config::Config;
use crate::model::parallel::Parallel;
use crate::model::pass::packed::workspace::Workspace;
use crate::model::pass::packed::{Batch, Transformer};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// A transformer that classifies texts or pairs of texts.
///
/// `L` holds one [`Layer`] per layer: a slice, an array or a `Vec`.
#[derive(Clone, Debug)]
pub struct CrossEncoder<'m, L> {
    /// The transformer.
    pub transformer: Transformer<L>,
    pub(super) classes: Classes<'m>,
}

impl<L: AsRef<[Layer]> + Sync> CrossEncoder<'_, L> {
    /// The transformer's sizes and settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        self.transformer.config()
    }

    /// The number of classes.
    #[must_use]
    pub const fn labels(&self) -> usize {
        self.classes.classifier.output.bias.len()
    }

    /// The scores of the classes of a tokenised text or pair of texts (tokens, and their types),
    /// into `out`, with as many floats of `scratch` as
    /// [`TransformerSource::scratch`](super::TransformerSource::scratch) says.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::BufferTooSmall`] if there is less scratch memory;
    /// [`ErrorKind::InvalidArgument`] if `out` has not as many elements as there are classes.
    pub fn classify<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        (ids, types): (&[u32], &[u8]),
        workspace: &mut Workspace<'_>,
        scratch: &mut [f32],
        out: &mut [f32],
    ) -> Result<()> {
        let Classes { classifier, on_logits } = &self.classes;
        if out.len() != self.labels() {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let lengths = [ids.len()];
        let text = Batch { types, ..Batch::new(ids, &lengths) };
        let mut each = |_, states: &[f32]| classifier.logits(run.kernels, states, scratch, out);
        self.transformer.states(run, &text, workspace, &mut each, &|_| {})?;
        on_logits.apply(run.kernels, out);
        Ok(())
    }
}
