//! Tokens to vectors and logits.

use alloc::vec::Vec;

use super::Encoder;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{append, push};
use crate::model::{Batch, Observer, Parallel, Plan, Weights};
use crate::owned::empty_texts::embed_nonempty;
use crate::owned::{Session, TokenizedPair};

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

impl<W: Weights + Sync> Encoder<W> {
    /// How the model was made to run: see [`Transformer::plan`](crate::model::Transformer::plan).
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.network.plan(tokens)
    }

    /// The scratch memory of one thread: see [`TokenEncoder::session`].
    ///
    /// # Errors
    ///
    /// As [`TokenEncoder::session`].
    ///
    /// [`TokenEncoder::session`]: crate::owned::TokenEncoder::session
    pub fn session(&self, tokens: usize, jobs: usize) -> Result<Session> {
        self.network.session(tokens, jobs)
    }

    /// The bytes that [`session_for`](Self::session_for) takes.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session), but for [`ErrorKind::NoMemory`].
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        self.network.session_bytes(plan)
    }

    /// As [`session`](Self::session), for a plan that says more.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        self.network.session_for(plan)
    }

    /// The embeddings of tokenised texts, [`dimensions`](Self::dimensions) elements each, into
    /// `out`. The first `skipped` tokens of each do not count in pooling. The vector of a text
    /// without tokens is zeros: it is similar to nothing.
    ///
    /// # Errors
    ///
    /// As [`TokenEncoder::embed`](crate::owned::TokenEncoder::embed); [`ErrorKind::OtherModel`] if
    /// the model [compares](Self::compares) texts or makes other vectors alone.
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        if self.compares || self.dimensions() == 0 {
            return Err(OTHER_MODEL);
        }
        let weights = self.requantizing.over(&self.weights);
        embed_nonempty(lengths, self.dimensions(), out, |lengths, out| {
            let texts = Batch { skipped, ..Batch::new(ids, lengths) };
            self.network.embed(&weights, session, parallel, &texts, out)
        })
    }

    /// Shows `each` the number of each text and the hidden states of its tokens, and `observe` the
    /// input of every linear layer.
    ///
    /// Calibration uses it: how weights are quantised depends on a float model's activations.
    ///
    /// # Errors
    ///
    /// As [`TokenEncoder::states`](crate::owned::TokenEncoder::states).
    pub fn states<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
        observe: &Observer<'_>,
    ) -> Result<()> {
        let weights = self.requantizing.over(&self.weights);
        self.network.states(&weights, session, parallel, texts, each, observe)
    }

    /// The logits of tokenised pairs, one for each class, into `out`. All have the same
    /// [shared](TokenizedPair::shared) tokens, which are computed once for as many pairs as fit the
    /// session.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model does not [compare](Self::compares) texts;
    /// [`ErrorKind::InvalidArgument`] if pairs share other tokens; as
    /// [`TokenEncoder::logits`](crate::owned::TokenEncoder::logits).
    pub fn classify<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        pairs: &[TokenizedPair],
        out: &mut [f32],
    ) -> Result<()> {
        if !self.compares {
            return Err(OTHER_MODEL);
        }
        let shared = pairs.first().map_or(0, |pair| pair.shared);
        if pairs.iter().any(|pair| pair.shared != shared) {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let (mut ids, mut types, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for pair in pairs {
            append(&mut ids, &pair.ids)?;
            append(&mut types, &pair.types)?;
            push(&mut lengths, pair.ids.len())?;
        }
        let texts = &Batch { types: &types, shared, ..Batch::new(&ids, &lengths) };
        let weights = self.requantizing.over(&self.weights);
        match self.network.labels() {
            // Its modules end with the scores of classes.
            0 => self.network.embed(&weights, session, parallel, texts, out),
            _ => self.network.logits(&weights, session, parallel, texts, out),
        }
    }
}
