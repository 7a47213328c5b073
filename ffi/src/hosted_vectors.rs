//! Sparse vectors, and a vector for each token, of models with memory of their own.

use core::slice;
use std::vec::Vec;

use nanoembed_core::kernel::{self, max_sim};
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{LateSide, MultiTokens, Prompt, SparseVector};
use nanoembed_core::token::Encoded;
use nanoembed_core::{Error, ErrorKind};

use crate::hosted::{HostedModel, HostedSession, encoded};
use crate::status::{Outcome, invalid};

impl HostedModel {
    pub(crate) fn makes_sparse(&self) -> bool {
        self.encoder.makes_sparse()
    }

    /// Elements of the vector of a token; 0 if the model does not make one for each.
    pub(crate) fn multi_dimensions(&self) -> usize {
        self.encoder.multi_dimensions()
    }

    /// Returns true if the model makes other vectors of a query than of a document.
    pub(crate) fn tells_sides(&self) -> bool {
        self.encoder.tells_sides()
    }

    /// The sparse vector of a text.
    pub(crate) fn embed_sparse(
        &self,
        session: &mut HostedSession,
        text: &str,
    ) -> Outcome<(SparseVector, Encoded)> {
        if !self.makes_sparse() {
            return Err(ErrorKind::OtherModel.into());
        }
        let (found, skipped) = self.encode(session, text, self.limit())?;
        check_pooled(skipped)?;
        let (ids, lengths) = (&found.ids[..], [found.ids.len()]);
        let room = self.session(session, ids.len())?;
        let vectors = self.encoder.embed_sparse(room, &InOrder, ids, &lengths)?;
        Ok((vectors.into_iter().next().unwrap_or_default(), encoded(&found)))
    }

    /// The vectors of the tokens of a text, one after the other.
    pub(crate) fn embed_multi(
        &self,
        session: &mut HostedSession,
        side: LateSide,
        text: &str,
    ) -> Outcome<(Vec<f32>, Encoded)> {
        let prompt = match &session.prompt {
            Some(prompt) if session.is_chosen => prompt.clone(),
            _ => self.prompt_of(session, side)?,
        };
        self.vectors(session, side, &prompt, text)
    }

    /// The MaxSim of a query and a document, each after the model's prompt for it.
    pub(crate) fn max_sim(
        &self,
        session: &mut HostedSession,
        query: &str,
        document: &str,
    ) -> Outcome<f32> {
        let mut vectors = |side, text| {
            let prompt = self.prompt_of(session, side)?;
            self.vectors(session, side, &prompt, text)
        };
        let (query, _) = vectors(LateSide::Query, query)?;
        let (document, _) = vectors(LateSide::Document, document)?;
        Ok(max_sim::max_sim(&kernel::detect(), self.multi_dimensions(), &query, &document))
    }

    /// The prompt for texts on a side; none if the model has none for it.
    fn prompt_of(&self, session: &mut HostedSession, side: LateSide) -> Outcome<Prompt> {
        let role = match side {
            LateSide::Query => Prefix::Query,
            LateSide::Document => Prefix::Document,
        };
        let chosen = self.encoder.prompts().choose_for(&role, &Prefix::Usual);
        let chosen = chosen.map_err(|_| invalid("prompt"))?;
        Ok(self.encoder.prompt(chosen, &mut session.tokens)?)
    }

    fn vectors(
        &self,
        session: &mut HostedSession,
        side: LateSide,
        prompt: &Prompt,
        text: &str,
    ) -> Outcome<(Vec<f32>, Encoded)> {
        if self.multi_dimensions() == 0 {
            return Err(ErrorKind::OtherModel.into());
        }
        self.check_tokenizes()?;
        check_pooled(prompt.skipped)?;
        let text = prompt.before(text)?;
        let tokens = self.encoder.encode_multi(&text, side, self.limit(), &mut session.tokens)?;
        let room = self.session(session, tokens.ids.len())?;
        let vectors = self.encoder.embed_multi(room, &InOrder, slice::from_ref(&tokens))?;
        let MultiTokens { ids, truncated, .. } = &tokens;
        let total = ids.len().saturating_add(usize::from(*truncated));
        let encoded = Encoded::new(ids.len(), total, *truncated);
        Ok((vectors.into_iter().next().unwrap_or_default(), encoded))
    }
}

/// Rejects a prompt whose tokens are left out, which is for dense vectors.
fn check_pooled(skipped: usize) -> Outcome {
    match skipped {
        0 => Ok(()),
        _ => Err(Error::without_offset(ErrorKind::UnsupportedSetting).into()),
    }
}
