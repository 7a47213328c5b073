//! A weight as a quantising file stores it: one or several arrays, and the parameters that relate
//! them.
//!
//! Formats provide such weights and `quant` dequantises them. [`Weight::new`] checks once that
//! every array has the length that the shape and the parameters require.

use half::{bf16, f16};

use super::{Dtype, Shape};
use crate::error::ErrorKind;

/// Scales, zeros or biases: floats of one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floats<'a> {
    /// F32, F16 or BF16.
    pub dtype: Dtype,
    /// The values, little-endian.
    pub data: &'a [u8],
}

impl Floats<'_> {
    /// The value at `index`.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<f32> {
        match self.dtype {
            Dtype::F32 => self.bytes(index).map(f32::from_le_bytes),
            Dtype::F16 => self.bytes(index).map(|bytes| f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => self.bytes(index).map(|bytes| bf16::from_le_bytes(bytes).to_f32()),
            _ => None,
        }
    }

    /// `value` rounded to the type of these values.
    #[must_use]
    #[inline]
    pub fn round(&self, value: f32) -> f32 {
        match self.dtype {
            Dtype::F16 => f16::from_f32(value).to_f32(),
            Dtype::BF16 => bf16::from_f32(value).to_f32(),
            _ => value,
        }
    }

    const fn with_data<'b>(&self, data: &'b [u8]) -> Floats<'b> {
        Floats { dtype: self.dtype, data }
    }

    fn bytes<const N: usize>(&self, index: usize) -> Option<[u8; N]> {
        self.data.as_chunks::<N>().0.get(index).copied()
    }

    fn has(&self, count: u64) -> Result<(), ErrorKind> {
        if !matches!(self.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
            return Err(ErrorKind::UnsupportedDtype);
        }
        has_bytes(self.data, self.dtype.data_bytes(count))
    }
}

/// Half-quadratic quantisation: codes of `bits` bits, packed across slabs of rows, with a scale and
/// a zero for each group.
///
/// The packed matrix has `rows × cols` elements in the weight's row-major order: with axis 0
/// `group_size × elements / group_size` and a group in each column, with axis 1 `elements /
/// group_size × group_size` and a group in each row, and if not channel-wise the weight's own
/// dimensions; then a single scale or zero may apply to all groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hqq<'a> {
    /// 8, 4, 3, 2 or 1.
    pub bits: u8,
    /// Elements in a group.
    pub group_size: u32,
    /// 0 or 1.
    pub axis: u8,
    /// True if each group has its own scale.
    pub channel_wise: bool,
    /// The packed codes: bytes, or little-endian 32-bit words for 3 bits.
    pub codes: &'a [u8],
    /// A scale for each group.
    pub scales: Floats<'a>,
    /// A zero for each group.
    pub zeros: Floats<'a>,
}

/// The matrix that an [`Hqq`] packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HqqMatrix {
    /// Rows, without padding.
    pub rows: u64,
    /// Columns.
    pub cols: u64,
    /// Rows of packed words; each word holds one element of each slab, and a slab has this many
    /// rows.
    pub packed_rows: u64,
}

impl Hqq<'_> {
    /// The number of codes in a word, and the word's size in bytes; `None` for an undefined number
    /// of bits.
    #[must_use]
    pub const fn packing(&self) -> Option<(u64, u64)> {
        match self.bits {
            8 => Some((1, 1)),
            4 => Some((2, 1)),
            3 => Some((10, 4)),
            2 => Some((4, 1)),
            1 => Some((8, 1)),
            _ => None,
        }
    }

    /// The packed matrix of a weight of this shape; `None` if shape and parameters are
    /// inconsistent.
    #[must_use]
    pub fn matrix(&self, shape: &Shape) -> Option<HqqMatrix> {
        let (pack, _) = self.packing()?;
        let elements = shape.elements()?;
        let group = u64::from(self.group_size);
        let (rows, cols) = match (self.channel_wise, self.axis) {
            (false, _) => (shape.rows(), shape.cols()?),
            (true, 0) => (group, elements.checked_div(group)?),
            (true, 1) => (elements.checked_div(group)?, group),
            _ => return None,
        };
        // Only 3-bit matrices are padded to whole words.
        let whole = self.bits == 3 || rows.is_multiple_of(pack);
        (whole && rows.checked_mul(cols) == Some(elements)).then_some(HqqMatrix {
            rows,
            cols,
            packed_rows: rows.div_ceil(pack),
        })
    }

    fn check(&self, shape: &Shape) -> Result<(), ErrorKind> {
        let (_, word_bytes) = self.packing().ok_or(ErrorKind::BadQuantization)?;
        if self.axis > 1 || self.group_size == 0 {
            return Err(ErrorKind::BadQuantization);
        }
        let matrix = self.matrix(shape).ok_or(ErrorKind::SizeMismatch)?;
        let words = matrix.packed_rows.checked_mul(matrix.cols);
        has_bytes(self.codes, words.and_then(|words| words.checked_mul(word_bytes)))?;
        let groups = if self.axis == 0 { matrix.cols } else { matrix.rows };
        for floats in [&self.scales, &self.zeros] {
            floats.has(if self.is_shared(floats) { 1 } else { groups })?;
        }
        if self.scales.dtype == self.zeros.dtype { Ok(()) } else { Err(ErrorKind::BadDtype) }
    }

    /// Returns true if `floats`, scales or zeros, is a single number for all groups, which is
    /// allowed if the weight is not channel-wise.
    #[must_use]
    pub const fn is_shared(&self, floats: &Floats<'_>) -> bool {
        !self.channel_wise && floats.data.len() == floats.dtype.block_bytes()
    }
}

