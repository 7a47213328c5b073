//! k-means by Lloyd's rounds, from centroids that are some of the points.

use nanoembed_core::{Error, limit};

use super::Numbers;

/// Points are taken together so that a block of centroids stays in registers.
const LANES: usize = 8;

/// The number of points that are kept for centroids that lose all theirs: those that are farthest
/// from their own.
const FARTHEST: usize = 64;

/// Centroids of `cols` numbers each, kept column by column so that one number meets many centroids
/// at once.
#[derive(Clone, Debug)]
pub struct Centroids {
    count: usize,
    cols: usize,
    /// `[cols, padded count]`; what pads is never the nearest.
    columns: Vec<f32>,
    /// Half the squared length of each.
    halves: Vec<f32>,
}

impl Centroids {
    /// Centroids, one after the other.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn new(rows: &[f32], cols: usize) -> Result<Self, Error> {
        let count = rows.len() / cols.max(1);
        let padded = count.next_multiple_of(LANES);
        let mut columns = limit::filled(padded * cols, 0.0)?;
        let mut halves = limit::filled(padded, f32::INFINITY)?;
        for (centroid, row) in rows.chunks_exact(cols.max(1)).enumerate() {
            for (col, &value) in row.iter().enumerate() {
                columns[col * padded + centroid] = value;
            }
            halves[centroid] = row.iter().map(|value| value * value).sum::<f32>() / 2.0;
        }
        Ok(Self { count, cols, columns, halves })
    }

    /// The numbers of the centroids, one after the other.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = f32> {
        (0..self.count * self.cols).map(|at| self.value(at / self.cols, at % self.cols))
    }

    /// Memory for [`nearest`](Self::nearest).
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn scores(&self) -> Result<Vec<f32>, Error> {
        limit::filled(self.halves.len(), 0.0)
    }

    /// One number of one centroid.
    pub fn value(&self, centroid: usize, col: usize) -> f32 {
        self.columns[col * self.halves.len() + centroid]
    }

    /// The number of the nearest centroid and its squared distance; the first of several. `scores`
    /// have a number for each centroid and for what pads them.
    pub fn nearest(&self, point: &[f32], scores: &mut [f32]) -> (usize, f32) {
        // |x − c|² = |x|² + 2 (|c|²/2 − x·c): the last is what is compared.
        scores.copy_from_slice(&self.halves);
        for (value, column) in point.iter().zip(self.columns.chunks_exact(self.halves.len().max(1)))
        {
            for (score, centroid) in scores.iter_mut().zip(column) {
                *score -= value * centroid;
            }
        }
        let mut best = (0, f32::INFINITY);
        for (centroid, &score) in scores.iter().enumerate() {
            if score < best.1 {
                best = (centroid, score);
            }
        }
        let length: f32 = point.iter().map(|value| value * value).sum();
        (best.0, (length + 2.0 * best.1).max(0.0))
    }
}

/// The parameters of k-means.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pub centroids: usize,
    pub rounds: usize,
    pub seed: u64,
}

/// Centroids of the points, which follow each other, and the mean squared distance to the nearest.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn train(points: &[f32], cols: usize, rounds: Rounds) -> Result<(Centroids, f64), Error> {
    let count = points.len() / cols.max(1);
    let point = |at: usize| &points[at * cols..(at + 1) * cols];
    let mut numbers = Numbers::new(rounds.seed);
    let mut rows: Vec<f32> = limit::reserved(rounds.centroids * cols)?;
    numbers.sample(count, rounds.centroids)?.into_iter().for_each(|at| rows.extend(point(at)));
    // Fewer points than centroids: some stand there twice, and only the first of them is ever the
    // nearest.
    while rows.len() < rounds.centroids * cols && count > 0 {
        rows.extend(point(numbers.below(count)));
    }
    rows.resize(rounds.centroids * cols, 0.0);
    improve(points, Centroids::new(&rows, cols)?, rounds.rounds)
}

