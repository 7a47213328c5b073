//! A BERT encoder that has been opened, and running it in a workspace.

use nanoembed_core::kernel::{Kernels, RowSummary};
use nanoembed_core::model::{
    Batch, Config, Encoder, FixedMemory, FixedNeeds, Layer, Plan, Run, Workspace,
};

use crate::embed::{Scratch, Sizes};
use crate::memory::LentSlice;
use crate::source::Bytes;
use crate::status::{INVALID, Outcome, TOO_SMALL};

/// A BERT encoder.
#[derive(Debug)]
pub(crate) struct BertModel {
    pub(crate) encoder: Encoder<LentSlice<Layer>>,
    pub(crate) kernels: Kernels,
    pub(crate) summaries: &'static [RowSummary],
    pub(crate) plan: Plan,
    /// Tokens of a text that the model was made to use.
    pub(crate) max_tokens: usize,
    /// Whether everything is computed in integers.
    pub(crate) fixed: bool,
}

/// Without the feature no model is opened to be computed in integers alone.
pub(crate) const FIXED: bool = cfg!(feature = "fixed");

/// What a workspace takes.
pub(crate) fn sizes(config: &Config, plan: &Plan, fixed: bool) -> Outcome<Sizes> {
    // A text has two tokens at least.
    let (ids, texts) = (plan.tokens, plan.tokens / 2);
    if fixed && FIXED {
        let FixedNeeds { words, codes, bytes } = FixedNeeds::new(config, plan)?;
        // And the embedding.
        let words = words.checked_add(config.hidden).ok_or(TOO_SMALL)?;
        return Ok(Sizes { bytes, words, codes, ids, texts, ..Sizes::NONE });
    }
    let needs = Workspace::needs(config, plan)?;
    Ok(Sizes { floats: needs.floats, bytes: needs.bytes, ids, texts, ..Sizes::NONE })
}

impl BertModel {
    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        sizes(self.encoder.config(), &self.plan, self.fixed)
    }

    /// Tokens of one text.
    pub(crate) fn most(&self) -> usize {
        self.encoder.config().positions.min(self.plan.tokens)
    }

    /// Embeds texts of which the tokens are known, `hidden` floats each.
    pub(crate) fn run(
        &self,
        source: &Bytes,
        scratch: &mut Scratch,
        ids: &[u32],
        lengths: &[usize],
        out: &mut [f32],
    ) -> Outcome {
        let Scratch { floats, bytes, words, codes } = scratch;
        if self.fixed && FIXED {
            return self.run_fixed(source, (words.0, codes.0, bytes.0), ids, lengths, out);
        }
        let config = self.encoder.config();
        let mut workspace = Workspace::new(config, &self.plan, floats.0, bytes.0)?;
        let run = Run { summaries: self.summaries, ..Run::new(source, &self.kernels) };
        let texts = Batch::new(ids, lengths);
        Ok(self.encoder.embed(&run, &texts, &mut workspace, &mut [], out)?)
    }

    /// The same in integers; only the results are converted.
    fn run_fixed(
        &self,
        source: &Bytes,
        (words, codes, bytes): (&mut [i32], &mut [i16], &mut [u8]),
        ids: &[u32],
        lengths: &[usize],
        out: &mut [f32],
    ) -> Outcome {
        let config = self.encoder.config();
        let (vector, words) = words.split_at_mut_checked(config.hidden).ok_or(TOO_SMALL)?;
        let one = if self.encoder.embedding.normalize { 1 << 30 } else { 1 << 16 };
        let mut rest = ids;
        for (length, out) in lengths.iter().zip(out.chunks_exact_mut(config.hidden.max(1))) {
            let (ids, behind) = rest.split_at_checked(*length).ok_or(INVALID)?;
            rest = behind;
            let memory = FixedMemory { words: &mut *words, codes: &mut *codes, bytes: &mut *bytes };
            self.encoder.embed_fixed(source, &self.plan, ids, memory, vector)?;
            for (to, from) in out.iter_mut().zip(&*vector) {
                *to = *from as f32 / one as f32;
            }
        }
        Ok(())
    }
}
