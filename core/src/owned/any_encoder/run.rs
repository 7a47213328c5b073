//! Tokens become vectors and logits.

use super::{AnyEncoder, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Batch, Parallel, Plan, Weights};
use crate::owned::empty_texts::embed_nonempty;
use crate::owned::{Session, TextModel};

impl<B: AsRef<[u8]> + Sync, W: Weights + Sync> AnyEncoder<B, W> {
    /// How the model was made to run: see [`Transformer::plan`](crate::model::Transformer::plan).
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        match &self.kind {
            Kind::Bert(model) => model.plan(tokens),
            Kind::Text(model) => model.plan(tokens),
        }
    }

    /// The bytes that [`session_for`](Self::session_for) takes: none for a table.
    ///
    /// # Errors
    ///
    /// As [`Embedder::session_for`], but for memory that is refused.
    ///
    /// [`Embedder::session_for`]: crate::owned::Embedder::session_for
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        match &self.kind {
            Kind::Bert(model) => model.session_bytes(plan),
            Kind::Text(model) => model.session_bytes(plan),
        }
    }

    /// The scratch memory of one thread: see [`Embedder::session_for`].
    ///
    /// # Errors
    ///
    /// As [`Embedder::session_for`].
    ///
    /// [`Embedder::session_for`]: crate::owned::Embedder::session_for
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        match &self.kind {
            Kind::Bert(model) => model.session_for(plan),
            Kind::Text(model) => model.session_for(plan),
        }
    }

    /// The embeddings of tokenised texts, [`dimensions`](Self::dimensions) elements each, into
    /// `out`. The first `skipped` tokens of each do not count in pooling. The vector of a text
    /// without tokens is zeros: it is similar to nothing.
    ///
    /// # Errors
    ///
    /// As [`Embedder::embed`]; [`ErrorKind::OtherModel`] if the model
    /// [compares](Self::compares) texts; [`ErrorKind::UnsupportedSetting`] as
    /// [`prompt`](Self::prompt).
    ///
    /// [`Embedder::embed`]: crate::owned::Embedder::embed
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        if self.compares {
            return Err(Error::without_offset(ErrorKind::OtherModel));
        }
        embed_nonempty(lengths, self.dimensions(), out, |lengths, out| {
            self.embed_some(session, parallel, ids, lengths, skipped, out)
        })
    }

    /// The same of texts that all have tokens.
    fn embed_some<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.kind {
            Kind::Bert(_) if skipped > 0 => {
                Err(Error::without_offset(ErrorKind::UnsupportedSetting))
            }
            Kind::Bert(model) => model.embed(session, parallel, ids, lengths, out),
            Kind::Text(model) => model.embed(session, parallel, ids, lengths, skipped, out),
        }
    }

    /// The logits of tokenised pairs, one for each of the [classes](Self::classes), into `out`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model does not classify; as
    /// [`TransformerModel::classify`](crate::owned::TransformerModel::classify).
    pub fn classify<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.kind {
            Kind::Text(TextModel::Transformer(model)) if self.classes.is_some() => {
                model.classify(session, parallel, texts, out)
            }
            _ => Err(Error::without_offset(ErrorKind::OtherModel)),
        }
    }
}
