//! Embeddings by a BERT encoder.

use std::borrow::Cow;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{BertConfig, InOrder, Job, Parallel, Parts, Plan};
use nanoembed_core::owned::{Embedder, Session};
use rayon::prelude::*;

use super::options::EncoderOptions;
use super::{Batch, Length};
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::open::opened::Opened;
use crate::pool::Pool;
use crate::tokenizer::Tokens;
use crate::tokenizer::word_pieces::encode;

/// How many tokens short texts are put together to: enough that the weights are read once for many,
/// few enough that the vectors stay in the cache.
const BATCH_TOKENS: usize = 256;

/// An encoder that is ready to run.
pub(super) struct BertEncoder {
    model: Embedder<Bytes>,
    max_tokens: usize,
    precise: bool,
    /// Scratch memory for any batch on one thread.
    sessions: Pool<Session>,
}

impl BertEncoder {
    /// Makes the opened model ready to run as `options` say.
    pub(super) fn of(opened: &Opened, options: &EncoderOptions) -> Result<Self> {
        let mut model = opened.embedder()?;
        let max_tokens = limit(options.max_tokens, model.config())?;
        if options.requantize {
            model.requantize().map_err(|error| opened.source().failure(error))?;
        }
        Ok(Self { model, max_tokens, precise: options.precise, sessions: Pool::default() })
    }

    /// Scratch memory for `tokens` tokens at a time, in `jobs` parts.
    fn session(&self, tokens: usize, jobs: usize) -> Result<Session, CoreError> {
        let plan = self.model.plan(tokens);
        let quantized = plan.quantized && !self.precise;
        self.model.session_for(Plan { jobs, quantized, ..plan })
    }

    /// Scratch memory for one thread, for any batch.
    pub(super) fn any_session(&self) -> Result<Session, CoreError> {
        self.session(self.max_tokens.max(BATCH_TOKENS), 1)
    }

    /// The sizes of the model.
    pub(super) const fn config(&self) -> &BertConfig {
        self.model.config()
    }

    /// How many tokens of a text are embedded.
    pub(super) const fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The token ids of `text`, as many as are embedded.
    pub(super) fn tokenize(&self, text: &str) -> Result<Tokens, CoreError> {
        encode(&self.model.tokenizer()?, text, Some(self.max_tokens))
    }

    /// The embedding of `text` on this thread, in memory of the pool.
    pub(super) fn embed(&self, text: &str, out: &mut [f32]) -> Result<(), CoreError> {
        self.borrowing(|session| self.embed_in(session, text, out))
    }

    /// The embedding of `text` on this thread.
    pub(super) fn embed_in(
        &self,
        session: &mut Session,
        text: &str,
        out: &mut [f32],
    ) -> Result<(), CoreError> {
        let tokens = self.tokenize(text)?;
        self.model.embed(session, &InOrder, &tokens.ids, &[tokens.ids.len()], out)
    }

    /// The embeddings of `texts`, in their order, on all threads.
    pub(super) fn embed_all(&self, texts: &[Cow<'_, str>]) -> Result<Batch, CoreError> {
        let tokenizer = self.model.tokenizer()?;
        let tokens = texts.par_iter().map(|text| encode(&tokenizer, text, Some(self.max_tokens)));
        let tokens: Vec<Tokens> = tokens.collect::<Result<_, CoreError>>()?;
        let batches = batches(&tokens);
        let vectors: Vec<Vec<f32>> = if batches.len() < rayon::current_num_threads() {
            // Too few to give each thread its own: the threads share the work of each.
            let embed = |batch: &&[Tokens]| {
                let tokens = batch.iter().map(|tokens| tokens.ids.len()).sum();
                let mut session = self.session(tokens, Threads.jobs())?;
                self.embed_batch(batch, &mut session, &Threads)
            };
            batches.iter().map(embed).collect::<Result<_, CoreError>>()?
        } else {
            let embed = |batch: &&[Tokens]| {
                self.borrowing(|session| self.embed_batch(batch, session, &InOrder))
            };
            batches.par_iter().with_max_len(1).map(embed).collect::<Result<_, CoreError>>()?
        };
        let length =
            |tokens: &Tokens| Length { tokens: tokens.ids.len(), truncated: tokens.truncated };
        Ok(Batch { values: vectors.concat(), lengths: tokens.iter().map(length).collect() })
    }

    fn embed_batch(
        &self,
        batch: &[Tokens],
        session: &mut Session,
        parallel: &impl Parallel,
    ) -> Result<Vec<f32>, CoreError> {
        let ids: Vec<u32> = batch.iter().flat_map(|tokens| tokens.ids.iter().copied()).collect();
        let lengths: Vec<usize> = batch.iter().map(|tokens| tokens.ids.len()).collect();
        let mut out = vec![0.0; lengths.len() * self.config().hidden];
        self.model.embed(session, parallel, &ids, &lengths, &mut out)?;
        Ok(out)
    }

    /// Does something with memory of the pool.
    fn borrowing<R>(
        &self,
        act: impl FnOnce(&mut Session) -> Result<R, CoreError>,
    ) -> Result<R, CoreError> {
        let mut session = match self.sessions.take() {
            Some(session) => session,
            None => self.any_session()?,
        };
        let done = act(&mut session);
        self.sessions.give(session);
        done
    }
}

/// How many tokens of a text are used: `asked`, or as many as the model was trained for.
pub(crate) fn limit(asked: Option<usize>, config: &BertConfig) -> Result<usize> {
    match asked {
        None => Ok(config.max_tokens),
        Some(asked) if (2..=config.positions).contains(&asked) => Ok(asked),
        Some(asked) => Err(Error::argument("max_tokens", format!("{asked} is out of range"))
            .with_hint(format!(
                "two special tokens stand around every text, and this model has {} positions: 2 to {}",
                config.positions, config.positions
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
