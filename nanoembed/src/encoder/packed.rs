//! Embeddings by a transformer that takes short texts together.

use std::borrow::Cow;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{InOrder, Job, Parallel, Parts, Plan};
use nanoembed_core::owned::{AnyEncoder, Prompt, Session};
use rayon::prelude::*;

use super::backend::{Backend, Batch, Length};
use super::options::EncoderOptions;
use crate::bytes::Bytes;
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::pool::Pool;
use crate::progress::Observer;
use crate::tokenizer::Tokens;
use crate::tokenizer::scratch::TextScratch;

/// How many tokens short texts are put together to: enough that the weights are read once for many,
/// few enough that the vectors stay in the cache.
const BATCH_TOKENS: usize = 256;

/// A model, and memory for those who tokenise.
pub(super) struct Model {
    pub(super) encoder: AnyEncoder<Bytes, ModelWeights<'static>>,
    scratch: TextScratch,
}

impl Model {
    pub(super) fn of(encoder: AnyEncoder<Bytes, ModelWeights<'static>>) -> Self {
        Self { encoder, scratch: TextScratch::default() }
    }

    /// The first `limit` tokens of `text`.
    pub(super) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        let encode = |session: &mut _| self.encoder.encode_start(text, limit, session);
        self.scratch.borrow(encode).map(|(ids, truncated)| Tokens { ids, truncated })
    }

    /// A prompt, ready to stand before texts.
    pub(super) fn prompt(&self, prompt: &str) -> Result<Prompt, CoreError> {
        self.scratch.borrow(|session| self.encoder.prompt(prompt, session))
    }
}

/// Texts as token ids, one behind the other.
#[derive(Clone, Copy, Debug)]
struct TokenTexts<'t> {
    ids: &'t [u32],
    lengths: &'t [usize],
    /// First tokens of each text that are left out of its vector.
    skipped: usize,
}

/// A transformer that is ready to run.
pub(super) struct PackedEncoder {
    model: Model,
    max_tokens: usize,
    precise: bool,
    /// Scratch memory for any batch on one thread.
    sessions: Pool<Session>,
}

impl PackedEncoder {
    /// Makes the model ready to run as `options` say.
    pub(super) fn of(model: Model, options: &EncoderOptions) -> Result<Self> {
        let encoder = &model.encoder;
        let max_tokens = limit(options.max_tokens, encoder.usual_tokens(), encoder.positions())?;
        Ok(Self { model, max_tokens, precise: options.precise, sessions: Pool::default() })
    }

    /// Scratch memory for `tokens` tokens at a time, in `jobs` parts.
    fn session_for(&self, tokens: usize, jobs: usize) -> Result<Session, CoreError> {
        let plan = self.model.encoder.plan(tokens);
        let quantized = plan.quantized && !self.precise;
        self.model.encoder.session_for(Plan { jobs, quantized, ..plan })
    }

    /// Scratch memory for one thread, for any batch.
    fn any_session(&self) -> Result<Session, CoreError> {
        self.session_for(self.max_tokens.max(BATCH_TOKENS), 1)
    }

    fn embed_tokens(
        &self,
        session: &mut Session,
        parallel: &dyn Parallel,
        TokenTexts { ids, lengths, skipped }: TokenTexts<'_>,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        self.model.encoder.embed(session, parallel, ids, lengths, skipped, out)
    }

    fn embed_batch(
        &self,
        batch: &[Tokens],
        skipped: usize,
        session: &mut Session,
        parallel: &dyn Parallel,
    ) -> Result<Vec<f32>, CoreError> {
        let ids: Vec<u32> = batch.iter().flat_map(|tokens| tokens.ids.iter().copied()).collect();
        let lengths: Vec<usize> = batch.iter().map(|tokens| tokens.ids.len()).collect();
        let mut out = vec![0.0; lengths.len() * self.model.encoder.dimensions()];
        let texts = TokenTexts { ids: &ids, lengths: &lengths, skipped };
        self.embed_tokens(session, parallel, texts, &mut out)?;
        Ok(out)
    }

    /// Does something with memory of the pool.
    fn borrowing<R>(
        &self,
        act: impl FnOnce(&mut Session) -> Result<R, CoreError>,
    ) -> Result<R, CoreError> {
        self.sessions.borrow(|| self.any_session(), act)
    }
}

impl Backend for PackedEncoder {
    fn dimensions(&self) -> usize {
        self.model.encoder.dimensions()
    }