/// Affine quantisation of groups along the last dimension: `x = q · scale + bias`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Afq<'a> {
    /// 2, 3, 4, 6 or 8.
    pub bits: u8,
    /// 32, 64 or 128.
    pub group_size: u8,
    /// Each row is a stream of bits, least significant first, of whole 32-bit little-endian words.
    pub codes: &'a [u8],
    /// A scale for each group.
    pub scales: Floats<'a>,
    /// A bias for each group.
    pub biases: Floats<'a>,
}

impl Afq<'_> {
    fn check(&self, shape: &Shape) -> Result<(), ErrorKind> {
        if !matches!(self.bits, 2 | 3 | 4 | 6 | 8) || !matches!(self.group_size, 32 | 64 | 128) {
            return Err(ErrorKind::BadQuantization);
        }
        let row = shape.dims().last().copied().unwrap_or(1);
        if !row.is_multiple_of(self.group_size.into()) {
            return Err(ErrorKind::SizeMismatch);
        }
        let elements = shape.elements().ok_or(ErrorKind::SizeOverflow)?;
        // A group of 32 elements is a whole number of words at every number of bits.
        let bytes = (elements / 8).checked_mul(self.bits.into());
        has_bytes(self.codes, bytes)?;
        let groups =
            elements.checked_div(self.group_size.into()).ok_or(ErrorKind::BadQuantization)?;
        self.scales.has(groups)?;
        self.biases.has(groups)?;
        if self.scales.dtype == self.biases.dtype { Ok(()) } else { Err(ErrorKind::BadDtype) }
    }
}

/// How a weight's values are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Encoding<'a> {
    /// Elements or blocks of one type, one after the other.
    Plain {
        /// The type.
        dtype: Dtype,
        /// The elements or blocks.
        data: &'a [u8],
    },
    /// Half-quadratic quantisation.
    Hqq(Hqq<'a>),
    /// 8-bit floats (E4M3) under one scale: `x = w · scale`.
    Fp8 {
        /// A byte for each element.
        data: &'a [u8],
        /// The scale.
        scale: f32,
    },
    /// Affine quantisation of groups.
    Afq(Afq<'a>),
    /// Blocks of 33 bytes for 32 elements: an E4M3 scale, then signed bytes. The last block may be
    /// padded.
    F8q8 {
        /// The blocks.
        blocks: &'a [u8],
    },
    /// 4-bit floats (E2M1), two in a byte, the low half first, and a power of two (E8M0) for each
    /// 32.
    Mxfp4 {
        /// Half a byte for each element.
        codes: &'a [u8],
        /// A byte for each 32 elements of a row.
        scales: &'a [u8],
    },
}

impl Encoding<'_> {
    /// The name of the encoding in machine-readable output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Plain { dtype, .. } => dtype.name(),
            Self::Hqq(hqq) => match hqq.bits {
                8 => "hqq8",
                4 => "hqq4",
                3 => "hqq3",
                2 => "hqq2",
                _ => "hqq1",
            },
            Self::Fp8 { .. } => "fp8",
            Self::Afq(afq) => match afq.bits {
                8 => "afq8",
                6 => "afq6",
                4 => "afq4",
                3 => "afq3",
                _ => "afq2",
            },
            Self::F8q8 { .. } => "f8q8",
            Self::Mxfp4 { .. } => "mxfp4",
        }
    }

    /// The bytes of all arrays and scales together.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        let scale = if matches!(self, Self::Fp8 { .. }) { size_of::<f32>() } else { 0 };
        let lengths = self.arrays().map(<[u8]>::len);
        lengths.into_iter().fold(scale, usize::saturating_add) as u64
    }
}

impl<'a> Encoding<'a> {
    /// The arrays, the largest first; those that an encoding does not have are empty.
    #[must_use]
    pub const fn arrays(&self) -> [&'a [u8]; 3] {
        match *self {
            Self::Plain { data, .. } | Self::Fp8 { data, .. } => [data, &[], &[]],
            Self::Hqq(Hqq { codes, scales, zeros, .. }) => [codes, scales.data, zeros.data],
            Self::Afq(Afq { codes, scales, biases, .. }) => [codes, scales.data, biases.data],
            Self::F8q8 { blocks } => [blocks, &[], &[]],
            Self::Mxfp4 { codes, scales } => [codes, scales, &[]],
        }
    }

