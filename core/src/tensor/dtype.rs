//! Data types of tensor elements, and of the blocks that quantised tensors are made of.

use super::{Arrangement, Opaque, ScaledCodes};

/// The type of a tensor's elements, all little-endian.
///
/// Most types store one element after the other. The block types (ggml's) store a fixed number of
/// elements together, so that an element has no bytes of its own: sizes are asked of
/// [`data_bytes`](Self::data_bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// IEEE 754 double precision.
    F64,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an IEEE 754 single.
    BF16,
    /// 8-bit float with 4 exponent bits: no infinities, largest value 448.
    F8E4M3,
    /// 8-bit float with 5 exponent bits: the upper half of an IEEE 754 half.
    F8E5M2,
    /// 8-bit power of two, the scale of MX formats.
    F8E8M0,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 64-bit integer.
    U64,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 8-bit integer.
    U8,
    /// A byte that is 0 or 1.
    Bool,
    /// ggml blocks of 32 elements in 18 bytes: 4 bits, a scale.
    Q4_0,
    /// ggml blocks of 32 elements in 20 bytes: 4 bits, a scale and a minimum.
    Q4_1,
    /// ggml blocks of 32 elements in 22 bytes: 5 bits, a scale.
    Q5_0,
    /// ggml blocks of 32 elements in 24 bytes: 5 bits, a scale and a minimum.
    Q5_1,
    /// ggml blocks of 32 elements in 34 bytes: 8 bits, a scale.
    Q8_0,
    /// ggml blocks of 32 elements in 36 bytes: 8 bits, a scale and a sum.
    Q8_1,
    /// ggml blocks of 256 elements in 84 bytes: 2 bits, sixteen scales and minima.
    Q2K,
    /// ggml blocks of 256 elements in 110 bytes: 3 bits, sixteen scales.
    Q3K,
    /// ggml blocks of 256 elements in 144 bytes: 4 bits, eight scales and minima.
    Q4K,
    /// ggml blocks of 256 elements in 176 bytes: 5 bits, eight scales and minima.
    Q5K,
    /// ggml blocks of 256 elements in 210 bytes: 6 bits, sixteen scales.
    Q6K,
    /// ggml blocks of 256 elements in 292 bytes: 8 bits, an f32 scale and sixteen sums.
    Q8K,
    /// Integer codes under scales, as AMB stores them, in blocks over the flattened tensor.
    Scaled(ScaledCodes),
    /// A type of which only name and size are known here.
    Opaque(Opaque),
}

impl Dtype {
    /// Every type whose values are read but [`Scaled`](Self::Scaled), of which there are many.
    pub const ALL: &'static [Self] = &[
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::F8E8M0,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U64,
        Self::U32,
        Self::U16,
        Self::U8,
        Self::Bool,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q8_1,
        Self::Q2K,
        Self::Q3K,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
        Self::Q8K,
    ];

    /// The number of elements that are stored together: 1, or that of a block (0 for one that holds
    /// the whole tensor).
    #[must_use]
    pub const fn block_elements(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 | Self::Q8_1 => 32,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K | Self::Q8K => 256,
            Self::Scaled(codes) => codes.block as usize,
            Self::Opaque(opaque) => opaque.block_elements(),
            _ => 1,
        }
    }

    /// The size of a block in bytes, which for most types is that of one element; 0 for scaled
    /// codes, whose blocks may lie in parts.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 2,
            Self::F8E4M3 | Self::F8E5M2 | Self::F8E8M0 | Self::I8 | Self::U8 | Self::Bool => 1,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q8_1 => 36,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
            Self::Q8K => 292,
            Self::Scaled(_) => 0,
            Self::Opaque(opaque) => opaque.block_bytes(),
        }
    }

    /// What the length of a row must be a multiple of: blocks do not go from one row to the next.
    #[must_use]
    pub const fn row_multiple(self) -> u64 {
        match self {
            Self::Opaque(opaque) if opaque.is_packed_across_rows() => 1,
            _ => self.block_elements() as u64,
        }
    }

    /// The size of one element in bytes; `None` for block types, whose elements have no bytes of
    /// their own.
    #[must_use]
    pub const fn element_bytes(self) -> Option<usize> {
        if self.is_block() { None } else { Some(self.block_bytes()) }
    }

    /// Whether elements are stored in blocks.
    #[must_use]
    pub const fn is_block(self) -> bool {
        self.block_elements() > 1 || matches!(self, Self::Scaled(_))
    }

    /// The size in bytes of `elements` elements; `None` if they are no whole number of blocks, or
    /// the size does not fit 64 bits, or it depends on the data, as that of adaptive codes does.
    #[must_use]
    pub fn data_bytes(self, elements: u64) -> Option<u64> {
        if let Self::Scaled(codes) = self {
            let is_fixed = codes.arrangement != Arrangement::Adaptive;
            return codes.data_bytes(elements, 0).filter(|_| is_fixed);
        }
        let block = self.block_elements() as u64;
        match elements.checked_div(block) {
            Some(blocks) if elements.is_multiple_of(block) => {
                blocks.checked_mul(self.block_bytes() as u64)
            }
            _ => None,
        }
    }

    /// The type's name in machine-readable output, as in command-line options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F8E4M3 => "f8_e4m3",
            Self::F8E5M2 => "f8_e5m2",
            Self::F8E8M0 => "f8_e8m0",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::I16 => "i16",
            Self::I8 => "i8",
            Self::U64 => "u64",
            Self::U32 => "u32",
            Self::U16 => "u16",
            Self::U8 => "u8",
            Self::Bool => "bool",
            Self::Q4_0 => "q4_0",
            Self::Q4_1 => "q4_1",
            Self::Q5_0 => "q5_0",
            Self::Q5_1 => "q5_1",
            Self::Q8_0 => "q8_0",
            Self::Q8_1 => "q8_1",
            Self::Q2K => "q2_k",
            Self::Q3K => "q3_k",
            Self::Q4K => "q4_k",
            Self::Q5K => "q5_k",
            Self::Q6K => "q6_k",
            Self::Q8K => "q8_k",
            Self::Scaled(codes) => codes.name(),
            Self::Opaque(opaque) => opaque.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_block_has_no_size() {
        assert_eq!(Dtype::Q4K.data_bytes(512), Some(288));
        assert_eq!(Dtype::Q4K.data_bytes(511), None);
        assert_eq!(Dtype::F64.data_bytes(u64::MAX), None);
    }

    #[test]
    fn only_elements_that_stand_alone_have_a_size() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.element_bytes().is_none(), dtype.is_block());
        }
    }
}
