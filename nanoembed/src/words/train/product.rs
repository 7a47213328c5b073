//! A product quantiser for the rows of a `.fifu` file.

use nanoembed_core::{Error, limit};

use super::Numbers;
use super::kmeans::{self, Centroids, Rounds};
use super::rotation::{self, Rotation};
use crate::choice::choices;
use crate::parallel;

choices! {
    /// The rotation of vectors before they are cut.
    #[non_exhaustive]
    pub enum RotationKind {
        /// Not at all
        None = "none",
        /// To their main axes, dealt evenly to the parts
        Pca = "pca",
        /// From there on to where the quantiser errs least (OPQ)
        Opq = "opq",
    }
    default None
}

/// The parameters of a quantiser.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The length of a vector, a multiple of `parts`.
    pub cols: usize,
    /// The number of parts that vectors are cut into.
    pub parts: usize,
    /// Centroids a part, 1 to 256.
    pub centroids: usize,
    /// Rounds of k-means.
    pub rounds: usize,
    pub rotation: RotationKind,
    pub seed: u64,
}

/// The number of times that the rotation and the centroids are fitted to each other.
const ROTATIONS: usize = 10;
/// Vectors that a thread encodes at once.
const PIECE_ROWS: usize = 64;

/// Centroids and what comes before them.
#[derive(Debug)]
pub struct Quantizer {
    spec: Spec,
    pub rotation: Option<Rotation>,
    parts: Vec<Centroids>,
}

/// Memory in which vectors are encoded.
pub struct Scratch {
    turned: Vec<f32>,
    scores: Vec<f32>,
    codes: Vec<u8>,
}

impl Quantizer {
    /// Fits a quantiser to vectors that follow each other. Parts are fitted by several threads; the
    /// result depends on the seed only.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn train(vectors: &[f32], spec: Spec) -> Result<Self, Error> {
        let rotation = match spec.rotation {
            RotationKind::None => None,
            _ => Some(rotation::principal(vectors, spec.cols, spec.parts)?),
        };
        let mut quantizer = Self { spec, rotation, parts: Vec::new() };
        let turned = quantizer.turned(vectors)?;
        quantizer.parts = parallel::gathered(0..spec.parts, &|part| {
            let seed = Numbers::new(spec.seed).below(usize::MAX) as u64 ^ part as u64;
            let rounds = Rounds { centroids: spec.centroids, rounds: spec.rounds, seed };
            let points = column(&turned, spec, part)?;
            Ok(kmeans::train(&points, spec.cols / spec.parts, rounds)?.0)
        })?;
        if spec.rotation == RotationKind::Opq {
            for _ in 0..ROTATIONS {
                quantizer.turn_on(vectors)?;
            }
        }
        Ok(quantizer)
    }

    /// One more step of OPQ: the rotation that suits the centroids, then the centroids that suit
    /// the rotation.
    fn turn_on(&mut self, vectors: &[f32]) -> Result<(), Error> {
        let spec = self.spec;
        let mut targets = limit::filled(vectors.len(), 0.0)?;
        let piece = spec.cols * PIECE_ROWS;
        let pieces = vectors.chunks(piece).zip(targets.chunks_mut(piece));
        parallel::try_each(pieces, &|(vectors, targets)| {
            let mut scratch = self.scratch()?;
            let targets = targets.chunks_exact_mut(spec.cols);
            for (vector, target) in vectors.chunks_exact(spec.cols).zip(targets) {
                let codes = self.encode(vector, &mut scratch);
                target.iter_mut().zip(self.centroids(codes)).for_each(|(to, x)| *to = x);
            }
            Ok(())
        })?;
        self.rotation = Some(rotation::towards(vectors, &targets, spec.cols)?);
        drop(targets);
        let turned = self.turned(vectors)?;
        let parts = std::mem::take(&mut self.parts).into_iter().enumerate();
        self.parts = parallel::gathered(parts, &|(part, centroids)| {
            Ok(kmeans::improve(&column(&turned, spec, part)?, centroids, 3)?.0)
        })?;
        Ok(())
    }

    fn turned(&self, vectors: &[f32]) -> Result<Vec<f32>, Error> {
        let Some(rotation) = &self.rotation else {
            return limit::exactly(vectors.iter().copied());
        };
        let mut turned = limit::filled(vectors.len(), 0.0)?;
        let cols = self.spec.cols;
        let rows = turned.chunks_exact_mut(cols).zip(vectors.chunks_exact(cols));
        parallel::try_each(rows, &|(to, from)| {
            rotation.apply(from, to);
            Ok(())
        })?;
        Ok(turned)
    }

    /// Memory for [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn scratch(&self) -> Result<Scratch, Error> {
        let scores = self.parts.first().map(Centroids::scores).transpose()?;
        Ok(Scratch {
            turned: limit::filled(self.spec.cols, 0.0)?,
            scores: scores.unwrap_or_default(),
            codes: limit::filled(self.spec.parts, 0)?,
        })
    }

    /// The codes of a vector.
    pub fn encode<'s>(&self, vector: &[f32], scratch: &'s mut Scratch) -> &'s [u8] {
        let Scratch { turned, scores, codes } = scratch;
        match &self.rotation {
            Some(rotation) => rotation.apply(vector, turned),
            None => turned.copy_from_slice(vector),
        }
        let part_cols = self.spec.cols / self.spec.parts;
        let parts = self.parts.iter().zip(turned.chunks_exact(part_cols));
        for (code, (centroids, part)) in codes.iter_mut().zip(parts) {
            // There are at most 256.
            *code = u8::try_from(centroids.nearest(part, scores).0).unwrap_or(0);
        }
        codes
    }

    /// The numbers that codes stand for, before they are rotated back.
    fn centroids(&self, codes: &[u8]) -> impl Iterator<Item = f32> {
        let part_cols = self.spec.cols / self.spec.parts;
        self.parts.iter().zip(codes).flat_map(move |(centroids, &code)| {
            (0..part_cols).map(move |col| centroids.value(code.into(), col))
        })
    }

    /// The squared length of what the codes of the vector that was [encoded](Self::encode) last
    /// lose of it. A rotation keeps lengths, so it need not be turned back.
    pub fn squared_error(&self, scratch: &Scratch) -> f64 {
        let differences = scratch.turned.iter().zip(self.centroids(&scratch.codes));
        differences.map(|(x, y)| f64::from(x - y).powi(2)).sum()
    }

    /// All centroids, part after part.
    pub fn subquantizers(&self) -> impl Iterator<Item = &Centroids> {
        self.parts.iter()
    }
}

