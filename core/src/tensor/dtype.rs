//! Data types of tensor elements, and of the blocks that quantised tensors are made of.
//!
//! All types are rows of one table in this file; the functions that read and write their values are
//! rows of the tables in [`quant`](crate::quant).

use super::{Arrangement, ScaledCodes};

/// The family of a type, which determines the part of the library that reads its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DtypeKind {
    /// Numbers of whole bytes.
    Number,
    /// 8-bit floats (feature `fp8`).
    Fp8,
    /// Blocks as ggml defines them (feature `blocks-ggml`).
    Blocks,
    /// Integer codes under scales, as AMB stores them (feature `scaled-codes`).
    Scaled,
    /// Known by name and size only: files with such tensors are listed, checked and copied;
    /// computing with them and dequantising them is an error.
    Opaque,
}

/// Declares the types by their rows: description, variant, name, elements and bytes of a block,
/// kind, and ggml's number where ggml has the type.
///
/// Every column becomes its own `match`, so that a build links only the columns it uses.
macro_rules! dtypes {
    ($(
        $(#[doc = $description:literal])+
        $variant:ident $name:literal $elements:literal $bytes:literal
        $kind:ident $(ggml $number:literal)?;
    )+) => {
        /// The type of a tensor's elements, all little-endian.
        ///
        /// Most types store one element after the other. Block types store a fixed number of
        /// elements together, so that a single element has no byte size;
        /// [`data_bytes`](Self::data_bytes) gives the size of a tensor's data.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Dtype {
            $(
                $(#[doc = $description])+
                #[doc = concat!(
                    "(`", $name, "`; elements stored together: ", $elements, ", their bytes: ",
                    $bytes, ")."
                )]
                $variant,
            )+
            /// Integer codes under scales, as AMB stores them, in blocks over the flattened tensor.
            Scaled(ScaledCodes),
        }

        impl Dtype {
            /// Every type except the many variants of [`Scaled`](Self::Scaled).
            ///
            /// New types are added at the end: the C interface numbers types by their index.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in machine-readable output and in options.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Scaled(codes) => codes.name(),
                }
            }

            /// A human-readable line, such as `ggml: 4 bits, a scale for 32 elements`.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($description),+).trim_ascii(),)+
                    Self::Scaled(_) => "AMB: integer codes under scales",
                }
            }

            /// The number of elements that are stored together: 1, or that of a block (0 for one
            /// that holds the whole tensor).
            #[must_use]
            pub const fn block_elements(self) -> usize {
                match self {
                    $(Self::$variant => $elements,)+
                    Self::Scaled(codes) => codes.block as usize,
                }
            }

            /// The size of a block in bytes, which for most types is that of one element; 0 for
            /// scaled codes, whose blocks may be split over several arrays.
            #[must_use]
            pub const fn block_bytes(self) -> usize {
                match self {
                    $(Self::$variant => $bytes,)+
                    Self::Scaled(_) => 0,
                }
            }

            /// The family of the type.
            #[must_use]
            pub const fn kind(self) -> DtypeKind {
                match self {
                    $(Self::$variant => DtypeKind::$kind,)+
                    Self::Scaled(_) => DtypeKind::Scaled,
                }
            }

            /// ggml's number of the type, as GGUF and UQFF store it; `None` for types that ggml
            /// does not have.
            #[must_use]
            pub const fn ggml_number(self) -> Option<u32> {
                match self {
                    $($(Self::$variant => Some($number),)?)+
                    _ => None,
                }
            }

            /// The type with this ggml number; `None` for a number that ggml has removed or that is
            /// unknown.
            #[must_use]
            pub const fn from_ggml_number(number: u32) -> Option<Self> {
                match number {
                    $($($number => Some(Self::$variant),)?)+
                    _ => None,
                }
            }
        }
    };
}