    /// The same encoding of other [arrays](Self::arrays).
    #[must_use]
    pub const fn with_arrays<'b>(&self, [first, second, third]: [&'b [u8]; 3]) -> Encoding<'b> {
        match *self {
            Self::Plain { dtype, .. } => Encoding::Plain { dtype, data: first },
            Self::Hqq(Hqq { bits, group_size, axis, channel_wise, scales, zeros, .. }) => {
                let (scales, zeros) = (scales.with_data(second), zeros.with_data(third));
                let codes = first;
                Encoding::Hqq(Hqq { bits, group_size, axis, channel_wise, codes, scales, zeros })
            }
            Self::Fp8 { scale, .. } => Encoding::Fp8 { data: first, scale },
            Self::Afq(Afq { bits, group_size, scales, biases, .. }) => {
                let (scales, biases) = (scales.with_data(second), biases.with_data(third));
                Encoding::Afq(Afq { bits, group_size, codes: first, scales, biases })
            }
            Self::F8q8 { .. } => Encoding::F8q8 { blocks: first },
            Self::Mxfp4 { .. } => Encoding::Mxfp4 { codes: first, scales: second },
        }
    }
}

/// Elements of a block of F8Q8.
pub const F8Q8_BLOCK_ELEMENTS: u64 = 32;

/// Bytes of a block of F8Q8.
pub const F8Q8_BLOCK_BYTES: u64 = 33;

/// Elements under one scale of MXFP4.
pub const MXFP4_GROUP: u64 = 32;

/// A weight: its logical shape and how its values are stored. The lengths of all arrays fit the
/// shape.
#[derive(Clone, Copy, PartialEq)]
pub struct Weight<'a> {
    shape: Shape,
    encoding: Encoding<'a>,
}

/// Omits the data, which may be gigabytes.
impl core::fmt::Debug for Weight<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Weight")
            .field("shape", &self.shape)
            .field("encoding", &self.encoding.name())
            .finish_non_exhaustive()
    }
}

impl<'a> Weight<'a> {
    /// A weight of `shape`, outermost dimension first, stored as `encoding`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if an array does not have the length that shape and parameters
    /// require, or rows are not whole blocks or groups; [`ErrorKind::BadQuantization`] for
    /// undefined bits, group sizes or axes; [`ErrorKind::BadDtype`] or
    /// [`ErrorKind::UnsupportedDtype`] for scales that are not floats of one type;
    /// [`ErrorKind::SizeOverflow`].
    pub fn new(shape: Shape, encoding: Encoding<'a>) -> Result<Self, ErrorKind> {
        let elements = shape.elements().ok_or(ErrorKind::SizeOverflow)?;
        let row = shape.dims().last().copied().unwrap_or(1);
        match encoding {
            Encoding::Plain { dtype: Dtype::Scaled(codes), data } => {
                let full = codes.full_blocks(elements, data.len() as u64);
                full.ok_or(ErrorKind::SizeMismatch)?;
            }
            Encoding::Plain { dtype, data } => {
                if !row.is_multiple_of(dtype.row_multiple()) {
                    return Err(ErrorKind::SizeMismatch);
                }
                has_bytes(data, dtype.data_bytes(elements))?;
            }
            Encoding::Hqq(hqq) => hqq.check(&shape)?,
            Encoding::Fp8 { data, .. } => has_bytes(data, Some(elements))?,
            Encoding::Afq(afq) => afq.check(&shape)?,
            Encoding::F8q8 { blocks } => {
                let count = elements.div_ceil(F8Q8_BLOCK_ELEMENTS);
                has_bytes(blocks, count.checked_mul(F8Q8_BLOCK_BYTES))?;
            }
            Encoding::Mxfp4 { codes, scales } => {
                if !row.is_multiple_of(MXFP4_GROUP) {
                    return Err(ErrorKind::SizeMismatch);
                }
                has_bytes(codes, Some(elements / 2))?;
                has_bytes(scales, Some(elements / MXFP4_GROUP))?;
            }
        }
        Ok(Self { shape, encoding })
    }

    /// The dimensions, outermost first.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.shape.elements().unwrap_or(0)
    }

    /// How the values are stored.
    #[must_use]
    pub const fn encoding(&self) -> &Encoding<'a> {
        &self.encoding
    }
}

fn has_bytes(data: &[u8], bytes: Option<u64>) -> Result<(), ErrorKind> {
    match bytes {
        None => Err(ErrorKind::SizeOverflow),
        Some(bytes) if bytes == data.len() as u64 => Ok(()),
        Some(_) => Err(ErrorKind::SizeMismatch),
    }
}