    fn positions(&self) -> usize {
        self.model.encoder.positions()
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn tokenize(&self, text: &str) -> Result<Tokens, CoreError> {
        self.model.encode(text, self.max_tokens)
    }

    fn prompt(&self, prompt: &str) -> Result<Prompt, CoreError> {
        self.model.prompt(prompt)
    }

    fn session(&self) -> Result<Option<Session>, CoreError> {
        self.any_session().map(Some)
    }

    fn embed(
        &self,
        session: Option<&mut Session>,
        text: &str,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        let ids = self.tokenize(text)?.ids;
        let lengths = [ids.len()];
        let texts = TokenTexts { ids: &ids, lengths: &lengths, skipped };
        match session {
            Some(session) => self.embed_tokens(session, &InOrder, texts, out),
            None => self.borrowing(|session| self.embed_tokens(session, &InOrder, texts, out)),
        }
    }

    fn embed_all(
        &self,
        texts: &[Cow<'_, str>],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Batch, CoreError> {
        let tokens = texts.par_iter().map(|text| match observer.is_cancelled() {
            true => Ok(Tokens::default()),
            false => self.tokenize(text),
        });
        let tokens: Vec<Tokens> = tokens.collect::<Result<_, CoreError>>()?;
        let batches = batches(&tokens);
        let watched = |batch: &[Tokens], embed: &mut dyn FnMut() -> Result<Vec<f32>, CoreError>| {
            if observer.is_cancelled() {
                return Ok(Vec::new());
            }
            let vectors = embed()?;
            observer.advance(batch.len() as u64);
            Ok(vectors)
        };
        let vectors: Vec<Vec<f32>> = if batches.len() < rayon::current_num_threads() {
            // Too few to give each thread its own: the threads share the work of each.
            let embed = |batch: &&[Tokens]| {
                let tokens = batch.iter().map(|tokens| tokens.ids.len()).sum();
                let mut session = self.session_for(tokens, Threads.jobs())?;
                watched(batch, &mut || self.embed_batch(batch, skipped, &mut session, &Threads))
            };
            batches.iter().map(embed).collect::<Result<_, CoreError>>()?
        } else {
            let embed = |batch: &&[Tokens]| {
                watched(batch, &mut || {
                    self.borrowing(|session| self.embed_batch(batch, skipped, session, &InOrder))
                })
            };
            batches.par_iter().with_max_len(1).map(embed).collect::<Result<_, CoreError>>()?
        };
        Ok(Batch { values: vectors.concat(), lengths: tokens.iter().map(Length::of).collect() })
    }
}

/// How many tokens of a text are used: `asked`, or as many as the model was trained for.
pub(crate) fn limit(asked: Option<usize>, usual: usize, positions: usize) -> Result<usize> {
    match asked {
        None => Ok(usual),
        Some(asked) if (2..=positions).contains(&asked) => Ok(asked),
        Some(asked) => Err(Error::argument("max_tokens", format!("{asked} is out of range"))
            .with_hint(format!(
                "two special tokens stand around every text, and this model has {positions} positions: 2 to {positions}"
            ))),
    }
}

/// Neighbouring texts put together up to [`BATCH_TOKENS`].
fn batches(tokens: &[Tokens]) -> Vec<&[Tokens]> {
    let mut batches = Vec::new();
    let mut rest = tokens;
    while !rest.is_empty() {
        let mut total = 0;
        let fitting = rest.iter().take_while(|tokens| {
            total += tokens.ids.len();
            total <= BATCH_TOKENS
        });
        let (batch, behind) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = behind;
    }
    batches
}

/// The parts of one batch on the threads of rayon's pool.
struct Threads;

impl Parallel for Threads {
    fn jobs(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, parts: Parts<'_>, job: &Job<'_>) -> Result<(), CoreError> {
        parts.collect::<Vec<_>>().into_par_iter().try_for_each(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(lengths: &[usize]) -> Vec<Vec<usize>> {
        let tokens: Vec<Tokens> =
            lengths.iter().map(|&n| Tokens { ids: vec![0; n], truncated: false }).collect();
        let of = |batch: &[Tokens]| batch.iter().map(|tokens| tokens.ids.len()).collect();
        batches(&tokens).into_iter().map(of).collect()
    }

    #[test]
    fn short_texts_are_put_together_and_long_ones_stand_alone() {
        assert_eq!(
            lengths(&[100, 100, 100, 512, 3]),
            [vec![100, 100], vec![100], vec![512], vec![3]]
        );
    }
}
