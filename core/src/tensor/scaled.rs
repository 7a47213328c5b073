//! Integer codes under scales, as AMB stores quantised tensors: `x = code · scale`, blocks over the
//! flattened tensor.
//!
//! | arrangement | bytes of a tensor of `n` blocks |
//! |---|---|
//! | separate | `scales[n]`, then the codes of each block |
//! | interleaved | for each block its scale, then its codes |
//! | adaptive | a mask of one bit a block, least significant first, 1 for full precision; a scale for each block that is not; then the blocks: IEEE halves, or codes |
//!
//! Codes are signed, in two's complement, and a stream of bits, least significant first; those of a
//! block fill whole bytes. The last block is stored full even if the tensor ends in it. A block
//! size of 0 stands for one block that holds the whole tensor and nothing more.

/// The type of the scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleType {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
}

impl ScaleType {
    /// The size of a scale in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }
}

/// The size of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeBits {
    /// −8 … 7.
    Four,
    /// −16 … 15.
    Five,
    /// −128 … 127.
    Eight,
}

impl CodeBits {
    /// Bits of a code.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Four => 4,
            Self::Five => 5,
            Self::Eight => 8,
        }
    }
}

/// How scales and codes are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrangement {
    /// All scales, then all codes.
    Separate,
    /// Each block's scale before its codes.
    Interleaved,
    /// A mask, the scales, then blocks of codes and of halves.
    Adaptive,
}

/// How a tensor of scaled codes is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScaledCodes {
    /// The size of a code.
    pub bits: CodeBits,
    /// Elements of a block; 0 for one block that holds the whole tensor.
    pub block: u16,
    /// The type of the scales.
    pub scales: ScaleType,
    /// How scales and codes are arranged.
    pub arrangement: Arrangement,
}

impl ScaledCodes {
    /// The name in machine-readable output and in command-line options.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match (self.arrangement, self.bits) {
            (Arrangement::Adaptive, _) => "adaptive",
            (Arrangement::Interleaved, CodeBits::Four) => "int4block",
            (Arrangement::Interleaved, CodeBits::Five) => "int5block",
            (Arrangement::Interleaved, CodeBits::Eight) => "int8block",
            (Arrangement::Separate, CodeBits::Four) => "int4",
            (Arrangement::Separate, CodeBits::Five) => "int5",
            (Arrangement::Separate, CodeBits::Eight) => "int8",
        }
    }

    /// Elements of a block in a tensor of `elements` elements.
    #[must_use]
    pub const fn block_elements(&self, elements: u64) -> u64 {
        if self.block == 0 { elements } else { self.block as u64 }
    }

    /// The number of blocks in a tensor of `elements` elements.
    #[must_use]
    pub const fn blocks(&self, elements: u64) -> u64 {
        match self.block {
            0 => 1,
            block => elements.div_ceil(block as u64),
        }
    }

    /// Bytes of the codes of one block; `None` if they do not fit 64 bits.
    #[must_use]
    pub const fn code_bytes(&self, elements: u64) -> Option<u64> {
        match self.block_elements(elements).checked_mul(self.bits.bits() as u64) {
            Some(bits) => Some(bits.div_ceil(8)),
            None => None,
        }
    }

    /// Bytes of the mask; 0 unless adaptive.
    #[must_use]
    pub const fn mask_bytes(&self, elements: u64) -> u64 {
        match self.arrangement {
            Arrangement::Adaptive => self.blocks(elements).div_ceil(8),
            _ => 0,
        }
    }

    /// Bytes of a full-precision block of an adaptive tensor.
    #[must_use]
    pub const fn full_block_bytes(&self) -> u64 {
        (self.block as u64).saturating_mul(2)
    }

    /// Bytes of a tensor with `full_blocks` blocks in full precision (0 unless adaptive); `None` if
    /// they do not fit 64 bits or the tensor has fewer blocks.
    #[must_use]
    pub fn data_bytes(&self, elements: u64, full_blocks: u64) -> Option<u64> {
        let coded = self.blocks(elements).checked_sub(full_blocks)?;
        let block = self.code_bytes(elements)?.checked_add(self.scales.bytes())?;
        coded
            .checked_mul(block)?
            .checked_add(full_blocks.checked_mul(self.full_block_bytes())?)?
            .checked_add(self.mask_bytes(elements))
    }

    /// The number of full-precision blocks in an adaptive tensor of `bytes` bytes; `None` if no
    /// number of them gives that size. 0 for the other arrangements.
    #[must_use]
    pub fn full_blocks(&self, elements: u64, bytes: u64) -> Option<u64> {
        let least = self.data_bytes(elements, 0)?;
        if self.arrangement != Arrangement::Adaptive {
            return (bytes == least).then_some(0);
        }
        let block = self.code_bytes(elements)?.checked_add(self.scales.bytes())?;
        // Blocks have 8 elements or more, so that those in full precision are always the larger
        // ones.
        let more = self.full_block_bytes().checked_sub(block).filter(|more| *more > 0)?;
        let extra = bytes.checked_sub(least)?;
        let full = extra.checked_div(more)?;
        (extra.is_multiple_of(more) && full <= self.blocks(elements)).then_some(full)
    }

    /// The layout of a tensor's blocks, of which `full` are in full precision; `None` if it does
    /// not fit 64 bits.
    #[must_use]
    pub fn places(&self, elements: u64, full: u64) -> Option<Places> {
        let (scale_bytes, code_bytes) = (self.scales.bytes(), self.code_bytes(elements)?);
        let scales = self.mask_bytes(elements);
        let full_step = self.full_block_bytes();
        if self.arrangement == Arrangement::Interleaved {
            let step = code_bytes.checked_add(scale_bytes)?;
            let codes = scales.checked_add(scale_bytes)?;
            return Some(Places { scales, scale_step: step, codes, code_step: step, full_step });
        }
        let coded = self.blocks(elements).checked_sub(full)?;
        let codes = scales.checked_add(coded.checked_mul(scale_bytes)?)?;
        Some(Places { scales, scale_step: scale_bytes, codes, code_step: code_bytes, full_step })
    }
}

