//! A transformer of any family that has been opened, and running it in a workspace.

use nanoembed_core::kernel::{Kernels, RowSummary};
use nanoembed_core::model::{Config, Layer, Plan, Run, Transformer, Workspace};

use crate::embed::{Scratch, Sizes};
use crate::memory::LentSlice;
use crate::source::Bytes;
use crate::status::{Outcome, TOO_SMALL};

/// A transformer with what stands behind it.
#[derive(Debug)]
pub(crate) struct FamilyModel {
    pub(crate) transformer: Transformer<'static, LentSlice<Layer>>,
    pub(crate) kernels: Kernels,
    pub(crate) summaries: &'static [RowSummary],
    pub(crate) plan: Plan,
    /// Floats of what becomes of a text's states.
    pub(crate) room: usize,
    /// Tokens of a text that the model was made to use.
    pub(crate) max_tokens: usize,
}

/// What a workspace takes.
pub(crate) fn sizes(config: &Config, plan: &Plan, room: usize) -> Outcome<Sizes> {
    let needs = Workspace::needs(config, plan)?;
    let floats = needs.floats.checked_add(room).ok_or(TOO_SMALL)?;
    Ok(Sizes { floats, bytes: needs.bytes, ids: plan.tokens, ..Sizes::NONE })
}

impl FamilyModel {
    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        sizes(self.transformer.config(), &self.plan, self.room)
    }

    /// Tokens of one text.
    pub(crate) fn most(&self) -> usize {
        self.transformer.config().positions.min(self.plan.tokens)
    }

    /// Embeds a text of which the tokens are known.
    pub(crate) fn run(
        &self,
        source: &Bytes,
        scratch: &mut Scratch,
        ids: &[u32],
        out: &mut [f32],
    ) -> Outcome {
        let Scratch { floats, bytes, .. } = scratch;
        let (room, floats) = floats.0.split_at_mut_checked(self.room).ok_or(TOO_SMALL)?;
        let config = self.transformer.config();
        let mut workspace = Workspace::new(config, &self.plan, floats, bytes.0)?;
        let run = Run { summaries: self.summaries, ..Run::new(source, &self.kernels) };
        Ok(self.transformer.embed(&run, ids, &mut workspace, room, out)?)
    }
}
