//! Passages by the similarity of their vectors with a query's.

use nanoembed::precision::to_int8;
use nanoembed::scan::{MOST_QUERY, dot_rows};
use nanoembed::{Encoder, Error, Length, Observer, Progress, Result, Role, Similarity, VectorKind};
use nanoembed_ranking::{BestPart, Passages as _};
use rayon::prelude::*;

use crate::inverted::InvertedIndex;
use crate::live::Live;
use crate::passage::Measure;
use crate::segment::{Row, Vector};

/// Texts whose sparse vectors are in memory at a time.
const AT_ONCE: usize = 512;

/// The number of passages that a thread compares at a time.
const A_THREAD: usize = 512;

/// The similarities of all passages with a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meaning {
    /// The similarities of the parts of each passage.
    pub(crate) passages: Vec<BestPart>,
    /// True if the query has more tokens than the model takes.
    pub(crate) query_truncated: bool,
}

/// Embeds a query, and compares it with all passages.
pub(crate) fn compare(
    encoder: &Encoder,
    kind: VectorKind,
    query: &str,
    live: &Live,
    observer: &dyn Observer,
) -> Result<Meaning> {
    match kind {
        VectorKind::Dense => dense(encoder, query, live),
        VectorKind::Sparse => sparse(encoder, query, live, observer),
        _ => Err(Error::argument("vectors", "is dense or sparse in a search")
            .with_hint("`--late MODEL` compares the vectors of tokens")),
    }
}

fn dense(encoder: &Encoder, query: &str, live: &Live) -> Result<Meaning> {
    let (vectors, lengths) = encoder.embed_all_as(Role::Query, &[query])?;
    let query = Direction::new(vectors.as_slice(), encoder.similarity());
    let passages: Vec<usize> = (0..live.end()).collect();
    let of = |passage: &usize| {
        let Some(place) = live.place(*passage) else { return BestPart::default() };
        let parts = place.segment.parts_of(place.passage);
        parts.map(|part| query.similarity(&place.segment.row(part))).collect()
    };
    let passages = passages.par_iter().with_min_len(A_THREAD).map(of).collect();
    Ok(Meaning { passages, query_truncated: truncated(&lengths) })
}

fn sparse(encoder: &Encoder, query: &str, live: &Live, observer: &dyn Observer) -> Result<Meaning> {
    let (query, lengths) = encoder.embed_sparse_all_as(Role::Query, &[query])?;
    let (mut texts, mut of) = (Vec::new(), Vec::new());
    for place in (0..live.end()).filter_map(|at| Some((at, live.place(at)?))) {
        let (at, place) = place;
        let passage = place.segment.passage(place.passage);
        for (number, part) in (0..).zip(passage.parts.clone()) {
            texts.push(passage.read_of(&place.segment.part(part)));
            of.push((at, number));
        }
    }
    let mut index = InvertedIndex::default();
    let progress = Progress::texts(observer, "embedding", Some(texts.len() as u64));
    for texts in texts.chunks(AT_ONCE) {
        let (vectors, _) = encoder.embed_sparse_watched(Role::Document, texts, &progress.part())?;
        vectors.iter().for_each(|vector| index.add(vector.iter()));
    }
    drop(progress);
    let scores = query.first().map(|query| index.scores(query.iter())).unwrap_or_default();
    let mut passages = vec![BestPart::default(); live.end()];
    for ((passage, part), score) in of.into_iter().zip(scores) {
        if let Some(own) = passages.get_mut(passage) {
            own.add(part, score);
        }
    }
    Ok(Meaning { passages, query_truncated: truncated(&lengths) })
}

fn truncated(lengths: &[Length]) -> bool {
    lengths.iter().any(|length| length.truncated)
}

/// A vector in bytes.
pub(crate) fn in_bytes(vector: &[f32]) -> Vector {
    let mut codes = vec![0; vector.len()];
    let scale = to_int8(vector, &mut codes);
    let codes = codes.into_iter().map(i8::cast_unsigned).collect();
    Vector { codes, scale, length: length(vector) }
}

fn length(vector: &[f32]) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "vectors have this precision, too")]
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32;
    length
}

/// The vector of a query in 16-bit codes.
struct Direction<'q> {
    vector: &'q [f32],
    codes: Vec<i16>,
    scale: f32,
    length: f32,
    measure: Similarity,
}

