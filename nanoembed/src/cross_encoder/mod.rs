//! Two texts in, how well one answers the other out.

mod batches;
mod options;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::model::{InOrder, Plan};
use nanoembed_core::owned::folder::Described;
use nanoembed_core::owned::{self, Classes, Session, TextSession, TokenizedPair};
use nanoembed_core::{Error as CoreError, ErrorKind};
use rayon::prelude::*;

use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::folder::prompts::{Prefix, Prompts};
use crate::limits;
use crate::open::loaded_model::LoadedModel;
use crate::open::source::Source;
use crate::pool::Pool;
use crate::progress::{Observer, Progress, Silent};

use self::batches::{BATCH_TOKENS, batches};

pub use options::CrossEncoderOptions;

/// The size in tokens of pooled scratch memory for a causal model, whose texts may be very long. It is
/// twice a batch, because a pair after the first one may take up to half of it.
const POOLED_TOKENS: usize = 2 * BATCH_TOKENS;

/// How many pairs are tokenised before the first of them is compared.
const PAIRS_AT_ONCE: usize = 4096;

/// A model that reads two texts together and says how well the second answers the first, or which
/// of several labels they have.
///
/// Clones share the model, and threads may share one: scratch memory comes from a pool.
///
/// ```no_run
/// use nanoembed::CrossEncoder;
///
/// let model = CrossEncoder::open("bge-reranker-base/")?;
/// let texts = ["On a mat.", "It is in Germany.", "By train."];
/// for hit in model.rerank("Where is Berlin?", &texts)? {
///     println!("{:.3}  {}", hit.score, texts[hit.index]);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct CrossEncoder {
    inner: Arc<Inner>,
    /// The instruction, if it is not the model's default prompt.
    instruction: Option<Arc<str>>,
}

struct Inner {
    model: owned::Encoder<ModelWeights>,
    source: Arc<Source>,
    max_tokens: usize,
    classes: Classes,
    prompts: Prompts,
    scratch: Pool<TextSession>,
    sessions: Pool<Session>,
}

/// The score of a pair of texts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Score {
    /// The raw output of the model, a number for each label.
    pub logits: Vec<f32>,
    /// The logits after the activation: from 0 to 1 as a rule.
    pub scores: Vec<f32>,
    /// The number of tokens of both texts together, special tokens included.
    pub tokens: usize,
    /// True if the texts have more tokens.
    pub truncated: bool,
}

impl Score {
    /// The number of the label with the largest logit.
    #[must_use]
    pub fn best(&self) -> usize {
        let larger = |a: &(usize, &f32), b: &(usize, &f32)| a.1.total_cmp(b.1);
        self.logits.iter().enumerate().rev().max_by(larger).map_or(0, |(at, _)| at)
    }

    /// The logit of the first label, the only one of a model that ranks.
    #[must_use]
    pub fn logit(&self) -> f32 {
        self.logits.first().copied().unwrap_or(f32::NAN)
    }

    /// The score of the first label.
    #[must_use]
    pub fn score(&self) -> f32 {
        self.scores.first().copied().unwrap_or(f32::NAN)
    }
}

/// A text by its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ranked {
    /// The index of the text.
    pub index: usize,
    /// Its score.
    pub score: f32,
}

impl CrossEncoder {
    /// Opens a model: a folder as on Hugging Face.
    ///
    /// # Errors
    ///
    /// Fails if the folder or its model is invalid, or cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Options to open a model with.
    #[must_use]
    pub fn options() -> CrossEncoderOptions {
        CrossEncoderOptions::default()
    }

