//! Quantisation schemes as a table: the storage of a matrix, and its dequantised values.

use nanoembed_core::quant::{
    afq, dequantize, dequantize_weight, f8q8, fp8, has_quantizer, hqq, int8, int8::CodeRange,
    mxfp4, quantize,
};
use nanoembed_core::tensor::{Afq, Dtype, DtypeKind, Encoding, Floats, Hqq, Shape, Weight};

/// The storage of matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// Elements or blocks of one type; the second type is for rows that are not whole blocks.
    Plain(Dtype, Dtype),
    /// Half-quadratic, groups of 64, with this number of bits.
    Hqq(u8),
    /// Affine, groups of 64, 16-bit scales, with this number of bits.
    Afq(u8),
    /// 8-bit floats with one scale.
    Fp8,
    /// Signed bytes, an 8-bit float scale for each 32.
    F8q8,
    /// 4-bit floats, a power of two for each 32.
    Mxfp4,
    /// Signed bytes, a scale for each row and group of columns: `int8` of `.weights` files, without
    /// calibration.
    Int8,
}

/// The schemes of several arrays, under the names of the command line.
const ARRAYS: [(&str, Scheme); 11] = [
    ("int8", Scheme::Int8),
    ("hqq8", Scheme::Hqq(8)),
    ("afq8", Scheme::Afq(8)),
    ("f8q8", Scheme::F8q8),
    ("fp8", Scheme::Fp8),
    ("afq6", Scheme::Afq(6)),
    ("hqq4", Scheme::Hqq(4)),
    ("afq4", Scheme::Afq(4)),
    ("mxfp4", Scheme::Mxfp4),
    ("afq3", Scheme::Afq(3)),
    ("afq2", Scheme::Afq(2)),
];

/// All schemes with their command-line names: every type with a quantiser, then the schemes with
/// several arrays.
#[must_use]
pub fn schemes() -> Vec<(String, Scheme)> {
    let plain = written(DtypeKind::Number).chain(written(DtypeKind::Blocks)).map(|dtype| {
        let other = for_short_rows(dtype);
        let name = |dtype: Dtype| dtype.name().replace("_k", "k");
        let name = match other == dtype {
            true => name(dtype),
            false => format!("{} + {}", name(dtype), name(other)),
        };
        (name, Scheme::Plain(dtype, other))
    });
    plain.chain(ARRAYS.map(|(name, scheme)| (name.to_owned(), scheme))).collect()
}

/// The types of a kind that have a quantiser.
pub fn written(kind: DtypeKind) -> impl Iterator<Item = Dtype> {
    Dtype::ALL.iter().copied().filter(move |dtype| dtype.kind() == kind && has_quantizer(*dtype))
}

/// The type for rows that are not whole blocks of 256: the one with blocks of 32 and the same
/// number of bits, or the next larger one.
fn for_short_rows(dtype: Dtype) -> Dtype {
    let bits = |dtype: Dtype| dtype.block_bytes() * 256 / dtype.block_elements();
    if dtype.block_elements() <= 32 {
        return dtype;
    }
    written(DtypeKind::Blocks)
        .filter(|other| other.block_elements() == 32 && bits(*other) >= bits(dtype))
        .min_by_key(|other| bits(*other))
        .unwrap_or(Dtype::F16)
}

impl Scheme {
    /// Quantises and dequantises rows of `cols` values; returns them and their stored size in
    /// bytes.
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
                    hqq::HqqOutput { codes: &mut codes, scales: &mut scales, zeros: &mut zeros };
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
