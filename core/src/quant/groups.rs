//! Rows of blocks as unsigned codes, and a scale and a minimum for each group: the operands of
//! products with quantised activations.
//!
//! Every low-bit block layout is affine in its groups: `x = scale · code + minimum`. Signed codes
//! get an offset added, and the minimum subtracts it again.

use super::ggml::{self, layouts};
use crate::tensor::Dtype;

/// A constant, so that builds without these blocks do not link their code.
const BUILT_IN: bool = cfg!(feature = "blocks-ggml");

/// Converts codes to f32: `(codes, offset, group, factors, out)` to `scale · (code − offset) +
/// minimum`, a scale and a minimum for each `group` elements. Kernels provide it with the CPU's
/// instructions.
pub type Affine<'a> = &'a dyn Fn(&[u8], u8, usize, &[(f32, f32)], &mut [f32]);

macro_rules! functions {
    ($(
        $dtype:ident $layout:ident
        $(groups($unpack:ident, $group:literal, $offset:expr))? $(=> $quantize:ident)?;
    )+) => {
        /// The number of elements that share a scale; `None` for types that are not unpacked here.
        #[must_use]
        pub const fn group_elements(dtype: Dtype) -> Option<usize> {
            match dtype {
                _ if !BUILT_IN => None,
                $($(Dtype::$dtype => Some($group),)?)+
                _ => None,
            }
        }

        /// Dequantises whole blocks with `affine`, bit-identical to
        /// [`dequantize`](super::dequantize); false if `dtype` is not unpacked here.
        pub fn dequantize_blocks(
            dtype: Dtype,
            data: &[u8],
            out: &mut [f32],
            affine: Affine<'_>,
        ) -> bool {
            match dtype {
                _ if !BUILT_IN => return false,
                $($(Dtype::$dtype => {
                    pieces($offset, data, out, affine, ggml::$layout::$unpack);
                })?)+
                _ => return false,
            }
            true
        }

        /// Unpacks rows of `cols` elements, as many as `data` has and `out` has room for; false if
        /// `dtype` is not unpacked here.
        pub fn unpack_rows(
            dtype: Dtype,
            data: &[u8],
            cols: usize,
            out: &mut Unpacked<'_>,
        ) -> bool {
            match dtype {
                _ if !BUILT_IN => return false,
                $($(Dtype::$dtype => rows(data, cols, out, ggml::$layout::$unpack),)?)+
                _ => return false,
            }
            true
        }
    };
}
layouts!(functions);

/// Elements that are unpacked at a time.
const PIECE: usize = 512;

#[inline]
fn pieces<const B: usize, const E: usize, const G: usize>(
    offset: Option<u8>,
    data: &[u8],
    out: &mut [f32],
    affine: Affine<'_>,
    unpack: impl Fn(&[u8; B], &mut [u8; E], &mut [(f32, f32); G]),
) {
    let mut codes = [0; PIECE];
    let mut factors = [(0.0, 0.0); PIECE / 16];
    let pieces = data.as_chunks::<B>().0.chunks(PIECE / E).zip(out.chunks_mut(PIECE / E * E));
    for (blocks, out) in pieces {
        let places = codes.as_chunks_mut::<E>().0.iter_mut().zip(factors.as_chunks_mut::<G>().0);
        for (block, (codes, factors)) in blocks.iter().zip(places) {
            unpack(block, codes, factors);
            if offset.is_some() {
                for (_, minimum) in factors {
                    *minimum = -0.0;
                }
            }
        }
        affine(&codes, offset.unwrap_or(0), E / G, &factors, out);
    }
}

/// The buffers for unpacked rows.
#[derive(Debug)]
pub struct Unpacked<'a> {
    /// One byte per element, `[rows][cols]`.
    pub codes: &'a mut [u8],
    /// `[groups][stride]`, a lane per row.
    pub scales: &'a mut [f32],
    /// `[groups][stride]`.
    pub minima: &'a mut [f32],
    /// At least the number of rows.
    pub stride: usize,
}