    pub(crate) fn from_opened(
        opened: &LoadedModel<'_>,
        options: &CrossEncoderOptions,
    ) -> Result<Self> {
        let source = Arc::clone(opened.source());
        let other = || {
            Error::input(ErrorKind::OtherModel, "the model does not compare two texts")
                .at(source.name())
                .with_hint("`nanoembed embed` runs models that embed texts")
        };
        let text = opened.described().ok_or_else(other)?;
        let has_head = match &text.model().described {
            Described::Transformer(family) => family.classifier.is_some(),
            _ => false,
        };
        if !has_head && !text.model().compares() {
            return Err(other());
        }
        let (model, prompts) = (text.open()?, text.prompts()?);
        let classes = model.classes().cloned().ok_or_else(other)?;
        let max_tokens =
            limits::max_tokens(options.max_tokens, model.usual_tokens(), model.positions())?;
        let plan = Plan { jobs: 1, ..model.plan(max_tokens) };
        options.limits.check_session(model.session_bytes(plan), max_tokens, source.name())?;
        let (scratch, sessions) = Default::default();
        let inner = Inner { model, source, max_tokens, classes, prompts, scratch, sessions };
        let opened = Self { inner: Arc::new(inner), instruction: None };
        opened.with_prompt(&options.prompt)
    }

