//! A causal model without its file: it runs over weights from anywhere, mapped or read in pieces.

use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{self, Kernels};
use crate::limit::filled;
use crate::model::llama::{
    Cache, Llama, LlamaConfig, LlamaLayer, LlamaMemory, LlamaNeeds, LlamaPlan, Output,
};
use crate::model::{Run, Weights};

/// Which hidden states of a causal model make the embedding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CausalPooling {
    /// The mean over all tokens.
    Mean,
    /// That of the last token, which has seen all others.
    Last,
}

/// A decoder of the Llama family: its sizes, and where its tensors lie.
///
/// Immutable: several texts may be continued at once, each in a [`CausalSession`] of its own.
#[derive(Clone, Debug)]
pub struct Decoder {
    llama: Llama<Vec<LlamaLayer>>,
    kernels: Kernels,
}

impl Decoder {
    /// Finds the tensors of a decoder with these sizes in `weights`.
    ///
    /// # Errors
    ///
    /// As [`Llama::open`].
    pub fn open(weights: &(impl Weights + ?Sized), config: LlamaConfig) -> Result<Self> {
        let llama = Llama::open(weights, config, filled(config.layers, LlamaLayer::EMPTY)?)?;
        Ok(Self { llama, kernels: kernel::detect() })
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &LlamaConfig {
        self.llama.config()
    }

    /// Bytes of memory that a [`session`](Self::session) of this plan takes.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_bytes(&self, plan: &LlamaPlan) -> Result<usize> {
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let LlamaNeeds { floats, bytes } = LlamaMemory::needs(self.config(), plan)?;
        let cache = Cache::floats_needed(self.config(), plan.positions).ok_or(too_small)?;
        let floats = cache.checked_add(floats).and_then(|all| all.checked_mul(size_of::<f32>()));
        floats.and_then(|floats| floats.checked_add(bytes)).ok_or(too_small)
    }

    /// Memory for one text: keys and values of as many tokens as the plan has positions, and
    /// scratch.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the plan has no tokens; [`ErrorKind::NoMemory`] if there
    /// is not as much memory.
    pub fn session(&self, plan: LlamaPlan) -> Result<CausalSession> {
        let config = self.config();
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let cache = Cache::floats_needed(config, plan.positions).ok_or(too_small)?;
        let needs = LlamaMemory::needs(config, &plan)?;
        Ok(CausalSession {
            plan,
            cache: filled(cache, 0.0)?,
            floats: filled(needs.floats, 0.0)?,
            bytes: filled(needs.bytes, 0)?,
            length: 0,
            is_long: false,
            ids: Vec::new(),
        })
    }

    /// Takes tokens through the model after those of the session, over the weights that it was
    /// opened with: see [`Llama::forward`]. Where the text becomes a [long](Llama::is_long) one,
    /// the tokens before are computed again, as the model's own library does it.
    ///
    /// # Errors
    ///
    /// As [`Llama::forward`].
    pub fn forward(
        &self,
        weights: &(impl Weights + ?Sized),
        session: &mut CausalSession,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<()> {
        let tokens = session.length.saturating_add(ids.len());
        let is_long = self.llama.is_long(tokens);
        if is_long != session.is_long && session.length > 0 {
            // The session's keys are rotated as those of short texts: compute them again.
            session.ids.truncate(session.length);
            let before = core::mem::take(&mut session.ids);
            session.clear();
            session.is_long = is_long;
            self.pass(weights, session, &before, Output::Nothing)?;
        }
        session.is_long = is_long;
        self.pass(weights, session, ids, output)
    }

    fn pass(
        &self,
        weights: &(impl Weights + ?Sized),
        session: &mut CausalSession,
        ids: &[u32],
        output: Output<'_>,
    ) -> Result<()> {
        let (mut cache, mut memory) = session.parts(self.config())?;
        let run = Run::new(weights, &self.kernels);
        self.llama.forward(&run, ids, &mut cache, &mut memory, output)?;
        let length = cache.len();
        let before = core::mem::replace(&mut session.length, length);
        if self.llama.has_long_texts() {
            session.ids.truncate(before);
            session.ids.extend_from_slice(ids);
        }
        Ok(())
    }

    /// The embedding of a text, into `out`: see [`Llama::embed`]. What the session had before is
    /// lost.
    ///
    /// # Errors
    ///
    /// As [`Llama::embed`].
    pub fn embed(
        &self,
        weights: &(impl Weights + ?Sized),
        session: &mut CausalSession,
        ids: &[u32],
        pooling: CausalPooling,
        out: &mut [f32],
    ) -> Result<()> {
        let mut states = filled(ids.len().saturating_mul(self.config().hidden), 0.0)?;
        session.clear();
        let (mut cache, mut memory) = session.parts(self.config())?;
        let run = Run::new(weights, &self.kernels);
        self.llama.embed(
            &run,
            ids,
            &mut cache,
            &mut memory,
            (pooling == CausalPooling::Last, &mut states, out),
        )
    }
}

/// The tokens of one text so far, as keys and values, and scratch memory.
#[derive(Clone, Debug)]
pub struct CausalSession {
    plan: LlamaPlan,
    cache: Vec<f32>,
    floats: Vec<f32>,
    bytes: Vec<u8>,
    length: usize,
    /// True if its keys are rotated as those of long texts.
    is_long: bool,
    /// Its tokens, in models that may have to compute them again.
    ids: Vec<u32>,
}

impl CausalSession {
    /// Forgets the text.
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    fn parts(&mut self, config: &LlamaConfig) -> Result<(Cache<'_>, LlamaMemory<'_>)> {
        let Self { plan, cache, floats, bytes, length, is_long, .. } = self;
        let mut cache = Cache::resume(config, plan.positions, *length, cache)?;
        cache.set_long(*is_long);
        Ok((cache, LlamaMemory::new(config, plan, floats, bytes)?))
    }
}
