//! A product quantiser for the rows of a `.fifu` file.

use rayon::prelude::*;

use super::Numbers;
use super::kmeans::{self, Centroids, Rounds};
use super::rotation::{self, Rotation};
use crate::choice::choices;

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

/// Centroids and what comes before them.
#[derive(Debug)]
pub struct Quantizer {
    spec: Spec,
    pub rotation: Option<Rotation>,
    parts: Vec<Centroids>,
}

impl Quantizer {
    /// Fits a quantiser to vectors that follow each other. Parts are fitted by several threads; the
    /// result depends on the seed only.
    pub fn train(vectors: &[f32], spec: Spec) -> Self {
        let rotation = match spec.rotation {
            RotationKind::None => None,
            _ => Some(rotation::principal(vectors, spec.cols, spec.parts)),
        };
        let mut quantizer = Self { spec, rotation, parts: Vec::new() };
        let turned = quantizer.turned(vectors);
        quantizer.parts = (0..spec.parts)
            .into_par_iter()
            .map(|part| {
                let seed = Numbers::new(spec.seed).below(usize::MAX) as u64 ^ part as u64;
                let rounds = Rounds { centroids: spec.centroids, rounds: spec.rounds, seed };
                kmeans::train(&column(&turned, spec, part), spec.cols / spec.parts, rounds).0
            })
            .collect();
        if spec.rotation == RotationKind::Opq {
            for _ in 0..ROTATIONS {
                quantizer.turn_on(vectors);
            }
        }
        quantizer
    }

    /// One more step of OPQ: the rotation that suits the centroids, then the centroids that suit
    /// the rotation.
    fn turn_on(&mut self, vectors: &[f32]) {
        let spec = self.spec;
        let targets: Vec<f32> = vectors
            .par_chunks_exact(spec.cols)
            .flat_map_iter(|vector| {
                let mut codes = vec![0; spec.parts];
                self.encode(vector, &mut codes);
                self.centroids_of(&codes)
            })
            .collect();
        self.rotation = Some(rotation::towards(vectors, &targets, spec.cols));
        let turned = self.turned(vectors);
        self.parts = std::mem::take(&mut self.parts)
            .into_par_iter()
            .enumerate()
            .map(|(part, centroids)| kmeans::improve(&column(&turned, spec, part), centroids, 3).0)
            .collect();
    }

    fn turned(&self, vectors: &[f32]) -> Vec<f32> {
        let Some(rotation) = &self.rotation else { return vectors.to_vec() };
        let mut turned = vec![0.0; vectors.len()];
        let cols = self.spec.cols;
        turned
            .par_chunks_exact_mut(cols)
            .zip(vectors.par_chunks_exact(cols))
            .for_each(|(to, from)| rotation.apply(from, to));
        turned
    }

    /// The codes of a vector.
    pub fn encode(&self, vector: &[f32], codes: &mut [u8]) {
        let mut turned = vec![0.0; vector.len()];
        match &self.rotation {
            Some(rotation) => rotation.apply(vector, &mut turned),
            None => turned.copy_from_slice(vector),
        }
        let part_cols = self.spec.cols / self.spec.parts;
        let mut scores = Vec::new();
        let parts = self.parts.iter().zip(turned.chunks_exact(part_cols));
        for (code, (centroids, part)) in codes.iter_mut().zip(parts) {
            // There are at most 256.
            *code = u8::try_from(centroids.nearest(part, &mut scores).0).unwrap_or(0);
        }
    }

    /// The centroids of the codes, one after the other, before they are rotated back.
    fn centroids_of(&self, codes: &[u8]) -> Vec<f32> {
        let part_cols = self.spec.cols / self.spec.parts;
        let mut row = Vec::with_capacity(self.spec.cols);
        for (centroids, &code) in self.parts.iter().zip(codes) {
            row.extend((0..part_cols).map(|col| centroids.value(code.into(), col)));
        }
        row
    }

    /// The squared length of what codes lose of a vector. A rotation keeps lengths, so it need not
    /// be turned back.
    pub fn squared_error(&self, vector: &[f32], codes: &[u8]) -> f64 {
        let mut turned = vec![0.0; vector.len()];
        match &self.rotation {
            Some(rotation) => rotation.apply(vector, &mut turned),
            None => turned.copy_from_slice(vector),
        }
        let differences = turned.iter().zip(self.centroids_of(codes));
        differences.map(|(x, y)| f64::from(x - y).powi(2)).sum()
    }

    /// All centroids, part after part.
    pub fn subquantizers(&self) -> Vec<f32> {
        self.parts.iter().flat_map(Centroids::rows).collect()
    }
}

/// A part of all vectors.
fn column(vectors: &[f32], spec: Spec, part: usize) -> Vec<f32> {
    let cols = spec.cols / spec.parts;
    let parts = vectors.chunks_exact(spec.cols);
    parts.flat_map(|vector| vector[part * cols..(part + 1) * cols].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_error(vectors: &[f32], spec: Spec) -> f64 {
        let quantizer = Quantizer::train(vectors, spec);
        let mut codes = vec![0; spec.parts];
        let error = |vector: &[f32]| {
            quantizer.encode(vector, &mut codes);
            quantizer.squared_error(vector, &codes)
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
