//! Embeddings by core's encoders of any kind: transformers take short texts together, tables of a
//! vector for each token take each on its own.

use std::borrow::Cow;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{InOrder, Job, Parallel, Parts, Plan};
use nanoembed_core::owned::{
    self, LateSide, MultiTokens, Prompt, Session, SparseVector, TextSession,
};
use rayon::prelude::*;

use super::backend::{Backend, Batch, Length, Others};
use super::options::EncoderOptions;
use super::vector_kind::VectorKind;
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::limits::max_tokens;
use crate::pool::Pool;
use crate::progress::Observer;
use crate::tokenizer::Tokens;

/// How many tokens short texts are put together to: enough that the weights are read once for many,
/// few enough that the vectors stay in the cache.
const BATCH_TOKENS: usize = 256;

/// A model that is ready to run.
pub(super) struct TextEncoder {
    model: owned::Encoder<ModelWeights>,
    max_tokens: usize,
    precise: bool,
    scratch: Pool<TextSession>,
    /// Scratch memory for any batch on one thread.
    sessions: Pool<Session>,
}

impl TextEncoder {
    /// Makes the model called `name` ready to run as `options` say.
    pub(super) fn new(
        model: owned::Encoder<ModelWeights>,
        options: &EncoderOptions,
        name: &str,
    ) -> Result<Self> {
        let (usual, most) = (model.usual_tokens(), model.positions());
        let max_tokens = match model.is_table() {
            true => limit_of_table(options.max_tokens.unwrap_or(usual), most),
            false => max_tokens(options.max_tokens, usual, most),
        }?;
        let (scratch, sessions) = Default::default();
        let encoder = Self { model, max_tokens, precise: options.precise, scratch, sessions };
        let bytes = encoder.model.session_bytes(encoder.plan(encoder.most_tokens(), 1));
        options.limits.check_session(bytes, encoder.most_tokens(), name)?;
        Ok(encoder)
    }

    /// The plan for `tokens` tokens at a time, in `jobs` parts.
    fn plan(&self, tokens: usize, jobs: usize) -> Plan {
        let plan = self.model.plan(tokens);
        Plan { jobs, quantized: plan.quantized && !self.precise, ..plan }
    }

    /// Tokens of a text, or of several short ones.
    fn most_tokens(&self) -> usize {
        self.max_tokens.max(BATCH_TOKENS)
    }

    /// Scratch memory for `tokens` tokens at a time, in `jobs` parts.
    fn session_for(&self, tokens: usize, jobs: usize) -> Result<Session, CoreError> {
        self.model.session_for(self.plan(tokens, jobs))
    }

    /// Scratch memory for one thread, for any batch.
    fn any_session(&self) -> Result<Session, CoreError> {
        self.session_for(self.most_tokens(), 1)
    }

    /// Does something with memory of the pool.
    fn borrowing<R>(
        &self,
        act: impl FnOnce(&mut Session) -> Result<R, CoreError>,
    ) -> Result<R, CoreError> {
        self.sessions.borrow(|| self.any_session(), act)
    }

    /// The vector of one text into `out`, on this thread, and its tokens.
    fn embed_one(
        &self,
        session: &mut Session,
        text: &str,
        skipped: usize,
        out: &mut [f32],
    ) -> Result<Tokens, CoreError> {
        let tokens = self.tokenize(text)?;
        let lengths = [tokens.ids.len()];
        self.model.embed(session, &InOrder, &tokens.ids, &lengths, skipped, out)?;
        Ok(tokens)
    }

    fn embed_batch<T: AsRef<[u32]>>(
        &self,
        batch: &[T],
        skipped: usize,
        session: &mut Session,
        parallel: &dyn Parallel,
    ) -> Result<Vec<f32>, CoreError> {
        let (ids, lengths) = packed(batch);
        let mut out = vec![0.0; lengths.len() * self.model.dimensions()];
        self.model.embed(session, parallel, &ids, &lengths, skipped, &mut out)?;
        Ok(out)
    }