dtypes! {
    // variant name     elements bytes kind ggml's number
    /// 64-bit floats
    F64        "f64"           1   8 Number ggml 28;
    /// 32-bit floats
    F32        "f32"           1   4 Number ggml 0;
    /// 16-bit floats
    F16        "f16"           1   2 Number ggml 1;
    /// 16-bit floats with the range of f32
    BF16       "bf16"          1   2 Number ggml 30;
    /// 8-bit floats with 4 exponent bits: no infinities, largest value 448
    F8E4M3     "f8_e4m3"       1   1 Fp8;
    /// 8-bit floats with 5 exponent bits: the upper half of a 16-bit float
    F8E5M2     "f8_e5m2"       1   1 Opaque;
    /// 8-bit powers of two, the scales of MX formats
    F8E8M0     "f8_e8m0"       1   1 Opaque;
    /// Signed 64-bit integers
    I64        "i64"           1   8 Number ggml 27;
    /// Signed 32-bit integers
    I32        "i32"           1   4 Number ggml 26;
    /// Signed 16-bit integers
    I16        "i16"           1   2 Number ggml 25;
    /// Signed 8-bit integers
    I8         "i8"            1   1 Number ggml 24;
    /// Unsigned 64-bit integers
    U64        "u64"           1   8 Number;
    /// Unsigned 32-bit integers
    U32        "u32"           1   4 Number;
    /// Unsigned 16-bit integers
    U16        "u16"           1   2 Number;
    /// Unsigned 8-bit integers
    U8         "u8"            1   1 Number;
    /// Bytes that are 0 or 1
    Bool       "bool"          1   1 Number;
    /// ggml: 4 bits, a scale for 32 elements
    Q4_0       "q4_0"         32  18 Blocks ggml 2;
    /// ggml: 4 bits, a scale and a minimum for 32 elements
    Q4_1       "q4_1"         32  20 Blocks ggml 3;
    /// ggml: 5 bits, a scale for 32 elements
    Q5_0       "q5_0"         32  22 Blocks ggml 6;
    /// ggml: 5 bits, a scale and a minimum for 32 elements
    Q5_1       "q5_1"         32  24 Blocks ggml 7;
    /// ggml: 8 bits, a scale for 32 elements
    Q8_0       "q8_0"         32  34 Blocks ggml 8;
    /// ggml: 8 bits, a scale and a sum for 32 elements
    Q8_1       "q8_1"         32  36 Blocks ggml 9;
    /// ggml: 2 bits in blocks of 256 elements, sixteen scales and minima
    Q2K        "q2_k"        256  84 Blocks ggml 10;
    /// ggml: 3 bits in blocks of 256 elements, sixteen scales
    Q3K        "q3_k"        256 110 Blocks ggml 11;
    /// ggml: 4 bits in blocks of 256 elements, eight scales and minima
    Q4K        "q4_k"        256 144 Blocks ggml 12;
    /// ggml: 5 bits in blocks of 256 elements, eight scales and minima
    Q5K        "q5_k"        256 176 Blocks ggml 13;
    /// ggml: 6 bits in blocks of 256 elements, sixteen scales
    Q6K        "q6_k"        256 210 Blocks ggml 14;
    /// ggml: 8 bits in blocks of 256 elements, an f32 scale and sixteen sums
    Q8K        "q8_k"        256 292 Blocks ggml 15;
    /// ggml: grid indices, 1.56 bits
    Iq1S       "iq1_s"       256  50 Opaque ggml 19;
    /// ggml: grid indices, 1.75 bits
    Iq1M       "iq1_m"       256  56 Opaque ggml 29;
    /// ggml: grid indices, 2.06 bits
    Iq2Xxs     "iq2_xxs"     256  66 Opaque ggml 16;
    /// ggml: grid indices, 2.31 bits
    Iq2Xs      "iq2_xs"      256  74 Opaque ggml 17;
    /// ggml: grid indices, 2.56 bits
    Iq2S       "iq2_s"       256  82 Opaque ggml 22;
    /// ggml: grid indices, 3.06 bits
    Iq3Xxs     "iq3_xxs"     256  98 Opaque ggml 18;
    /// ggml: grid indices, 3.44 bits
    Iq3S       "iq3_s"       256 110 Opaque ggml 21;
    /// ggml: 4-bit indices into a table, a scale for 32 elements
    Iq4Nl      "iq4_nl"       32  18 Blocks ggml 20;
    /// ggml: 4-bit indices into a table in blocks of 256 elements, eight scales
    Iq4Xs      "iq4_xs"      256 136 Blocks ggml 23;
    /// ggml: ternary digits, five a byte, a scale for 256 elements
    Tq1_0      "tq1_0"       256  54 Blocks ggml 34;
    /// ggml: ternary digits, four a byte, a scale for 256 elements
    Tq2_0      "tq2_0"       256  66 Blocks ggml 35;
    /// ggml: 4-bit floats, a power of two for 32 elements
    Mxfp4      "mxfp4"        32  17 Opaque ggml 39;
    /// ggml: 4-bit floats, an 8-bit scale for 16 elements
    Nvfp4      "nvfp4"        64  36 Opaque ggml 40;
    /// ggml: signs, a scale for 128 elements
    Q1_0       "q1_0"        128  18 Opaque ggml 41;
    /// Two singles, the real and the imaginary part
    C64        "c64"           1   8 Opaque;
    /// 8-bit floats with 4 exponent bits: neither infinities nor a negative zero
    F8E4M3Fnuz "f8_e4m3fnuz"   1   1 Opaque;
    /// 8-bit floats with 5 exponent bits: neither infinities nor a negative zero
    F8E5M2Fnuz "f8_e5m2fnuz"   1   1 Opaque;
    /// 6-bit floats with 2 exponent bits
    F6E2M3     "f6_e2m3"       4   3 Opaque;
    /// 6-bit floats with 3 exponent bits
    F6E3M2     "f6_e3m2"       4   3 Opaque;
    /// 4-bit floats
    F4         "f4"            2   1 Opaque;
}

