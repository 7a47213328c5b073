//! Models that say how well texts answer a question: cross-encoders, which read both together, and
//! models for late interaction, which read each alone.

use std::path::Path;
use std::sync::Arc;

use nanoembed_core::owned::folder::FolderModel;

use crate::cross_encoder::{CrossEncoder, CrossEncoderOptions, Ranked, Score};
use crate::encoder::{Encoder, Length, VectorKind, Vectors};
use crate::error::{Error, Result};
use crate::files::literal;
use crate::folder::prompts::Prefix;
use crate::model::Model;
use crate::open::loaded_model::LoadedModel;
use crate::open::source::Source;
use crate::progress::{Observer, Silent};
use crate::role::Role;

/// A model that says how well texts answer a question.
///
/// ```no_run
/// use nanoembed::Reranker;
///
/// let model = Reranker::open("answerai-colbert-small-v1/")?;
/// let texts = ["On a mat.", "It is in Germany.", "By train."];
/// for hit in model.rerank("Where is Berlin?", &texts)? {
///     println!("{:.3}  {}", hit.score, texts[hit.index]);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reranker {
    /// One that reads question and text together.
    CrossEncoder(CrossEncoder),
    /// One that makes a vector for each token of both; the score is their
    /// [MaxSim](Vectors::max_sim).
    Late(Encoder),
}

/// The only label of a model for late interaction.
static LATE_LABEL: [String; 1] = [String::new()];

impl Reranker {
    /// Opens a model: a folder as on Hugging Face, or a `.weights` or `.amb` file made of one.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid, cannot be read, or compares nothing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_source(Source::open(&literal(path.as_ref()))?, &CrossEncoderOptions::default())
    }

    #[doc(hidden)]
    pub fn open_source(source: Source, options: &CrossEncoderOptions) -> Result<Self> {
        let source = Arc::new(source);
        let opened = &LoadedModel::within(&source, &options.limits)?;
        let is_late = |model: &FolderModel| model.late_tokens.is_some();
        if !opened.described().is_some_and(|described| is_late(described.model())) {
            return CrossEncoder::from_opened(opened, options).map(Self::CrossEncoder);
        }
        let embedding = Encoder::options().max_tokens(options.max_tokens).limits(options.limits);
        let model = Encoder::from_opened(opened, &embedding).map(Self::Late)?;
        model.with_prompt(&options.prompt)
    }

    /// The same model with another instruction: see [`CrossEncoderOptions::prompt`].
    ///
    /// # Errors
    ///
    /// As [`CrossEncoder::with_prompt`]; [`Kind::Usage`](crate::Kind::Usage) for a model for late
    /// interaction.
    pub fn with_prompt(&self, prompt: &Prefix) -> Result<Self> {
        match self {
            Self::CrossEncoder(model) => model.with_prompt(prompt).map(Self::CrossEncoder),
            Self::Late(_) if *prompt != Prefix::Usual => {
                let message = "is for models that read a question and a text together";
                Err(Error::argument("prompt", message))
            }
            Self::Late(_) => Ok(self.clone()),
        }
    }

    /// A warning for each unknown setting that was passed over.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::CrossEncoder(model) => model.warnings(),
            Self::Late(model) => model.warnings(),
        }
    }

    /// The names of the labels; models that rank have one.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        match self {
            Self::CrossEncoder(model) => model.labels(),
            Self::Late(_) => &LATE_LABEL,
        }
    }

    /// The number of tokens that are used of a text, or of both texts together by a cross-encoder.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        match self {
            Self::CrossEncoder(model) => model.max_tokens(),
            Self::Late(model) => model.max_tokens().min(self.positions()),
        }
    }

    /// The most tokens that the model can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        match self {
            Self::CrossEncoder(model) => model.positions(),
            Self::Late(model) => model.multi_positions(Role::Document),
        }
    }

    /// The scores of pairs of a question and a text, in their order, on all threads. A question that
    /// several pairs in a row have is read once by a model for late interaction.
    ///
    /// # Errors
    ///
    /// As [`CrossEncoder::score`] and [`Encoder::embed`].
    pub fn score_pairs<Q, T>(&self, pairs: &[(Q, T)]) -> Result<Vec<Score>>
    where
        Q: AsRef<str> + Sync,
        T: AsRef<str> + Sync,
    {
        self.score_pairs_watched(pairs, &Silent)
    }

    /// The same; `observer` receives the number of finished texts, and may cancel the rest.
    ///
    /// # Errors
    ///
    /// As [`score_pairs`](Self::score_pairs), and [`Kind::Cancelled`](crate::Kind::Cancelled).
    pub fn score_pairs_watched<Q, T>(
        &self,
        pairs: &[(Q, T)],
        observer: &dyn Observer,
    ) -> Result<Vec<Score>>
    where
        Q: AsRef<str> + Sync,
        T: AsRef<str> + Sync,
    {
        let model = match self {
            Self::CrossEncoder(model) => return model.score_pairs_watched(pairs, observer),
            Self::Late(model) => model,
        };
        let texts: Vec<&str> = pairs.iter().map(|(_, text)| text.as_ref()).collect();
        let mut queries: Vec<&str> = pairs.iter().map(|(query, _)| query.as_ref()).collect();
        queries.dedup();
        let (vectors, query_lengths) =
            model.embed_multi_watched(Role::Query, &queries, &Uncounted(observer))?;
        let (documents, lengths) = model.embed_multi_watched(Role::Document, &texts, observer)?;
        let mut questions = queries.iter().zip(vectors.iter().zip(query_lengths));
        let mut current = questions.next();
        let mut scores = Vec::with_capacity(pairs.len());
        for ((query, _), (document, length)) in pairs.iter().zip(documents.iter().zip(lengths)) {
            while current.is_some_and(|(question, _)| *question != query.as_ref()) {
                current = questions.next();
            }
            let Some((_, (question, own))) = current else { break };
            scores.push(late_score(question, own, document, length));
        }
        Ok(scores)
    }

    /// Texts by how well they answer `query`, the best first; among equals the first.
    ///
    /// # Errors
    ///
    /// As [`CrossEncoder::rerank`] and [`score_pairs`](Self::score_pairs).
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
        if let Self::CrossEncoder(model) = self {
            return model.rerank_watched(query, texts, observer);
        }
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (query, text.as_ref())).collect();
        let scores = self.score_pairs_watched(&pairs, observer)?.into_iter().enumerate();
        let mut ranked: Vec<Ranked> =
            scores.map(|(index, score)| Ranked { index, score: score.score() }).collect();
        // Stable: equals stay in their order.
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(ranked)
    }
}

impl Model {
    /// The model as one that says how well texts answer a question: a cross-encoder, or an encoder
    /// that makes a vector for each token. `None` if it is neither.
    #[must_use]
    pub fn reranker(&self) -> Option<Reranker> {
        match self {
            Self::CrossEncoder(model) => Some(Reranker::CrossEncoder(model.clone())),
            Self::Encoder(model) if model.makes(VectorKind::Multi) => {
                Some(Reranker::Late(model.clone()))
            }
            _ => None,
        }
    }
}

/// An observer of a part of a job whose progress is not counted, which it may cancel.
struct Uncounted<'o>(&'o dyn Observer);

impl Observer for Uncounted<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The score of a document for a question.
fn late_score(question: &Vectors, own: Length, document: &Vectors, length: Length) -> Score {
    let score = question.max_sim(document);
    Score {
        logits: vec![score],
        scores: vec![score],
        tokens: own.tokens + length.tokens,
        truncated: own.truncated || length.truncated,
    }
}