impl<'q> Direction<'q> {
    fn new(vector: &'q [f32], measure: Similarity) -> Self {
        let largest = vector.iter().fold(0.0_f64, |most, x| most.max(f64::from(*x).abs()));
        let sum: f64 = vector.iter().map(|x| f64::from(*x).abs()).sum();
        // Rounding adds at most half to each.
        #[expect(clippy::cast_precision_loss, reason = "a length")]
        let most = f64::from(MOST_QUERY) - vector.len() as f64;
        let factor = (f64::from(i16::MAX) / largest).min(most / sum);
        let factor = if factor.is_finite() { factor } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "within ±32767")]
        let codes = vector.iter().map(|x| (f64::from(*x) * factor).round() as i16).collect();
        #[expect(clippy::cast_possible_truncation, reason = "a scale")]
        let scale = if factor > 0.0 { (1.0 / factor) as f32 } else { f32::NAN };
        Self { vector, codes, scale, length: length(vector), measure }
    }

    /// As [`nanoembed::similarity`] has it.
    fn similarity(&self, row: &Row<'_>) -> f32 {
        if row.codes.len() != self.codes.len() || !row.scale.is_finite() {
            return f32::NAN;
        }
        if self.length == 0.0 {
            return self.of_dot(0.0, row);
        }
        self.of_dot(self.dot(row), row)
    }

    fn dot(&self, row: &Row<'_>) -> f32 {
        let mut sum = 0_i64;
        let mut codes = [0; 512];
        for (query, row) in self.codes.chunks(codes.len()).zip(row.codes.chunks(codes.len())) {
            let mut dot = [0];
            let Some(codes) = codes.get_mut(..row.len()) else { continue };
            codes.iter_mut().zip(row).for_each(|(code, byte)| *code = byte.cast_signed());
            dot_rows(query, codes, &mut dot);
            sum += i64::from(dot[0]);
        }
        #[expect(clippy::cast_precision_loss, reason = "a product")]
        let dot = sum as f32 * self.scale * row.scale;
        dot
    }

    fn of_dot(&self, dot: f32, row: &Row<'_>) -> f32 {
        match self.measure {
            Similarity::Dot | Similarity::MaxSim => dot,
            Similarity::Euclidean => {
                let squares = self.length.mul_add(self.length, row.length * row.length);
                -(2.0_f32.mul_add(-dot, squares)).max(0.0).sqrt()
            }
            Similarity::Manhattan => {
                let values = row.codes.iter().map(|code| f32::from(code.cast_signed()) * row.scale);
                -self.vector.iter().zip(values).map(|(a, b)| (a - b).abs()).sum::<f32>()
            }
            _ if self.length == 0.0 || row.length == 0.0 => 0.0,
            _ => (dot / (self.length * row.length)).clamp(-1.0, 1.0),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_of_bytes_are_those_of_floats_but_for_rounding() {
        let wave = |step: f32| (0..700).map(|at| (at as f32 * step).sin()).collect::<Vec<f32>>();
        let (a, b) = (wave(0.3), wave(0.31));
        for measure in
            [Similarity::Cosine, Similarity::Dot, Similarity::Euclidean, Similarity::Manhattan]
        {
            let Vector { codes, scale, length } = in_bytes(&b);
            let row = Row { codes: &codes, scale, length };
            let found = Direction::new(&a, measure).similarity(&row);
            let expected = nanoembed::similarity(measure, &a, &b);
            let bound = expected.abs() * 0.01 + 0.01;
            assert!((found - expected).abs() < bound, "{measure:?}: {found} {expected}");
        }
    }

    #[test]
    fn what_is_no_vector_is_similar_to_nothing() {
        let Vector { codes, scale, length } = in_bytes(&[f32::NAN, 1.0]);
        let row = Row { codes: &codes, scale, length };
        let query = [1.0, 0.0];
        assert!(Direction::new(&query, Similarity::Cosine).similarity(&row).is_nan());
        let none = Row { codes: &[], scale: 1.0, length: 1.0 };
        assert!(Direction::new(&query, Similarity::Cosine).similarity(&none).is_nan());
        let zero = in_bytes(&[0.0, 0.0]);
        let row = Row { codes: &zero.codes, scale: zero.scale, length: zero.length };
        assert_eq!(Direction::new(&query, Similarity::Cosine).similarity(&row), 0.0);
        assert_eq!(Direction::new(&[0.0, 0.0], Similarity::Cosine).similarity(&row), 0.0);
    }
}