/// Blocks of `B` bytes, `E` elements and `G` groups.
#[inline]
fn rows<const B: usize, const E: usize, const G: usize>(
    data: &[u8],
    cols: usize,
    out: &mut Unpacked<'_>,
    unpack: impl Fn(&[u8; B], &mut [u8; E], &mut [(f32, f32); G]),
) {
    let blocks = cols / E;
    if blocks == 0 || out.stride == 0 {
        return;
    }
    let (mut data, mut codes) = (data.as_chunks::<B>().0, &mut *out.codes);
    // Rows are split off: iterators of chunks divide by a length of which the compiler cannot
    // always tell that it is not zero.
    for row in 0.. {
        let rows = (data.split_at_checked(blocks), codes.split_at_mut_checked(cols));
        let (Some((row_data, later_data)), Some((row_codes, later_codes))) = rows else { return };
        (data, codes) = (later_data, later_codes);
        let mut scales = out.scales.chunks_exact_mut(out.stride.max(1));
        let mut minima = out.minima.chunks_exact_mut(out.stride.max(1));
        for (block, codes) in row_data.iter().zip(row_codes.as_chunks_mut::<E>().0) {
            let mut factors = [(0.0, 0.0); G];
            unpack(block, codes, &mut factors);
            for (scale, minimum) in factors {
                let lanes = (scales.next(), minima.next());
                let (Some(scales), Some(minima)) = lanes else { return };
                if let (Some(s), Some(m)) = (scales.get_mut(row), minima.get_mut(row)) {
                    (*s, *m) = (scale, minimum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::dequantize;

    #[test]
    fn blocks_are_dequantised_to_the_same_bits() {
        let affine: Affine<'_> = &|codes, offset, group, factors, out| {
            let groups = codes.chunks(group).zip(out.chunks_mut(group));
            for ((codes, out), (scale, minimum)) in groups.zip(factors) {
                for (code, out) in codes.iter().zip(out) {
                    *out = scale * f32::from(i16::from(*code) - i16::from(offset)) + minimum;
                }
            }
        };
        for &dtype in Dtype::ALL {
            if group_elements(dtype).is_none() {
                continue;
            }
            let elements = 256 * 5;
            let size = elements / dtype.block_elements() * dtype.block_bytes();
            let mut data = [0; 1536];
            let data = &mut data[..size];
            for (i, byte) in data.iter_mut().enumerate() {
                *byte = ((i * 89 + i / 7) as u8 & 0xfb) ^ (i as u8 & 0x80);
            }
            let mut expected = [0.0_f32; 256 * 5];
            dequantize(dtype, data, 0, &mut expected).unwrap();
            let mut values = [9.0_f32; 256 * 5];
            assert!(dequantize_blocks(dtype, data, &mut values, affine));
            for (value, expected) in values.iter().zip(&expected) {
                let both_no_number = value.is_nan() && expected.is_nan();
                assert!(both_no_number || value.to_bits() == expected.to_bits(), "{dtype:?}");
            }
        }
    }

    #[test]
    fn unpacked_rows_are_what_they_dequantise_to() {
        let mut seed = 7_u32;
        let mut noise = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        let (rows, cols, stride) = (3, 512, 16);
        for &dtype in Dtype::ALL {
            let Some(group) = group_elements(dtype) else { continue };
            let size = cols / dtype.block_elements() * dtype.block_bytes();
            // Halves above 0x7bff are not finite: no byte here is that large.
            let mut data = [0; 3 * 1024];
            let data = &mut data[..rows * size];
            data.fill_with(|| noise() & 0x7b);
            let mut expected = [0.0; 3 * 512];
            dequantize(dtype, data, 0, &mut expected).unwrap();
            let groups = cols / group;
            let mut codes = [0; 3 * 512];
            let (mut scales, mut minima) = ([0.0; 512], [0.0; 512]);
            let (scales_out, minima_out) =
                (&mut scales[..groups * stride], &mut minima[..groups * stride]);
            let mut out =
                Unpacked { codes: &mut codes, scales: scales_out, minima: minima_out, stride };
            assert!(unpack_rows(dtype, data, cols, &mut out));
            for (i, &value) in expected.iter().enumerate() {
                let (row, col) = (i / cols, i % cols);
                let at = col / group * stride + row;
                let (product, minimum) = (f32::from(codes[i]) * scales[at], minima[at]);
                let error = (product + minimum - value).abs();
                let size = product.abs().max(minimum.abs());
                assert!(error <= size * 1e-6, "{} {i}: {error} {value}", dtype.name());
            }
        }
    }
}