/// A part of all vectors.
fn column(vectors: &[f32], spec: Spec, part: usize) -> Result<Vec<f32>, Error> {
    let cols = spec.cols / spec.parts;
    let mut points = limit::reserved(vectors.len() / spec.parts)?;
    for vector in vectors.chunks_exact(spec.cols) {
        points.extend_from_slice(&vector[part * cols..(part + 1) * cols]);
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_error(vectors: &[f32], spec: Spec) -> f64 {
        let quantizer = Quantizer::train(vectors, spec).unwrap();
        let mut scratch = quantizer.scratch().unwrap();
        let error = |vector: &[f32]| {
            quantizer.encode(vector, &mut scratch);
            quantizer.squared_error(&scratch)
        };
        vectors.chunks(spec.cols).map(error).sum::<f64>()
    }

    #[test]
    fn rotations_help_where_columns_go_together() {
        let mut numbers = Numbers::new(2);
        let mut number = || numbers.below(2001) as f32 / 1000.0 - 1.0;
        // Columns 0, 2, 4, 6 are nearly the same, and so are the others.
        let vectors: Vec<f32> = (0..600)
            .flat_map(|_| {
                let two = [number() * 3.0, number()];
                (0..8).map(|col| two[col % 2] + number() * 0.2).collect::<Vec<_>>()
            })
            .collect();
        let spec =
            |rotation| Spec { cols: 8, parts: 4, centroids: 8, rounds: 20, rotation, seed: 1 };
        let [plain, pca, opq] = [RotationKind::None, RotationKind::Pca, RotationKind::Opq]
            .map(|rotation| mean_error(&vectors, spec(rotation)));
        assert!(pca < 0.8 * plain && opq < 0.8 * plain && opq <= pca * 1.02, "{plain} {pca} {opq}");
        assert_eq!(mean_error(&vectors, spec(RotationKind::None)), plain);
    }
}
