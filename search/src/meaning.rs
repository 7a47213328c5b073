//! Passages by the meaning that a model sees in them.

use nanoembed::{Encoder, Error, Length, Observer, Result, Role, VectorKind, similarity};

use crate::inverted::InvertedIndex;
use crate::passage::Measure;

/// Texts whose sparse vectors are in memory at a time.
const AT_ONCE: usize = 512;

/// The similarities of all passages with each of some queries.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Meaning {
    /// A list for each query, in the order of the passages.
    pub similarities: Vec<Vec<f32>>,
    /// True if a query has more tokens than the model takes.
    pub query_truncated: bool,
    /// The number of passages that have.
    pub truncated: usize,
    /// The tokens of all passages.
    pub tokens: u64,
}

/// Embeds queries and passages, and compares each with each. Vectors of passages are not kept.
///
/// # Errors
///
/// As [`Encoder::embed_into`]; if the model makes no vectors of this kind.
pub fn compare<T: AsRef<str> + Sync>(
    encoder: &Encoder,
    kind: VectorKind,
    queries: &[&str],
    passages: &[T],
    observer: &dyn Observer,
) -> Result<Meaning> {
    match kind {
        VectorKind::Dense => dense(encoder, queries, passages, observer),
        VectorKind::Sparse => sparse(encoder, queries, passages),
        _ => Err(Error::argument("vectors", "is dense or sparse in a search")
            .with_hint("`--late MODEL` compares the vectors of tokens")),
    }
}

fn dense<T: AsRef<str> + Sync>(
    encoder: &Encoder,
    queries: &[&str],
    passages: &[T],
    observer: &dyn Observer,
) -> Result<Meaning> {
    let (vectors, lengths) = encoder.embed_all_as(Role::Query, queries)?;
    let measure = encoder.similarity();
    let mut meaning = Meaning::new(queries.len(), &lengths);
    encoder.embed_parts(Role::Document, passages, observer, |values, lengths| {
        meaning.count(lengths);
        for (query, found) in vectors.rows().zip(&mut meaning.similarities) {
            let rows = values.chunks_exact(vectors.dimensions());
            found.extend(rows.map(|row| similarity(measure, query, row)));
        }
        Ok(())
    })?;
    Ok(meaning)
}

fn sparse<T: AsRef<str> + Sync>(
    encoder: &Encoder,
    queries: &[&str],
    passages: &[T],
) -> Result<Meaning> {
    let (vectors, lengths) = encoder.embed_sparse_all_as(Role::Query, queries)?;
    let mut meaning = Meaning::new(queries.len(), &lengths);
    let mut index = InvertedIndex::default();
    for passages in passages.chunks(AT_ONCE) {
        let (vectors, lengths) = encoder.embed_sparse_all_as(Role::Document, passages)?;
        meaning.count(&lengths);
        vectors.iter().for_each(|vector| index.add(vector.iter()));
    }
    let scores = vectors.iter().map(|query| index.scores(query.iter()));
    meaning.similarities = scores.collect();
    Ok(meaning)
}

impl Meaning {
    fn new(queries: usize, lengths: &[Length]) -> Self {
        let query_truncated = truncated(lengths) > 0;
        Self { similarities: vec![Vec::new(); queries], query_truncated, ..Self::default() }
    }

    fn count(&mut self, lengths: &[Length]) {
        self.truncated += truncated(lengths);
        self.tokens += lengths.iter().map(|length| length.tokens as u64).sum::<u64>();
    }
}

fn truncated(lengths: &[Length]) -> usize {
    lengths.iter().filter(|length| length.truncated).count()
}

/// Texts in tokens of a model, after its prompt for documents.
impl Measure for Encoder {
    fn limit(&self) -> usize {
        self.max_tokens()
    }

    fn tokens(&self, text: &str) -> Option<usize> {
        let tokens = self.tokenize_as(Role::Document, text).ok()?;
        (!tokens.truncated).then_some(tokens.ids.len())
    }
}
