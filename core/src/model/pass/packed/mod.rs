//! Encoders: embeddings, layers of any settings, pooling; many texts at once, without a memory of
//! them.
//!
//! One pass of a layer goes over the data twice, each time in parts that a host may run on several
//! threads:
//!
//! 1. by heads: a head's queries, keys and values from its rows of the weights, then its attention.
//!    The context is stored head by head;
//! 2. by blocks of tokens: the attention's output layer, residual and norm, feed-forward layers,
//!    residual and norm.
//!
//! Several texts are packed into one list of tokens: the weights stream by once for all of them,
//! attention stays within each text, and nothing is padded.

mod forward;
mod layout;
mod positions;
pub mod requantize;
mod summaries;
pub mod workspace;

use self::forward::Pass;
use self::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::model::block::layer::Layer;
use crate::model::block::norm::Norm;
use crate::model::block::observation::Observer;
use crate::model::config::{BertConfig, FAMILIES};
use crate::model::head::pool::pool;
use crate::model::parallel::Parallel;
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// An encoder of the family that a build knows always.
pub type Bert<L> = Encoder<L>;

/// An encoder: its sizes, and where its tensors lie in the file.
///
/// `L` holds one [`Layer`] per layer: a slice, an array or a `Vec`.
#[derive(Clone, Copy, Debug)]
pub struct Encoder<L> {
    pub(in crate::model) config: BertConfig,
    pub(in crate::model) word: Matrix,
    pub(in crate::model) position: Matrix,
    pub(in crate::model) token_type: Matrix,
    pub(in crate::model) norm: Norm,
    pub(in crate::model) final_norm: Norm,
    /// See [`Config::relative`](crate::model::Config::relative).
    pub(in crate::model) relative: Matrix,
    pub(in crate::model) layers: L,
}

/// Some texts as token ids, special tokens included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// The ids of all texts, one after the other.
    pub ids: &'a [u32],
    /// The type of each token; empty where all are of the first type. Models with a single type, or
    /// none, do not look at it.
    pub types: &'a [u8],
    /// How many tokens each text has.
    pub lengths: &'a [usize],
}

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);

impl<L> Encoder<L> {
    /// An encoder of these sizes of which nothing is found yet.
    pub const fn unlocated(config: BertConfig, layers: L) -> Self {
        Self {
            config,
            word: Matrix::EMPTY,
            position: Matrix::EMPTY,
            token_type: Matrix::EMPTY,
            norm: Norm::EMPTY,
            final_norm: Norm::EMPTY,
            relative: Matrix::EMPTY,
            layers,
        }
    }
}

impl<L: AsRef<[Layer]> + Sync> Encoder<L> {
    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &BertConfig {
        &self.config
    }

