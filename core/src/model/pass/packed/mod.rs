//! Transformers over whole texts, many at once and without a cache.
//!
//! One pass of a layer goes over the data twice, each time in parts that a host may run on several
//! threads:
//!
//! 1. by heads: a head's queries, keys and values from its rows of the weights, then its attention.
//!    The context is stored head by head;
//! 2. by blocks of tokens: the attention's output layer, residual and norm, feed-forward layers,
//!    residual and norm.
//!
//! Several texts are packed into one list of tokens: the weights are streamed once for all of them,
//! attention stays within each text, and nothing is padded. First tokens that texts of a causal model
//! have in common, such as a reranker's prompt and question, are in the list once.

mod blocks;
mod embeddings;
mod forward;
mod heads;
mod layout;
mod pack;
mod positions;
pub mod requantize;
mod state;
mod summaries;
pub mod workspace;

use self::pack::Pack;
use self::state::Pass;
use self::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::model::block::layer::Layer;
use crate::model::block::norm::Norm;
use crate::model::block::observation::Observer;
use crate::model::config::{Config, FAMILIES};
use crate::model::linear::Linear;
use crate::model::parallel::Parallel;
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};

/// A transformer without a head: its sizes, and the locations of its tensors.
///
/// `L` holds one [`Layer`] per layer: a slice, an array or a `Vec`.
#[derive(Clone, Copy, Debug)]
pub struct Transformer<L> {
    pub(in crate::model) config: Config,
    pub(in crate::model) word: Matrix,
    pub(in crate::model) position: Matrix,
    pub(in crate::model) token_type: Matrix,
    pub(in crate::model) norm: Norm,
    pub(in crate::model) final_norm: Norm,
    /// See [`Config::relative`](crate::model::Config::relative).
    pub(in crate::model) relative: Matrix,
    /// The norm of the rows of `relative`. Zero-sized in builds for BERT alone.
    pub(in crate::model) relative_norm: [Norm; FAMILIES as usize],
    /// See [`Embedding::projected`](crate::model::config::Embedding::projected). Zero-sized in
    /// builds for BERT alone.
    pub(in crate::model) projection: [Linear; FAMILIES as usize],
    pub(in crate::model) layers: L,
}

/// Texts as token ids, special tokens included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// The ids of all texts, concatenated.
    pub ids: &'a [u32],
    /// The type of each token; empty if all are of the first type. Ignored by models with a single
    /// type or none.
    pub types: &'a [u8],
    /// The number of tokens of each text.
    pub lengths: &'a [usize],
    /// The number of leading tokens of each text that do not count in pooling: those of a prompt.
    pub skipped: usize,
    /// The number of leading tokens of each text that are attended to, at least one; empty if all
    /// are. The others, such as those that a query is filled up with, attend to them and have
    /// states. Builds for BERT alone ignore it.
    pub attended: &'a [usize],
    /// The number of first tokens that all texts have in common and that are computed once for
    /// several texts, for heads that take the last token's state alone. With quantised activations,
    /// these tokens are quantised apart from the others, so that a text has the same bits among any
    /// others. Causal models alone take them, without `types` and `attended`.
    pub shared: usize,
}

impl<'a> Batch<'a> {
    /// Texts of these lengths, all of whose tokens count in pooling and are of the first type.
    #[must_use]
    pub const fn new(ids: &'a [u32], lengths: &'a [usize]) -> Self {
        Self { ids, types: &[], lengths, skipped: 0, attended: &[], shared: 0 }
    }
}

const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);

impl<L> Transformer<L> {
    /// A transformer of these sizes whose tensors are not located yet.
    pub const fn unlocated(config: Config, layers: L) -> Self {
        Self {
            config,
            word: Matrix::EMPTY,
            position: Matrix::EMPTY,
            token_type: Matrix::EMPTY,
            norm: Norm::EMPTY,
            final_norm: Norm::EMPTY,
            relative: Matrix::EMPTY,
            relative_norm: [Norm::EMPTY; FAMILIES as usize],
            projection: [Linear::EMPTY; FAMILIES as usize],
            layers,
        }
    }
}