    /// The same model with another instruction: see [`CrossEncoderOptions::prompt`].
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::Kind::NotFound) if the model has no such prompt;
    /// [`Kind::Usage`](crate::Kind::Usage) if there is no place for an instruction.
    pub fn with_prompt(&self, prompt: &Prefix) -> Result<Self> {
        let Inner { model, prompts, .. } = &*self.inner;
        let instruction = match prompt {
            Prefix::Usual => None,
            prompt => Some(prompts.choose(prompt)?),
        };
        let is_given = instruction.as_ref().is_some_and(|text| !text.is_empty());
        if is_given && !model.takes_instruction() {
            let message = "the model has no chat template with a place for an instruction";
            return Err(Error::argument("prompt", message));
        }
        let instruction = instruction.map(Arc::from);
        Ok(Self { inner: Arc::clone(&self.inner), instruction })
    }

    /// A warning for each unknown setting that was passed over: see
    /// [`CrossEncoderOptions::allow_unknown`].
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.inner.source.warnings()
    }

    /// The names of the labels; models that rank have one.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        self.inner.classes.labels()
    }

    /// The number of tokens of both texts together that are used.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.inner.max_tokens
    }

    /// The most tokens that the model can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.inner.model.positions()
    }

    /// The score of two texts.
    ///
    /// # Errors
    ///
    /// If memory is refused, or the model's file has been changed under it.
    pub fn score(&self, query: &str, text: &str) -> Result<Score> {
        let score = || {
            let pair = self.encode(query, text)?;
            Ok(self.score_batch(std::slice::from_ref(&pair))?.swap_remove(0))
        };
        score().map_err(|error| self.inner.source.failure(error))
    }

    /// The scores of several pairs, in their order, on all threads. A reranker that is a causal model
    /// reads its prompt and the first text once for several pairs in a row that have the same first
    /// text.
    ///
    /// # Errors
    ///
    /// As [`score`](Self::score).
    pub fn score_pairs<Q, T>(&self, pairs: &[(Q, T)]) -> Result<Vec<Score>>
    where
        Q: AsRef<str> + Sync,
        T: AsRef<str> + Sync,
    {
        self.score_pairs_watched(pairs, &Silent)
    }

    /// The same; `observer` receives the number of finished pairs, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`score`](Self::score), and [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn score_pairs_watched<Q, T>(
        &self,
        pairs: &[(Q, T)],
        observer: &dyn Observer,
    ) -> Result<Vec<Score>>
    where
        Q: AsRef<str> + Sync,
        T: AsRef<str> + Sync,
    {
        let progress = Progress::texts(observer, "comparing", Some(pairs.len() as u64));
        let failure = |error| self.inner.source.failure(error);
        let encode = |(query, text): &(Q, T)| match observer.is_cancelled() {
            true => Err(Error::cancelled()),
            false => self.encode(query.as_ref(), text.as_ref()).map_err(failure),
        };
        let score = |batch: &[TokenizedPair]| {
            if observer.is_cancelled() {
                return Err(Error::cancelled());
            }
            let scores = self.score_batch(batch).map_err(failure)?;
            observer.advance(batch.len() as u64);
            Ok(scores)
        };
        let mut scores = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(PAIRS_AT_ONCE) {
            let tokens: Vec<TokenizedPair> = pairs.par_iter().map(encode).collect::<Result<_>>()?;
            let each = tokens.len().div_ceil(rayon::current_num_threads());
            let batches = batches(&tokens, each);
            let batches = batches.into_par_iter().with_max_len(1).map(score);
            scores.extend(batches.collect::<Result<Vec<_>>>()?.into_iter().flatten());
        }
        drop(progress);
        Ok(scores)
    }

    /// Texts by how well they answer `query`, the best first; among equals the first.
    ///
    /// # Errors
    ///
    /// As [`score`](Self::score), and [`Kind::Usage`](crate::Kind::Usage) for a model with several
    /// labels.
    pub fn rerank<T: AsRef<str> + Sync>(&self, query: &str, texts: &[T]) -> Result<Vec<Ranked>> {
        self.rerank_watched(query, texts, &Silent)
    }

    /// The same; `observer` receives the number of finished texts, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`rerank`](Self::rerank), and [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn rerank_watched<T: AsRef<str> + Sync>(
        &self,
        query: &str,
        texts: &[T],
        observer: &dyn Observer,
    ) -> Result<Vec<Ranked>> {
        if self.labels().len() != 1 {
            return Err(Error::usage(format!(
                "the model has {} labels and ranks nothing",
                self.labels().len()
            )));
        }
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (query, text.as_ref())).collect();
        let scores = self.score_pairs_watched(&pairs, observer)?;
        let mut order: Vec<(usize, &Score)> = scores.iter().enumerate().collect();
        // By logits, which tell apart what scores round to 1. Stable: equals stay in their order.
        order.sort_by(|a, b| b.1.logit().total_cmp(&a.1.logit()));
        let ranked = |(index, score): (usize, &Score)| Ranked { index, score: score.score() };
        Ok(order.into_iter().map(ranked).collect())
    }

    fn encode(&self, query: &str, text: &str) -> Result<TokenizedPair, CoreError> {
        let Inner { model, max_tokens, scratch, .. } = &*self.inner;
        scratch.lend(|session| match &self.instruction {
            Some(it) => model.encode_instructed(it, (query, text), *max_tokens, session),
            None => model.encode_pair(query, text, *max_tokens, session),
        })
    }

    /// The scores of pairs that share their first tokens, in their order.
    fn score_batch(&self, pairs: &[TokenizedPair]) -> Result<Vec<Score>, CoreError> {
        let Inner { model, max_tokens, classes, sessions, .. } = &*self.inner;
        let labels = classes.labels().len();
        let mut logits = vec![0.0; pairs.len() * labels];
        let session = |tokens| model.session_for(Plan { jobs: 1, ..model.plan(tokens) });
        let mut run = |room: &mut Session| model.classify(room, &InOrder, pairs, &mut logits);
        let pooled = if model.shares_first_tokens() { POOLED_TOKENS } else { *max_tokens };
        match pairs.iter().map(|pair| pair.ids.len()).max() {
            Some(longest) if longest > pooled => run(&mut session(longest)?)?,
            _ => sessions.borrow(|| session(pooled), run)?,
        }
        let scores = pairs.iter().zip(logits.chunks_exact(labels.max(1))).map(|(pair, logits)| {
            let mut scores = logits.to_vec();
            classes.score(&mut scores);
            let TokenizedPair { truncated, ref ids, .. } = *pair;
            Score { logits: logits.to_vec(), scores, tokens: ids.len(), truncated }
        });
        Ok(scores.collect())
    }
}

impl fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrossEncoder")
            .field("model", &self.inner.source.name())
            .finish_non_exhaustive()
    }
}