    /// The vectors of texts that a table takes one by one.
    fn embed_each(
        &self,
        texts: &[Cow<'_, str>],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Batch, CoreError> {
        let width = self.model.dimensions();
        let mut values = vec![0.0; texts.len() * width];
        let rows = values.par_chunks_exact_mut(width.max(1)).with_min_len(16);
        let lengths = rows.zip(texts).map(|(row, text)| {
            if observer.is_cancelled() {
                return Ok(Length::default());
            }
            // A table's sessions take no memory.
            let tokens = self.embed_one(&mut self.any_session()?, text, skipped, row)?;
            Ok(Length::from_tokens(&tokens))
        });
        let lengths = lengths.collect::<Result<_, CoreError>>()?;
        observer.advance(texts.len() as u64);
        Ok(Batch { values, lengths })
    }

    /// The vectors of texts that are taken together in batches: `tokenize` makes the tokens of a
    /// text, and `embed` the vectors of a batch.
    fn embed_batches<T: TextTokens, V: Send>(
        &self,
        texts: &[Cow<'_, str>],
        observer: &dyn Observer,
        tokenize: impl Fn(&str) -> Result<T, CoreError> + Sync,
        embed: &EmbedBatch<'_, T, V>,
    ) -> Result<(Vec<Vec<V>>, Vec<Length>), CoreError> {
        let tokens = texts.par_iter().map(|text| match observer.is_cancelled() {
            true => Ok(T::default()),
            false => tokenize(text),
        });
        let tokens: Vec<T> = tokens.collect::<Result<_, CoreError>>()?;
        let vectors = self.run_batches(&tokens, observer, embed)?;
        Ok((vectors, tokens.iter().map(T::length).collect()))
    }

    /// The vectors of texts whose tokens are known, in batches.
    fn run_batches<T: TextTokens, V: Send>(
        &self,
        tokens: &[T],
        observer: &dyn Observer,
        embed: &EmbedBatch<'_, T, V>,
    ) -> Result<Vec<Vec<V>>, CoreError> {
        let batches = batches(tokens);
        let watched = |batch: &[T], embed: &mut dyn FnMut() -> Result<Vec<V>, CoreError>| {
            if observer.is_cancelled() {
                return Ok(Vec::new());
            }
            let vectors = embed()?;
            observer.advance(batch.len() as u64);
            Ok(vectors)
        };
        if batches.len() < rayon::current_num_threads() {
            // Too few to give each thread its own: the threads share the work of each.
            let each = |batch: &&[T]| {
                let tokens = batch.iter().map(T::count).sum();
                let mut session = self.session_for(tokens, Threads.jobs())?;
                watched(batch, &mut || embed(batch, &mut session, &Threads))
            };
            batches.iter().map(each).collect()
        } else {
            let each = |batch: &&[T]| {
                watched(batch, &mut || self.borrowing(|session| embed(batch, session, &InOrder)))
            };
            batches.par_iter().with_max_len(1).map(each).collect()
        }
    }
}

/// Makes the vectors of a batch of texts: for a dense one all its numbers.
type EmbedBatch<'e, T, V> =
    dyn Fn(&[T], &mut Session, &dyn Parallel) -> Result<Vec<V>, CoreError> + Sync + 'e;

/// The tokens of a text.
trait TextTokens: Default + Send + Sync {
    /// The number of tokens.
    fn count(&self) -> usize;

    /// The part of the text that they are.
    fn length(&self) -> Length;
}

impl TextTokens for Tokens {
    fn count(&self) -> usize {
        self.ids.len()
    }

    fn length(&self) -> Length {
        Length::from_tokens(self)
    }
}

impl TextTokens for MultiTokens {
    fn count(&self) -> usize {
        self.ids.len()
    }

    fn length(&self) -> Length {
        Length { tokens: self.ids.len(), truncated: self.truncated }
    }
}

/// Ids that somebody else has made.
impl TextTokens for &[u32] {
    fn count(&self) -> usize {
        self.len()
    }

    fn length(&self) -> Length {
        Length { tokens: self.len(), truncated: false }
    }
}

/// The ids of all texts, and their numbers.
fn packed<T: AsRef<[u32]>>(batch: &[T]) -> (Vec<u32>, Vec<usize>) {
    let ids = batch.iter().flat_map(|tokens| tokens.as_ref().iter().copied());
    (ids.collect(), batch.iter().map(|tokens| tokens.as_ref().len()).collect())
}

impl Backend for TextEncoder {
    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn positions(&self) -> usize {
        self.model.positions()
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn tokenize(&self, text: &str) -> Result<Tokens, CoreError> {
        let encode = |session: &mut _| self.model.encode_start(text, self.max_tokens, session);
        self.scratch.lend(encode).map(|(ids, truncated)| Tokens { ids, truncated })
    }

    fn prompt(&self, prompt: &str) -> Result<Prompt, CoreError> {
        self.scratch.lend(|session| self.model.prompt(prompt, session))
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
        let tokens = match session {
            Some(session) => self.embed_one(session, text, skipped, out),
            None => self.borrowing(|session| self.embed_one(session, text, skipped, out)),
        };
        tokens.map(|_| ())
    }

    fn embed_all(
        &self,
        texts: &[Cow<'_, str>],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Batch, CoreError> {
        if self.model.is_table() {
            return self.embed_each(texts, skipped, observer);
        }
        let tokenize = |text: &str| self.tokenize(text);
        let (values, lengths) =
            self.embed_batches(texts, observer, tokenize, &|batch, session, parallel| {
                self.embed_batch(batch, skipped, session, parallel)
            })?;
        Ok(Batch { values: values.concat(), lengths })
    }

    fn embed_ids(
        &self,
        texts: &[&[u32]],
        skipped: usize,
        observer: &dyn Observer,
    ) -> Result<Vec<f32>, CoreError> {
        if !self.model.is_table() {
            let vectors = self.run_batches(texts, observer, &|batch, session, parallel| {
                self.embed_batch(batch, skipped, session, parallel)
            })?;
            return Ok(vectors.concat());
        }
        let mut values = vec![0.0; texts.len() * self.model.dimensions()];
        let rows = values.chunks_exact_mut(self.model.dimensions().max(1));
        let mut session = self.any_session()?;
        for (row, ids) in rows.zip(texts) {
            self.model.embed(&mut session, &InOrder, ids, &[ids.len()], skipped, row)?;
        }
        observer.advance(texts.len() as u64);
        Ok(values)
    }

    fn count_tokens(&self, text: &str) -> Result<usize, CoreError> {
        let encode = |session: &mut _| self.model.encode(text, self.max_tokens, session);
        self.scratch.lend(encode).map(|tokens| tokens.total)
    }

    fn makes(&self, kind: VectorKind) -> bool {
        match kind {
            VectorKind::Dense => self.dimensions() > 0,
            VectorKind::Sparse => self.model.makes_sparse(),
            VectorKind::Multi => self.multi_dimensions() > 0,
        }
    }

    fn embed_sparse(
        &self,
        texts: &[Cow<'_, str>],
        observer: &dyn Observer,
    ) -> Result<Others<SparseVector>, CoreError> {
        let tokenize = |text: &str| self.tokenize(text);
        let (vectors, lengths) =
            self.embed_batches(texts, observer, tokenize, &|batch, session, parallel| {
                let (ids, lengths) = packed(batch);
                self.model.embed_sparse(session, parallel, &ids, &lengths)
            })?;
        Ok(Others { vectors: vectors.into_iter().flatten().collect(), lengths })
    }

    fn multi_dimensions(&self) -> usize {
        self.model.multi_dimensions()
    }

    fn tells_sides(&self) -> bool {
        self.model.tells_sides()
    }

    fn multi_limit(&self, side: LateSide) -> Option<usize> {
        self.model.multi_limit(side)
    }

    fn embed_multi(
        &self,
        texts: &[Cow<'_, str>],
        side: LateSide,
        observer: &dyn Observer,
    ) -> Result<Others<Vec<f32>>, CoreError> {
        let tokenize = |text: &str| {
            let limit = self.max_tokens;
            self.scratch.lend(|session| self.model.encode_multi(text, side, limit, session))
        };
        let (vectors, lengths) =
            self.embed_batches(texts, observer, tokenize, &|batch, session, parallel| {
                self.model.embed_multi(session, parallel, batch)
            })?;
        Ok(Others { vectors: vectors.into_iter().flatten().collect(), lengths })
    }

    fn has_token(&self, id: u32) -> bool {
        self.model.has_token(id)
    }

    fn token(&self, id: u32) -> Option<String> {
        self.model.token(id)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, CoreError> {
        self.model.tokenizer().decode(ids)
    }
}

/// The most tokens of a text for a table, which adds no special tokens: `asked`, if it has them.
fn limit_of_table(asked: usize, most: usize) -> Result<usize> {
    if (1..=most).contains(&asked) {
        return Ok(asked);
    }
    Err(Error::argument("max_tokens", format!("{asked} is out of range"))
        .with_hint(format!("a table takes 1 to {most} tokens of a text")))
}

/// Neighbouring texts put together up to [`BATCH_TOKENS`].
fn batches<T: TextTokens>(tokens: &[T]) -> Vec<&[T]> {
    let mut batches = Vec::new();
    let mut rest = tokens;
    while !rest.is_empty() {
        let mut total = 0;
        let fitting = rest.iter().take_while(|tokens| {
            total += tokens.count();
            total <= BATCH_TOKENS
        });
        let (batch, after) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = after;
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