    /// A plan for `tokens` on one thread with weights in memory, as the model was made to run: with
    /// quantised activations if its 8-bit weights have column scales, that is if it was calibrated
    /// for them, or if it has weights in blocks, whose groups are small enough; otherwise in f32.
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        let layers = || self.layers.as_ref().iter().take(self.config.layers);
        let grouped = layers().any(Layer::has_blocks);
        let quantized = grouped || layers().any(Layer::is_calibrated);
        Plan { quantized, grouped, ..Plan::new(tokens) }
    }

    /// The embedding of one text, into `out` of `hidden` elements.
    ///
    /// # Errors
    ///
    /// As [`embed_batch`](Self::embed_batch).
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_batch(run, ids, &[ids.len()], workspace, out)
    }

    /// The embeddings of several texts, one row of `hidden` elements each, into `out`.
    ///
    /// `ids` holds the token ids of all texts (special tokens included) one after the other,
    /// `lengths` how many each has. As many texts as the workspace has room for are computed
    /// together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::TooManyTokens`] for a text with more tokens
    /// than positions; [`ErrorKind::BufferTooSmall`] for one with more than the workspace was made
    /// for; [`ErrorKind::InvalidArgument`] for one without tokens, or if the lengths do not add up;
    /// [`ErrorKind::NotFinite`]; and what reading the weights may fail with.
    pub fn embed_batch<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        lengths: &[usize],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_observed(run, ids, lengths, workspace, out, &|_| {})
    }

    /// As [`embed_batch`](Self::embed_batch), showing `observe` what every linear layer is applied
    /// to.
    ///
    /// Meant for calibration: what the activations of a float model look like decides how its
    /// weights are quantised.
    ///
    /// # Errors
    ///
    /// As [`embed_batch`](Self::embed_batch).
    pub fn embed_observed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        ids: &[u32],
        lengths: &[usize],
        workspace: &mut Workspace<'_>,
        out: &mut [f32],
        observe: &Observer<'_>,
    ) -> Result<()> {
        let texts = Batch { ids, types: &[], lengths };
        self.check_texts(&texts, workspace.layout.tokens, out.len())?;
        let mut rows = out.chunks_exact_mut(self.config.hidden.max(1));
        self.pass(run, &texts, workspace, observe, &mut |_, states| {
            let out = rows.next().ok_or(TOO_SMALL)?;
            pool(&self.config, states, out);
            check_finite(out)
        })
    }

    /// Shows `each` the number of each text and the hidden states of its tokens, `[tokens,
    /// hidden]`, one text after the other: what heads of any kind are made of; and `observe` what
    /// every linear layer is applied to.
    ///
    /// # Errors
    ///
    /// As [`embed_batch`](Self::embed_batch), the first error of `each`, and
    /// [`ErrorKind::InvalidArgument`] if there are not as many types as ids, or types that the
    /// model does not have.
    #[cfg(feature = "families")]
    pub fn states<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
        observe: &Observer<'_>,
    ) -> Result<()> {
        let Batch { ids, lengths, .. } = *texts;
        let types = if self.token_type.rows > 1 { texts.types } else { &[] };
        let has_types =
            |types: &[u8]| types.iter().all(|it| usize::from(*it) < self.token_type.rows);
        if !types.is_empty() && (types.len() != ids.len() || !has_types(types)) {
            return Err(INVALID);
        }
        let texts = Batch { types, ..*texts };
        let rows = lengths.len().saturating_mul(self.config.hidden);
        self.check_texts(&texts, workspace.layout.tokens, rows)?;
        self.pass(run, &texts, workspace, observe, &mut |text, states| each(text, states))
    }

    /// Takes texts through the model, as many at a time as there is room for.
    fn pass<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        observe: &Observer<'_>,
        each: &mut impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let Batch { mut ids, mut types, mut lengths } = *texts;
        let mut number = 0;
        while !lengths.is_empty() {
            let (texts, tokens) = pack(lengths, workspace.layout.tokens);
            let (these, rest) = ids.split_at_checked(tokens).ok_or(INVALID)?;
            let (these_lengths, rest_lengths) = lengths.split_at_checked(texts).ok_or(INVALID)?;
            let (these_types, rest_types) = match FAMILIES && !types.is_empty() {
                true => types.split_at_checked(tokens).ok_or(INVALID)?,
                false => (types, types),
            };
            let these = Batch { ids: these, types: these_types, lengths: these_lengths };
            Pass::run(self, run, observe, &these, workspace)?;
            let mut hidden = &*workspace.hidden;
            for length in these_lengths {
                let states = length * self.config.hidden;
                let (states, rest) = hidden.split_at_checked(states).ok_or(INVALID)?;
                each(number, states)?;
                number += 1;
                hidden = rest;
            }
            (ids, types, lengths) = (rest, rest_types, rest_lengths);
        }
        Ok(())
    }

    fn check_texts(&self, texts: &Batch<'_>, room: usize, out: usize) -> Result<()> {
        let Batch { ids, lengths, .. } = *texts;
        let error = |kind| Err(Error::without_offset(kind));
        let mut total = 0_usize;
        for &length in lengths {
            if length > self.config.positions {
                return error(ErrorKind::TooManyTokens);
            }
            if length > room {
                return error(ErrorKind::BufferTooSmall);
            }
            if length == 0 {
                return error(ErrorKind::InvalidArgument);
            }
            total = total.saturating_add(length);
        }
        if total != ids.len() || lengths.len().checked_mul(self.config.hidden) != Some(out) {
            return error(ErrorKind::InvalidArgument);
        }
        if ids.iter().any(|&id| id as usize >= self.config.vocabulary) {
            return error(ErrorKind::TokenOutOfRange);
        }
        Ok(())
    }
}

/// How many of the first texts fit `room` tokens (at least one), and their tokens.
fn pack(lengths: &[usize], room: usize) -> (usize, usize) {
    let (mut texts, mut tokens) = (0, 0);
    for &length in lengths {
        if texts > 0 && tokens + length > room {
            break;
        }
        texts += 1;
        tokens += length;
    }
    (texts, tokens)
}
