//! Dot products of queries with f32 rows in place in a file.
//!
//! `Σ x_i · y_i` in eight lanes: lane `l` takes the elements `l, l + 8, …`; then the pairs of lanes
//! `l` and `l + 4` are added in order, then the elements after the last eight. The order is that of
//! the reference (crate `ndarray`), so that norms and scores are bit-identical to it, and eight
//! lanes fit vector units.

const LANES: usize = 8;

/// The dot product of `query` and a row of little-endian f32.
#[inline]
pub(super) fn dot(query: &[f32], row: &[u8]) -> f32 {
    let (row_blocks, row_tail) = row.as_chunks::<{ 4 * LANES }>();
    let (query_blocks, query_tail) = query.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (query, row) in query_blocks.iter().zip(row_blocks) {
        for ((lane, x), y) in lanes.iter_mut().zip(query).zip(row.as_chunks::<4>().0) {
            *lane += x * f32::from_le_bytes(*y);
        }
    }
    let tail = query_tail.iter().zip(row_tail.as_chunks::<4>().0);
    tail.fold(sum(lanes), |sum, (x, y)| sum + x * f32::from_le_bytes(*y))
}

/// The dot product of two vectors in memory.
#[inline]
pub(super) fn dot_f32(x: &[f32], y: &[f32]) -> f32 {
    let (x_blocks, x_tail) = x.as_chunks::<LANES>();
    let (y_blocks, y_tail) = y.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    x_tail.iter().zip(y_tail).fold(sum(lanes), |sum, (x, y)| sum + x * y)
}

fn sum([a, b, c, d, e, f, g, h]: [f32; LANES]) -> f32 {
    // The reference starts from zero, which turns a sum of −0 into +0.
    0.0 + (a + e) + (b + f) + (c + g) + (d + h)
}

/// Divides `vector` by its Euclidean length, which it returns, bit-identical to the reference; a
/// vector of length 0 stays as it is.
pub fn normalize(vector: &mut [f32]) -> f32 {
    let norm = libm::sqrtf(dot_f32(vector, vector));
    if norm != 0.0 {
        vector.iter_mut().for_each(|value| *value /= norm);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_agrees_with_a_sum_in_f64() {
        for length in 0..40_u8 {
            let mut x = [0.0; 40];
            let mut y = [0.0; 40];
            let mut row = [0; 160];
            for i in 0..usize::from(length) {
                x[i] = f32::from(u8::try_from(i * 7 % 11).unwrap()) - 5.0;
                y[i] = f32::from(u8::try_from(i * 5 % 13).unwrap()) / 8.0;
                row[4 * i..4 * i + 4].copy_from_slice(&y[i].to_le_bytes());
            }
            let (x, y) = (&x[..length.into()], &y[..length.into()]);
            let exact: f64 = x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            let row = &row[..4 * usize::from(length)];
            assert!((f64::from(dot(x, row)) - exact).abs() < 1e-4);
            assert_eq!(dot(x, row), dot_f32(x, y));
        }
    }

    #[test]
    fn a_zero_vector_stays_as_it_is() {
        let mut vector = [0.0; 3];
        assert_eq!(normalize(&mut vector), 0.0);
        assert_eq!(vector, [0.0; 3]);
    }
}
