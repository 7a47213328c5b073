//! Quantisation schemes as a table: how each stores a matrix, and what comes back.

use nanoembed_core::quant::{
    afq, dequantize, dequantize_weight, f8q8, fp8, hqq, int8, int8::CodeRange, mxfp4, quantize,
};
use nanoembed_core::tensor::{Afq, Dtype, Encoding, Floats, Hqq, Shape, Weight};

/// How matrices are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// Elements or blocks of one type; where rows are no whole blocks, of the other.
    Plain(Dtype, Dtype),
    /// Half-quadratic, groups of 64, of so many bits.
    Hqq(u8),
    /// Affine, groups of 64, scales of 16 bits, of so many bits.
    Afq(u8),
    /// 8-bit floats under one scale.
    Fp8,
    /// Signed bytes, an 8-bit float for 32.
    F8q8,
    /// 4-bit floats, a power of two for 32.
    Mxfp4,
    /// Signed bytes, a scale for each row and group of columns: `int8` of `.weights` files, without
    /// calibration.
    Int8,
}

/// All schemes under the names of the command line.
pub const SCHEMES: &[(&str, Scheme)] = &[
    ("f32", Scheme::Plain(Dtype::F32, Dtype::F32)),
    ("f16", Scheme::Plain(Dtype::F16, Dtype::F16)),
    ("bf16", Scheme::Plain(Dtype::BF16, Dtype::BF16)),
    ("int8", Scheme::Int8),
    ("q8_0", Scheme::Plain(Dtype::Q8_0, Dtype::Q8_0)),
    ("hqq8", Scheme::Hqq(8)),
    ("afq8", Scheme::Afq(8)),
    ("f8q8", Scheme::F8q8),
    ("fp8", Scheme::Fp8),
    ("q6k + q8_0", Scheme::Plain(Dtype::Q6K, Dtype::Q8_0)),
    ("afq6", Scheme::Afq(6)),
    ("q5_0", Scheme::Plain(Dtype::Q5_0, Dtype::Q5_0)),
    ("q4k + q4_0", Scheme::Plain(Dtype::Q4K, Dtype::Q4_0)),
    ("q4_1", Scheme::Plain(Dtype::Q4_1, Dtype::Q4_1)),
    ("q4_0", Scheme::Plain(Dtype::Q4_0, Dtype::Q4_0)),
    ("hqq4", Scheme::Hqq(4)),
    ("afq4", Scheme::Afq(4)),
    ("mxfp4", Scheme::Mxfp4),
    ("afq3", Scheme::Afq(3)),
    ("afq2", Scheme::Afq(2)),
];

impl Scheme {
    /// Quantises rows of `cols` values and dequantises them again; with the bytes that they take
    /// meanwhile.
    ///
    /// # Panics
    ///
    /// If the rows do not suit the scheme.
    #[must_use]
    pub fn round_trip(self, values: &[f32], cols: usize) -> (Vec<f32>, u64) {
        let dims = [(values.len() / cols) as u64, cols as u64];
        let shape = Shape::new(&dims).expect("two dimensions");
        let back = |encoding: Encoding<'_>| {
            let weight = Weight::new(shape, encoding).expect("arrays that fit");
            let mut back = vec![0.0; values.len()];
            dequantize_weight(&weight, 0, &mut back).expect("all elements");
            (back, weight.encoding().stored_bytes())
        };
        match self {
            Self::Plain(dtype, other) => {
                let suits = cols.is_multiple_of(dtype.block_elements());
                let dtype = if suits { dtype } else { other };
                let blocks = values.len() / dtype.block_elements();
                let mut data = vec![0; blocks * dtype.block_bytes()];
                quantize(dtype, values, &mut data).expect("whole blocks");
                let mut back = vec![0.0; values.len()];
                dequantize(dtype, &data, 0, &mut back).expect("all elements");
                (back, data.len() as u64)
            }
            Self::Hqq(bits) => {
                let groups = values.len() / 64;
                let mut codes = vec![0; 64 * usize::from(bits) / 8 * groups];
                let (mut scales, mut zeros) = (vec![0.0; groups], vec![0.0; groups]);
                let mut out =
                    hqq::Output { codes: &mut codes, scales: &mut scales, zeros: &mut zeros };
                hqq::quantize(values, bits, 64, &mut out).expect("whole groups");
                let (scales, zeros) = (bytes(&scales), bytes(&zeros));
                let floats = |data| Floats { dtype: Dtype::F32, data };
                back(Encoding::Hqq(Hqq {
                    bits,
                    group_size: 64,
                    axis: 0,
                    channel_wise: true,
                    codes: &codes,
                    scales: floats(&scales),
                    zeros: floats(&zeros),
                }))
            }
            Self::Afq(bits) => {
                let groups = values.len() / 64;
                let mut codes = vec![0; values.len() * usize::from(bits) / 8];
                let (mut scales, mut biases) = (vec![0; groups * 2], vec![0; groups * 2]);
                let dtype = Dtype::F16;
                afq::quantize(values, bits, 64, dtype, &mut codes, &mut scales, &mut biases)
                    .expect("whole groups");
                let floats = |data| Floats { dtype, data };
                let (scales, biases) = (floats(&scales), floats(&biases));
                back(Encoding::Afq(Afq { bits, group_size: 64, codes: &codes, scales, biases }))
            }
            Self::Fp8 => {
                let mut data = vec![0; values.len()];
                let scale = fp8::quantize(values, &mut data).expect("equal lengths");
                back(Encoding::Fp8 { data: &data, scale })
            }
            Self::F8q8 => {
                let mut blocks = vec![0; values.len().div_ceil(32) * 33];
                f8q8::quantize(values, &mut blocks).expect("whole blocks");
                back(Encoding::F8q8 { blocks: &blocks })
            }
            Self::Mxfp4 => {
                let (mut codes, mut scales) =
                    (vec![0; values.len() / 2], vec![0; values.len() / 32]);
                mxfp4::quantize(values, &mut codes, &mut scales).expect("whole groups");
                back(Encoding::Mxfp4 { codes: &codes, scales: &scales })
            }
            Self::Int8 => by_rows(values, cols),
        }
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn by_rows(values: &[f32], cols: usize) -> (Vec<f32>, u64) {
    let groups = int8::groups(cols);
    let mut back = Vec::with_capacity(values.len());
    let (mut codes, mut scales) = (vec![0; cols], vec![0.0; groups]);
    for row in values.chunks_exact(cols) {
        int8::quantize_row(row, CodeRange::Full, &mut codes, &mut scales);
        for (codes, scale) in codes.chunks_exact(cols / groups).zip(&scales) {
            back.extend(codes.iter().map(|code| f32::from(*code) * scale));
        }
    }
    let scales = (values.len() / cols * groups * 4) as u64;
    (back, values.len() as u64 + scales)
}
