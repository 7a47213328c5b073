//! Vectors in fewer bytes: the same codes as those of the npm package's `quantizeVectors`.
//!
//! | type | size of an element | meaning |
//! |---|---|---|
//! | `f32` | 32 bits | itself |
//! | `f16` | 16 bits | the nearest half-precision float |
//! | `int8` | 8 bits | code × scale; the scale of a vector is its largest magnitude ÷ 127 |
//! | `binary` | 1 bit | whether it is above 0; the first is the highest bit of the first byte |
//!
//! A vector's direction does not depend on its scale, so cosines of `int8` codes need no scales.

use half::f16;

use super::vectors::Vectors;
use crate::choice::choices;

choices! {
    /// The type of the numbers of vectors.
    pub enum Precision {
        /// 32-bit floats, as they are computed
        F32 = "f32" | "float32",
        /// 16-bit floats
        F16 = "f16" | "float16",
        /// Bytes with a scale for each vector
        Int8 = "int8",
        /// A bit a number: whether it is above 0
        Binary = "binary",
    }
}

impl Precision {
    /// The number of elements of the stored type in a vector of so many dimensions: bytes for
    /// `binary`, else one per dimension.
    #[must_use]
    pub const fn width(self, dimensions: usize) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Int8 => dimensions,
            Self::Binary => dimensions.div_ceil(8),
        }
    }

    /// The bytes of an element of the stored type.
    #[must_use]
    pub const fn element_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::Int8 | Self::Binary => 1,
        }
    }
}

/// Writes a vector as 16-bit floats; `out` has as many elements as `vector`.
pub fn to_f16(vector: &[f32], out: &mut [f16]) {
    for (x, out) in vector.iter().zip(out) {
        *out = f16::from_f32(*x);
    }
}

/// Writes a vector as bytes and returns their scale; `out` has as many elements as `vector`. A
/// vector that is not finite has the scale NaN and the codes 0.
pub fn to_int8(vector: &[f32], out: &mut [i8]) -> f32 {
    let largest = vector.iter().fold(0.0_f64, |most, x| most.max(f64::from(*x).abs()));
    if !vector.iter().all(|x| x.is_finite()) {
        out.fill(0);
        return f32::NAN;
    }
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    for (x, out) in vector.iter().zip(out) {
        #[expect(clippy::cast_possible_truncation, reason = "within ±127")]
        let code = (f64::from(*x) * factor + 0.5).floor() as i8;
        *out = code;
    }
    #[expect(clippy::cast_possible_truncation, reason = "no larger than an f32 was")]
    let scale = (largest / 127.0) as f32;
    scale
}

/// Writes a vector as bits; `out` has a byte for each 8 numbers of `vector` or part of 8.
pub fn to_binary(vector: &[f32], out: &mut [u8]) {
    for (eight, out) in vector.chunks(8).zip(out) {
        let bits = eight.iter().zip(0..).filter(|(x, _)| **x > 0.0);
        *out = bits.fold(0, |byte, (_, at)| byte | 128 >> at);
    }
}

impl Vectors {
    /// All numbers as 16-bit floats, row after row.
    #[must_use]
    pub fn to_f16(&self) -> Vec<f16> {
        let mut values = vec![f16::ZERO; self.as_slice().len()];
        to_f16(self.as_slice(), &mut values);
        values
    }

    /// All numbers as bytes, row after row, and the scale of each row.
    #[must_use]
    pub fn to_int8(&self) -> (Vec<i8>, Vec<f32>) {
        let mut codes = vec![0; self.as_slice().len()];
        let rows = self.rows().zip(codes.chunks_exact_mut(self.dimensions()));
        let scales = rows.map(|(row, codes)| to_int8(row, codes)).collect();
        (codes, scales)
    }

    /// All numbers as bits, row after row, each row in whole bytes.
    #[must_use]
    pub fn to_binary(&self) -> Vec<u8> {
        let width = Precision::Binary.width(self.dimensions());
        let mut bits = vec![0; self.len() * width];
        for (row, bits) in self.rows().zip(bits.chunks_exact_mut(width)) {
            to_binary(row, bits);
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_npm_package() {
        // As `quantizeVectors` answers them; -0.5 is rounded up, as JavaScript does.
        let vectors = Vectors::new(3, vec![1.0, -0.5, 0.25, 0.0, 0.0, 0.0, 254.0, -1.0, 3.0]);
        let vectors = vectors.unwrap();
        let (codes, scales) = vectors.to_int8();
        assert_eq!(codes, [127, -63, 32, 0, 0, 0, 127, 0, 2]);
        assert_eq!(scales, [1.0 / 127.0, 0.0, 2.0]);
        assert_eq!(vectors.to_binary(), [0b1010_0000, 0, 0b1010_0000]);
    }

    #[test]
    fn a_row_of_bits_ends_with_a_byte() {
        let vector: Vec<f32> = (0..10).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let vectors = Vectors::new(10, [vector.clone(), vector].concat()).unwrap();
        assert_eq!(vectors.to_binary(), [0b1001_0010, 0b0100_0000, 0b1001_0010, 0b0100_0000]);
        assert_eq!(Precision::Binary.width(10), 2);
    }

    #[test]
    fn a_vector_of_bytes_keeps_its_direction() {
        let row: Vec<f32> = (0..64).map(|i| ((i * 37 % 64) as f32 - 31.5) / 100.0).collect();
        let vectors = Vectors::new(64, row.clone()).unwrap();
        let (codes, scales) = vectors.to_int8();
        for (x, code) in row.iter().zip(codes) {
            assert!((x - f32::from(code) * scales[0]).abs() <= scales[0] * 0.5001);
        }
        for (x, half) in row.iter().zip(vectors.to_f16()) {
            assert!((x - half.to_f32()).abs() <= x.abs() / 2048.0);
        }
    }

    #[test]
    fn what_is_no_number_has_no_codes() {
        let vectors = Vectors::new(2, vec![f32::NAN, 1.0, f32::INFINITY, 1.0]).unwrap();
        let (codes, scales) = vectors.to_int8();
        assert_eq!(codes, [0; 4]);
        assert!(scales.iter().all(|scale| scale.is_nan()));
    }
}
