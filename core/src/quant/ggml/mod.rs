//! ggml's block layouts, as in its `ggml-common.h`: a file each, and a row each in the table of
//! their functions.
//!
//! | layout | `x =` |
//! |---|---|
//! | Q4_0 | `d (q − 8)` |
//! | Q4_1 | `d q + m` |
//! | Q5_0 | `d (q − 16)` |
//! | Q5_1 | `d q + m` |
//! | Q8_0 | `d q` |
//! | Q8_1 | `d q` |
//! | Q2_K | `d s q − dmin m` |
//! | Q3_K | `d (s − 32) (q − 4)` |
//! | Q4_K | `d s q − dmin m` |
//! | Q5_K | `d s q − dmin m` |
//! | Q6_K | `d s (q − 32)` |
//! | Q8_K | `d q` |
//! | TQ1_0 | `d (t − 1)` |
//! | TQ2_0 | `d (t − 1)` |
//! | IQ4_NL | `d v[q]` |
//! | IQ4_XS | `d (s − 32) v[q]` |
//!
//! `d`, `m` and `dmin` are IEEE halves (an f32 in Q8_K), `v` a table. The sizes of blocks are those of
//! [`Dtype`].

pub mod iq4_nl;
pub mod iq4_xs;
mod k_scales;
pub mod q2_k;
pub mod q3_k;
pub mod q4_0;
pub mod q4_1;
pub mod q4_k;
pub mod q5_0;
pub mod q5_1;
pub mod q5_k;
pub mod q6_k;
pub mod q8_0;
pub mod q8_1;
pub mod q8_k;
pub mod tq1_0;
pub mod tq2_0;

use super::block;
use super::lanes::Scalar;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Dtype;

const TOO_FEW: Error = Error::without_offset(ErrorKind::InvalidArgument);
const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedDtype);

/// The table of layouts, passed to the macro `$use`, which takes the parts of each row that it
/// needs:
///
/// * the type, and the file with its functions, of which `dequantize_block` always exists;
/// * `groups(function, elements, offset)`: the function that unpacks a block to unsigned codes, and
///   a scale and a minimum for each group; the elements of a group; and the offset that makes
///   signed codes unsigned (`None` for layouts with minima);
/// * `=> function`: the quantiser.
///
/// Each use becomes a `match`, so that a build links only the functions that it calls.
macro_rules! layouts {
    ($use:ident) => {
        $use! {
            Q4_0 q4_0 groups(unpack_block, 32, Some(8)) => quantize_block;
            Q4_1 q4_1 groups(unpack_block, 32, None) => quantize_block;
            Q5_0 q5_0 groups(unpack_block, 32, Some(16)) => quantize_block;
            Q5_1 q5_1 groups(unpack_block, 32, None);
            Q8_0 q8_0 groups(unpack_block, 32, Some(128)) => quantize_block;
            Q8_1 q8_1;
            Q2K q2_k groups(unpack_block, 16, None);
            Q3K q3_k;
            Q4K q4_k groups(unpack_block, 32, None) => quantize_block;
            Q5K q5_k groups(unpack_block, 32, None);
            Q6K q6_k groups(unpack_block, 16, Some(32)) => quantize_block;
            Q8K q8_k;
            Tq1_0 tq1_0 => quantize_block;
            Tq2_0 tq2_0 => quantize_block;
            Iq4Nl iq4_nl groups(unpack_block, 32, Some(128));
            Iq4Xs iq4_xs groups(unpack_block, 32, Some(128));
        }
    };
}
pub(super) use layouts;

macro_rules! functions {
    ($(
        $dtype:ident $layout:ident
        $(groups($unpack:ident, $group:literal, $offset:expr))? $(=> $quantize:ident)?;
    )+) => {
        /// As [`dequantize`](super::dequantize), for blocks of ggml.
        pub(super) fn dequantize(
            dtype: Dtype,
            data: &[u8],
            first: usize,
            out: &mut [f32],
        ) -> Result<()> {
            let done = match dtype {
                $(Dtype::$dtype => {
                    block::blocks(data, first, out, $layout::dequantize_block::<Scalar>)
                })+
                _ => return Err(UNSUPPORTED),
            };
            done.ok_or(TOO_FEW)
        }

        /// As [`quantize`](super::quantize), for blocks of ggml; `out` has their size.
        pub(super) fn quantize(dtype: Dtype, values: &[f32], out: &mut [u8]) -> Result<()> {
            match dtype {
                $($(Dtype::$dtype => block::encode(values, out, $layout::$quantize),)?)+
                _ => return Err(UNSUPPORTED),
            }
            Ok(())
        }

        /// Returns true if there is a quantiser for `dtype`.
        pub(super) const fn has_quantizer(dtype: Dtype) -> bool {
            match dtype {
                $($(Dtype::$dtype => { let _ = $layout::$quantize; true })?)+
                _ => false,
            }
        }
    };
}
layouts!(functions);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DtypeKind;

    #[test]
    fn every_type_of_the_kind_has_a_row() {
        for &dtype in Dtype::ALL {
            let answer = dequantize(dtype, &[0; 512], 0, &mut [0.0; 256]);
            let is_here = dtype.kind() == DtypeKind::Blocks;
            assert!(is_here || answer == Err(UNSUPPORTED), "{dtype:?}");
            assert!(!is_here || answer != Err(UNSUPPORTED), "{dtype:?}");
        }
    }
}