/// The centroids after some more rounds.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn improve(
    points: &[f32],
    mut centroids: Centroids,
    rounds: usize,
) -> Result<(Centroids, f64), Error> {
    let cols = centroids.cols;
    let count = points.len() / cols.max(1);
    let mut scores = centroids.scores()?;
    let mut sums = limit::filled(centroids.count * cols, 0.0_f64)?;
    let mut members = limit::filled(centroids.count, 0_u32)?;
    let mut rows = limit::filled(centroids.count * cols, 0.0_f32)?;
    // One more than are kept.
    let mut farthest: Vec<(f32, usize)> = limit::reserved(FARTHEST + 1)?;
    let mut before = f64::INFINITY;
    for _ in 0..rounds {
        sums.fill(0.0);
        members.fill(0);
        farthest.clear();
        let mut error = 0.0;
        for (at, point) in points.chunks_exact(cols.max(1)).enumerate() {
            let (nearest, distance) = centroids.nearest(point, &mut scores);
            error += f64::from(distance);
            members[nearest] += 1;
            let sum = &mut sums[nearest * cols..(nearest + 1) * cols];
            sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += f64::from(*value));
            if farthest.len() < FARTHEST || distance > farthest[farthest.len() - 1].0 {
                let place = farthest.partition_point(|(other, _)| *other >= distance);
                farthest.insert(place, (distance, at));
                farthest.truncate(FARTHEST);
            }
        }
        let mut farthest = farthest.iter().filter(|(distance, _)| *distance > 0.0);
        rows.iter_mut().zip(centroids.numbers()).for_each(|(to, number)| *to = number);
        for (centroid, row) in rows.chunks_exact_mut(cols.max(1)).enumerate() {
            if members[centroid] == 0 {
                if let Some(&(_, at)) = farthest.next() {
                    row.copy_from_slice(&points[at * cols..(at + 1) * cols]);
                }
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "a mean of f32 numbers")]
            for (to, sum) in row.iter_mut().zip(&sums[centroid * cols..]) {
                *to = (sum / f64::from(members[centroid])) as f32;
            }
        }
        centroids = Centroids::new(&rows, cols)?;
        #[expect(clippy::cast_precision_loss, reason = "a count of points in memory")]
        let error = error / count.max(1) as f64;
        if error >= before * (1.0 - 1e-4) {
            return Ok((centroids, error));
        }
        before = error;
    }
    Ok((centroids, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_centroid_is_that_of_all_distances() {
        let mut numbers = Numbers::new(5);
        let mut number = || f32::from(u8::try_from(numbers.below(200)).unwrap()) / 10.0;
        let rows: Vec<f32> = (0..3 * 13).map(|_| number()).collect();
        let centroids = Centroids::new(&rows, 3).unwrap();
        assert!(centroids.numbers().eq(rows.iter().copied()));
        let mut scores = centroids.scores().unwrap();
        for _ in 0..100 {
            let point = [number(), number(), number()];
            let distance = |row: &[f32]| -> f64 {
                row.iter().zip(point).map(|(a, b)| f64::from(a - b).powi(2)).sum()
            };
            let expected = rows.chunks(3).map(distance).fold(f64::INFINITY, f64::min);
            let (nearest, found) = centroids.nearest(&point, &mut scores);
            assert!((distance(&rows[3 * nearest..3 * nearest + 3]) - expected).abs() < 1e-9);
            assert!((f64::from(found) - expected).abs() < 1e-3);
        }
    }

    #[test]
    fn clusters_that_are_far_apart_are_found() {
        let mut numbers = Numbers::new(1);
        let mut points = Vec::new();
        for at in 0..400_u16 {
            let center = f32::from(at % 4) * 100.0;
            points.extend([center + numbers.below(100) as f32 / 100.0, -center]);
        }
        for seed in 0..10 {
            let rounds = Rounds { centroids: 4, rounds: 50, seed };
            let (centroids, error) = train(&points, 2, rounds).unwrap();
            let mut found: Vec<f32> = centroids.numbers().skip(1).step_by(2).collect();
            found.sort_by(f32::total_cmp);
            // Lloyd's rounds may stop in a worse place; most of the seeds lead to the best.
            if error < 1.0 {
                assert_eq!(found, [-300.0, -200.0, -100.0, 0.0]);
                return;
            }
        }
        panic!("no seed finds the clusters");
    }

    #[test]
    fn fewer_points_than_centroids_are_all_found() {
        let points = [1.0, 2.0, 3.0];
        let rounds = Rounds { centroids: 16, rounds: 5, seed: 0 };
        let (_, error) = train(&points, 1, rounds).unwrap();
        assert_eq!(error, 0.0);
    }
}