/// Offsets and strides of a tensor's scales and codes, from the start of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    scales: u64,
    /// Bytes from one scale to the next.
    pub(crate) scale_step: u64,
    codes: u64,
    /// Bytes from the start of a block of codes to its end, a following scale included.
    pub(crate) code_step: u64,
    /// Bytes from the start of a full-precision block to its end.
    pub(crate) full_step: u64,
}

impl Places {
    /// The offset of the `index`-th scale.
    #[must_use]
    pub fn scale(&self, index: u64) -> Option<u64> {
        self.scales.checked_add(index.checked_mul(self.scale_step)?)
    }

    /// The offset of the block that follows `coded` blocks of codes and `full` full-precision
    /// blocks.
    #[must_use]
    pub fn block(&self, coded: u64, full: u64) -> Option<u64> {
        let halves = full.checked_mul(self.full_step)?;
        self.codes.checked_add(coded.checked_mul(self.code_step)?)?.checked_add(halves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(bits: CodeBits, block: u16, arrangement: Arrangement) -> ScaledCodes {
        ScaledCodes { bits, block, scales: ScaleType::F16, arrangement }
    }

    #[test]
    fn blocks_have_the_sizes_of_the_profile() {
        for (bits, block, bytes) in [
            (CodeBits::Four, 32, 18),
            (CodeBits::Four, 128, 66),
            (CodeBits::Five, 32, 22),
            (CodeBits::Five, 128, 82),
        ] {
            let codes = codes(bits, block, Arrangement::Interleaved);
            assert_eq!(codes.data_bytes(block.into(), 0), Some(bytes));
            assert_eq!(codes.data_bytes(1, 0), Some(bytes), "a partial block is stored full");
        }
    }

    #[test]
    fn one_block_may_hold_the_whole_tensor() {
        let codes = codes(CodeBits::Five, 0, Arrangement::Separate);
        assert_eq!((codes.blocks(13), codes.data_bytes(13, 0)), (1, Some(2 + 9)));
        assert_eq!(codes.data_bytes(0, 0), Some(2));
    }

    #[test]
    fn the_size_tells_how_many_blocks_are_in_full_precision() {
        let codes = codes(CodeBits::Four, 8, Arrangement::Adaptive);
        for full in 0..=13 {
            let bytes = codes.data_bytes(100, full).unwrap();
            assert_eq!(bytes, 2 + (13 - full) * 6 + full * 16);
            assert_eq!(codes.full_blocks(100, bytes), Some(full));
            assert_eq!(codes.full_blocks(100, bytes + 1), None);
        }
        assert_eq!(codes.full_blocks(100, 1), None);
        assert_eq!(codes.data_bytes(100, 14), None);
    }

    #[test]
    fn sizes_that_wrap_are_none() {
        for arrangement in [Arrangement::Separate, Arrangement::Interleaved, Arrangement::Adaptive]
        {
            for block in [0, 1, 32, u16::MAX] {
                let codes = codes(CodeBits::Eight, block, arrangement);
                assert_eq!(codes.data_bytes(u64::MAX, 0), None, "{block}");
            }
        }
    }
}