impl<L: AsRef<[Layer]> + Sync> Transformer<L> {
    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// A plan for `tokens` on one thread with weights in memory. Activations are quantised if the
    /// model was made for that: if its 8-bit weights have column scales, that is, if it was
    /// calibrated, or if its weights are in blocks, whose groups are small enough. Otherwise they
    /// are f32.
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        let layers = || self.layers.as_ref().iter().take(self.config.layers);
        let grouped = layers().any(Layer::has_blocks);
        let quantized = grouped || layers().any(Layer::is_calibrated);
        Plan { quantized, grouped, ..Plan::new(tokens) }
    }

    /// Calls `each` with the number of each text and the hidden states of its tokens, `[tokens,
    /// hidden]`, in order, and `observe` with the input of every linear layer. The states of
    /// [shared](Batch::shared) tokens are left out.
    ///
    /// As many texts as fit the workspace are computed together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::TooManyTokens`] for a text with more tokens
    /// than positions; [`ErrorKind::BufferTooSmall`] for one with more than the workspace was made
    /// for; [`ErrorKind::InvalidArgument`] for one without tokens, if the lengths do not add up, if
    /// the numbers of types and ids differ, for types that the model does not have, if the numbers
    /// of attended tokens do not fit the lengths, or if texts do not share the tokens that they are
    /// said to, have no others or the model is not causal; the first error from `each`, and any
    /// error of reading the weights.
    pub fn states<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
        observe: &Observer<'_>,
    ) -> Result<()> {
        let mut texts = *texts;
        if !FAMILIES || self.token_type.rows <= 1 {
            texts.types = &[];
        }
        let has_type = |it: &u8| usize::from(*it) < self.token_type.rows;
        let Batch { ids, types, lengths, attended, .. } = texts;
        let mut counts = attended.iter().zip(lengths);
        let fit = counts.all(|(attended, length)| (1..=*length).contains(attended));
        if FAMILIES && !attended.is_empty() && !(fit && attended.len() == lengths.len()) {
            return Err(INVALID);
        }
        if !types.is_empty() && (types.len() != ids.len() || !types.iter().all(has_type)) {
            return Err(INVALID);
        }
        self.check_texts(&texts, workspace.layout.tokens)?;
        if FAMILIES && texts.shared > 0 && !self.shares(&texts) {
            return Err(INVALID);
        }
        self.pass(run, &texts, workspace, observe, each)
    }

    /// Runs texts through the model, as many at a time as fit the workspace.
    fn pass<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        texts: &Batch<'_>,
        workspace: &mut Workspace<'_>,
        observe: &Observer<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let Batch { mut ids, mut types, mut lengths, mut attended, shared, .. } = *texts;
        let mut number = 0;
        while !lengths.is_empty() {
            let pack = Pack::new(lengths, workspace.layout.tokens, shared);
            let Pack { texts, ids: count, .. } = pack;
            let (these, rest) = ids.split_at_checked(count).ok_or(INVALID)?;
            let (these_lengths, rest_lengths) = lengths.split_at_checked(texts).ok_or(INVALID)?;
            let (these_types, rest_types) = match FAMILIES && !types.is_empty() {
                true => types.split_at_checked(count).ok_or(INVALID)?,
                false => (types, types),
            };
            let (these_attended, rest_attended) = match FAMILIES && !attended.is_empty() {
                true => attended.split_at_checked(texts).ok_or(INVALID)?,
                false => (&[][..], &[][..]),
            };
            let these = Batch {
                types: these_types,
                attended: these_attended,
                ..Batch::new(these, these_lengths)
            };
            Pass::run(self, run, observe, (&these, pack), workspace)?;
            let shared = pack.shared.count() * self.config.hidden;
            let mut hidden = workspace.hidden.get(shared..).ok_or(INVALID)?;
            for rows in pack.shared.rows(these_lengths) {
                let states = rows.own() * self.config.hidden;
                let (states, rest) = hidden.split_at_checked(states).ok_or(INVALID)?;
                each(number, states)?;
                number += 1;
                hidden = rest;
            }
            (ids, types, lengths) = (rest, rest_types, rest_lengths);
            attended = rest_attended;
        }
        Ok(())
    }

    /// Returns true if texts of at least one token share their first tokens as they say.
    fn shares(&self, texts: &Batch<'_>) -> bool {
        let Batch { ids, types, lengths, attended, shared, .. } = *texts;
        let (first, mut rest) = (ids.get(..shared), ids);
        let begins_so = |&length: &usize| {
            let text = rest.split_off(..length);
            length > shared && text.is_some_and(|text| text.get(..shared) == first)
        };
        let plain = types.is_empty() && attended.is_empty();
        self.config.is_causal() && plain && lengths.iter().all(begins_so)
    }

    fn check_texts(&self, texts: &Batch<'_>, room: usize) -> Result<()> {
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
        if total != ids.len() {
            return error(ErrorKind::InvalidArgument);
        }
        if ids.iter().any(|&id| id as usize >= self.config.vocabulary) {
            return error(ErrorKind::TokenOutOfRange);
        }
        Ok(())
    }
}
