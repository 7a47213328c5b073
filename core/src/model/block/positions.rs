//! Rotary positions: the angles of a position, and their application to heads.

use crate::kernel::pieces::{pieces, pieces_mut};
use crate::model::config::rope::{Rope, RopePairs, frequency};

impl Rope {
    /// Writes cosine and sine for each pair of a head, interleaved, for the positions from `first`
    /// on, one for each row of `size` elements in `out`; `divisors` of the frequencies may be
    /// empty.
    pub(in crate::model) fn angles(
        &self,
        first: usize,
        divisors: &[f32],
        (out, size): (&mut [f32], usize),
    ) {
        let factor = f64::from(self.attention_factor);
        for pair in 0..self.dimensions / 2 {
            let frequency = frequency(pair, self.dimensions, self.base);
            let divisor = f64::from(divisors.get(pair).copied().unwrap_or(1.0));
            let yarn = self.yarn.map(|yarn| yarn.divisor(pair));
            for (position, out) in (first..).zip(pieces_mut(out, size)) {
                #[allow(clippy::cast_precision_loss)] // positions are far below 2²⁴
                let position = position as f64 / f64::from(self.position_divisor);
                let angle = position * frequency / divisor;
                let angle = yarn.map_or(angle, |divisor| angle / divisor);
                #[allow(clippy::cast_possible_truncation)] // small numbers
                if let Some([cos, sin]) = out.as_chunks_mut::<2>().0.get_mut(pair) {
                    *cos = (libm::cos(angle) * factor) as f32;
                    *sin = (libm::sin(angle) * factor) as f32;
                }
            }
        }
    }

    /// Rotates one head in place.
    fn turn(&self, angles: &[f32], head: &mut [f32]) {
        let angles = angles.as_chunks::<2>().0;
        let head = head.get_mut(..self.dimensions).unwrap_or_default();
        let turn = |x: &mut f32, y: &mut f32, [cos, sin]: [f32; 2]| {
            (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
        };
        match self.pairs {
            RopePairs::Neighbours => {
                for ([x, y], angle) in head.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
                    turn(x, y, *angle);
                }
            }
            RopePairs::Halves => {
                let (first, second) = head.split_at_mut(head.len() / 2);
                for ((x, y), angle) in first.iter_mut().zip(second).zip(angles) {
                    turn(x, y, *angle);
                }
            }
        }
    }

    /// Rotates all heads of `vectors`, `[tokens, heads, size]`, by the angles of each token,
    /// `[tokens, size]`.
    pub(in crate::model) fn turn_all(
        &self,
        angles: &[f32],
        vectors: &mut [f32],
        (heads, size): (usize, usize),
    ) {
        for (token, angles) in pieces_mut(vectors, size * heads).zip(pieces(angles, size)) {
            for head in pieces_mut(token, size) {
                self.turn(angles, head);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn a_part_of_a_head_is_turned_and_the_rest_stays() {
        let rope = Rope {
            dimensions: 4,
            base: 100.0,
            position_divisor: 1.0,
            yarn: None,
            attention_factor: 2.0,
            original_positions: 8,
            pairs: RopePairs::Halves,
        };
        let mut angles = [0.0; 8];
        rope.angles(3, &[1.0, 0.5], (&mut angles, 8));
        // Frequencies 1 and 1/10, the second divided by a half.
        let expected = [3.0_f64, 0.6].map(|angle| [2.0 * angle.cos(), 2.0 * angle.sin()]);
        near(&angles.map(f64::from), &[&expected[0][..], &expected[1], &[0.0; 4]].concat());
        let mut head = [1.0, 1.0, 0.0, 0.0, 5.0, 6.0, 7.0, 8.0];
        rope.turn(&angles, &mut head);
        let [[a, b], [c, d]] = expected;
        near(&head.map(f64::from), &[a, c, b, d, 5.0, 6.0, 7.0, 8.0]);
    }
}
