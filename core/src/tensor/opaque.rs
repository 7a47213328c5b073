//! Data types that are known by name and size only: files that hold them can be listed, checked and
//! copied, and are refused where values are wanted.
//!
//! ggml's blocks are those of a row; the small and the complex types are safetensors', whose
//! tensors need to fill whole bytes but whose rows need not.

/// Declares the types with what is known of each.
macro_rules! opaque {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $elements:literal $bytes:literal;)+) => {
        /// A type of elements whose values are not read here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Opaque {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Opaque {
            /// Every such type.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The type's name in machine-readable output.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The number of elements that are stored together.
            #[must_use]
            pub const fn block_elements(self) -> usize {
                match self { $(Self::$variant => $elements,)+ }
            }

            /// The bytes that so many elements take.
            #[must_use]
            pub const fn block_bytes(self) -> usize {
                match self { $(Self::$variant => $bytes,)+ }
            }
        }
    };
}

opaque! {
    /// ggml blocks of 256 elements in 50 bytes: grid indices of 1.56 bits.
    Iq1S "iq1_s" 256 50;
    /// ggml blocks of 256 elements in 56 bytes: grid indices of 1.75 bits.
    Iq1M "iq1_m" 256 56;
    /// ggml blocks of 256 elements in 66 bytes: grid indices of 2.06 bits.
    Iq2Xxs "iq2_xxs" 256 66;
    /// ggml blocks of 256 elements in 74 bytes: grid indices of 2.31 bits.
    Iq2Xs "iq2_xs" 256 74;
    /// ggml blocks of 256 elements in 82 bytes: grid indices of 2.56 bits.
    Iq2S "iq2_s" 256 82;
    /// ggml blocks of 256 elements in 98 bytes: grid indices of 3.06 bits.
    Iq3Xxs "iq3_xxs" 256 98;
    /// ggml blocks of 256 elements in 110 bytes: grid indices of 3.44 bits.
    Iq3S "iq3_s" 256 110;
    /// ggml blocks of 32 elements in 18 bytes: 4-bit indices into a table, a scale.
    Iq4Nl "iq4_nl" 32 18;
    /// ggml blocks of 256 elements in 136 bytes: 4-bit indices into a table, eight scales.
    Iq4Xs "iq4_xs" 256 136;
    /// ggml blocks of 256 elements in 54 bytes: ternary digits, five a byte.
    Tq1_0 "tq1_0" 256 54;
    /// ggml blocks of 256 elements in 66 bytes: ternary digits, four a byte.
    Tq2_0 "tq2_0" 256 66;
    /// ggml blocks of 32 elements in 17 bytes: 4-bit floats, a power of two.
    Mxfp4 "mxfp4" 32 17;
    /// ggml blocks of 64 elements in 36 bytes: 4-bit floats, four 8-bit scales.
    Nvfp4 "nvfp4" 64 36;
    /// ggml blocks of 128 elements in 18 bytes: signs, a scale.
    Q1_0 "q1_0" 128 18;
    /// Two singles, the real and the imaginary part.
    C64 "c64" 1 8;
    /// 8-bit float with 4 exponent bits: neither infinities nor a negative zero.
    F8E4M3Fnuz "f8_e4m3fnuz" 1 1;
    /// 8-bit float with 5 exponent bits: neither infinities nor a negative zero.
    F8E5M2Fnuz "f8_e5m2fnuz" 1 1;
    /// 6-bit float with 2 exponent bits; four elements take three bytes.
    F6E2M3 "f6_e2m3" 4 3;
    /// 6-bit float with 3 exponent bits; four elements take three bytes.
    F6E3M2 "f6_e3m2" 4 3;
    /// 4-bit float; two elements take a byte.
    F4 "f4" 2 1;
}

impl Opaque {
    /// Whether a row may end inside of what is stored together.
    #[must_use]
    pub const fn is_packed_across_rows(self) -> bool {
        matches!(self, Self::F4 | Self::F6E2M3 | Self::F6E3M2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Dtype;
    use super::*;

    #[test]
    fn tensors_of_small_floats_fill_whole_bytes_and_rows_need_not() {
        assert_eq!(Dtype::Opaque(Opaque::F4).data_bytes(6), Some(3));
        assert_eq!(Dtype::Opaque(Opaque::F4).data_bytes(5), None);
        assert_eq!(Dtype::Opaque(Opaque::F6E2M3).data_bytes(8), Some(6));
        assert_eq!(Dtype::Opaque(Opaque::F6E3M2).data_bytes(6), None);
        assert_eq!(Dtype::Opaque(Opaque::F4).row_multiple(), 1);
        assert_eq!(Dtype::Opaque(Opaque::Iq4Xs).row_multiple(), 256);
    }
}