impl Dtype {
    /// The type with this [`name`](Self::name); scaled codes are not found by name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// The number by which the length of a row must be divisible, so that no block spans two rows.
    #[must_use]
    pub const fn row_multiple(self) -> u64 {
        if self.is_packed_across_rows() { 1 } else { self.block_elements() as u64 }
    }

    /// True for safetensors' floats of fewer than eight bits: their tensors fill whole bytes, but a
    /// row may end inside a byte.
    #[must_use]
    pub const fn is_packed_across_rows(self) -> bool {
        matches!(self, Self::F4 | Self::F6E2M3 | Self::F6E3M2)
    }

    /// The size of one element in bytes; `None` for block types.
    #[must_use]
    pub const fn element_bytes(self) -> Option<usize> {
        if self.is_block() { None } else { Some(self.block_bytes()) }
    }

    /// True for types that store elements in blocks.
    #[must_use]
    pub const fn is_block(self) -> bool {
        self.block_elements() > 1 || matches!(self, Self::Scaled(_))
    }

    /// The size in bytes of `elements` elements; `None` if they are not a whole number of blocks,
    /// if the size does not fit 64 bits, or if it depends on the data, as that of adaptive codes
    /// does.
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

    #[test]
    fn names_and_numbers_lead_back_to_their_types() {
        for &dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            if let Some(number) = dtype.ggml_number() {
                assert_eq!(Dtype::from_ggml_number(number), Some(dtype));
            }
        }
    }

    #[test]
    fn tensors_of_small_floats_fill_whole_bytes_and_rows_need_not() {
        assert_eq!(Dtype::F4.data_bytes(6), Some(3));
        assert_eq!(Dtype::F4.data_bytes(5), None);
        assert_eq!(Dtype::F6E2M3.data_bytes(8), Some(6));
        assert_eq!(Dtype::F6E3M2.data_bytes(6), None);
        assert_eq!(Dtype::F4.row_multiple(), 1);
        assert_eq!(Dtype::Iq4Xs.row_multiple(), 256);
    }
}
