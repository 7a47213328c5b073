//! Operands of products with weights in ggml's blocks of 32, in the file's layout.
//!
//! The blocks are unpacked in registers while they are multiplied. The sums are those of
//! [`ProductGroups`] over the unpacked codes, in the same order: both compute the same bits.
//!
//! [`ProductGroups`]: super::ProductGroups

use super::groups::GroupedCodes;
use super::product::{Strides, reach};
use crate::error::{Error, ErrorKind, Result};

/// Columns of a block.
pub const BLOCK_COLS: usize = 32;

/// The layout of a block's 32 codes, scale and minimum in its bytes.
///
/// `d` and `m` are IEEE halves. A code of 4 bits is the low half of byte i for column i, the high
/// half for column 16 + i; a fifth bit is bit c of a little-endian word for column c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLayout {
    /// `d`, codes: `d · (code − 8)`.
    Q4_0,
    /// `d`, `m`, codes: `d · code + m`.
    Q4_1,
    /// `d`, fifth bits, codes: `d · (code − 16)`.
    Q5_0,
    /// `d`, `m`, fifth bits, codes: `d · code + m`.
    Q5_1,
    /// `d`, signed bytes: `d · byte`.
    Q8_0,
}

impl BlockLayout {
    /// Bytes of a block.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
        }
    }
}

/// The quantisation error of activations in groups, itself quantised: the error is close to `codes
/// · scales`.
#[derive(Clone, Copy, Debug)]
pub struct RestCodes<'a> {
    /// Signed bytes −127 … 127, `[tokens][cols]`.
    pub codes: &'a [u8],
    /// `[tokens][groups]`.
    pub scales: &'a [f32],
}

/// x · Wᵀ + bias with rows of blocks.
#[derive(Debug)]
#[cfg_attr(
    not(any(
        all(target_arch = "x86_64", not(miri)),
        all(target_arch = "wasm32", target_feature = "simd128")
    )),
    allow(dead_code)
)] // only these tables have such a product
pub struct ProductBlocks<'a> {
    pub(super) x: GroupedCodes<'a>,
    pub(super) rest: Option<RestCodes<'a>>,
    pub(super) layout: BlockLayout,
    pub(super) blocks: &'a [u8],
    pub(super) bias: &'a [f32],
    pub(super) out: &'a mut [f32],
    pub(super) tokens: usize,
    pub(super) cols: usize,
    pub(super) strides: Strides,
}

impl<'a> ProductBlocks<'a> {
    /// A product over `cols` columns and `bias.len()` rows. With a `rest`, x is the sum of both,
    /// and the sums of `x` include both.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `BLOCK_COLS` does not divide `cols`, or if the slices have
    /// inconsistent lengths.
    pub fn new(
        (x, rest): (GroupedCodes<'a>, Option<RestCodes<'a>>),
        (layout, blocks): (BlockLayout, &'a [u8]),
        bias: &'a [f32],
        cols: usize,
        out: &'a mut [f32],
        strides: Strides,
    ) -> Result<Self> {
        let rows = bias.len();
        let tokens = x.codes.len().checked_div(cols).unwrap_or(0);
        let groups = cols / BLOCK_COLS;
        let whole =
            |count: usize, size: usize, length: usize| count.checked_mul(size) == Some(length);
        let is_whole = |codes: &[u8], scales: &[f32]| {
            whole(tokens, cols, codes.len()) && whole(tokens, groups, scales.len())
        };
        let row_bytes = groups.checked_mul(layout.bytes());
        let fits = cols > 0
            && cols.is_multiple_of(BLOCK_COLS)
            && is_whole(x.codes, x.scales)
            && is_whole(x.codes, x.sums)
            && rest.is_none_or(|rest| is_whole(rest.codes, rest.scales))
            && row_bytes.is_some_and(|bytes| whole(rows, bytes, blocks.len()))
            && reach(tokens, strides.token, rows, strides.row).is_some_and(|n| n <= out.len());
        if !fits {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        Ok(Self { x, rest, layout, blocks, bias, out, tokens, cols, strides })
    }
}
