//! The types that weights are quantised to, and what each of them can hold.

use std::fmt;
use std::str::FromStr;

use nanoembed_core::quant::has_quantizer;
use nanoembed_core::tensor::{Dtype, DtypeKind, Shape};

use crate::choice::Choice;
use crate::error::Error;

/// A type of weights; [`FromStr`] takes its name, such as `q4k` or `afq6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantType(Scheme);

/// The scheme that a type stores weights by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Elements or blocks of one type.
    Plain(Dtype),
    /// Half-quadratic, groups of [`HQQ_GROUP`].
    Hqq { bits: u8 },
    /// Affine, groups of 64 or 32.
    Afq { bits: u8 },
    /// 8-bit floats under one scale.
    Fp8,
    /// Signed bytes under 8-bit floats.
    F8q8,
    /// 4-bit floats under powers of two.
    Mxfp4,
}

/// The schemes of several arrays, their names and descriptions.
const ARRAYS: [(Scheme, &str, &str); 10] = [
    (Scheme::Hqq { bits: 8 }, "hqq8", "Half-quadratic: 8 bits, groups of 64"),
    (Scheme::Hqq { bits: 4 }, "hqq4", "Half-quadratic: 4 bits, groups of 64"),
    (Scheme::Afq { bits: 8 }, "afq8", "Affine: 8 bits"),
    (Scheme::Afq { bits: 6 }, "afq6", "Affine: 6 bits"),
    (Scheme::Afq { bits: 4 }, "afq4", "Affine: 4 bits"),
    (Scheme::Afq { bits: 3 }, "afq3", "Affine: 3 bits"),
    (Scheme::Afq { bits: 2 }, "afq2", "Affine: 2 bits"),
    (Scheme::Fp8, "fp8", "8-bit floats under one scale"),
    (Scheme::F8q8, "f8q8", "Signed bytes, an 8-bit float for 32 elements"),
    (Scheme::Mxfp4, "mxfp4", "4-bit floats, a power of two for 32 elements"),
];

/// Returns true for types whose elements or blocks are all there is to a weight.
const fn is_plain(dtype: Dtype) -> bool {
    has_quantizer(dtype) && matches!(dtype.kind(), DtypeKind::Number | DtypeKind::Blocks)
}

const PLAIN_COUNT: usize = {
    let (mut count, mut index) = (0, 0);
    while index < Dtype::ALL.len() {
        if is_plain(Dtype::ALL[index]) {
            count += 1;
        }
        index += 1;
    }
    count
};

const ALL: [QuantType; PLAIN_COUNT + ARRAYS.len()] = {
    let mut all = [QuantType::F32; PLAIN_COUNT + ARRAYS.len()];
    let (mut count, mut index) = (0, 0);
    while index < Dtype::ALL.len() {
        if is_plain(Dtype::ALL[index]) {
            all[count] = QuantType(Scheme::Plain(Dtype::ALL[index]));
            count += 1;
        }
        index += 1;
    }
    let mut array = 0;
    while array < ARRAYS.len() {
        all[count + array] = QuantType(ARRAYS[array].0);
        array += 1;
    }
    all
};

/// Elements in a group of HQQ, as the reference has them.
pub const HQQ_GROUP: u64 = 64;

impl QuantType {
    /// 32-bit floats.
    pub const F32: Self = Self(Scheme::Plain(Dtype::F32));
    /// 16-bit floats.
    pub const F16: Self = Self(Scheme::Plain(Dtype::F16));
    /// 16-bit floats with the range of f32.
    pub const BF16: Self = Self(Scheme::Plain(Dtype::BF16));
    /// ggml: 8 bits, a scale for 32 elements.
    pub const Q8_0: Self = Self(Scheme::Plain(Dtype::Q8_0));

    /// The scheme of the type.
    pub(in crate::convert) const fn scheme(self) -> Scheme {
        self.0
    }

    /// The name, as it is spelled in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Scheme::Plain(Dtype::Q6K) => "q6k",
            Scheme::Plain(Dtype::Q4K) => "q4k",
            Scheme::Plain(dtype) => dtype.name(),
            scheme => row(scheme).map_or("", |row| row.1),
        }
    }

    /// The type of elements or blocks, if that is all there is to the type.
    pub const fn dtype(self) -> Option<Dtype> {
        match self.0 {
            Scheme::Plain(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// The type that llama.cpp takes for rows that are no whole blocks of this one, with smaller blocks
    /// and at least as many bits.
    pub(in crate::convert) const fn for_other_rows(self) -> Option<Self> {
        let dtype = match self.0 {
            Scheme::Plain(Dtype::Q4K) => Dtype::Q5_0,
            Scheme::Plain(Dtype::Q6K) => Dtype::Q8_0,
            Scheme::Plain(Dtype::Tq1_0 | Dtype::Tq2_0) => Dtype::Q4_0,
            _ => return None,
        };
        Some(Self(Scheme::Plain(dtype)))
    }

    /// Rejects shapes that the type cannot store, with the reason.
    pub fn suits(self, shape: &Shape) -> Result<(), Unsuited> {
        let row = shape.dims().last().copied().unwrap_or(1);
        let block = match self.0 {
            Scheme::Hqq { .. } => {
                let elements = shape.elements().unwrap_or(1);
                if shape.dims().len() != 2 {
                    return Err(Unsuited::Dimensions("HQQ"));
                }
                return if elements.is_multiple_of(HQQ_GROUP) {
                    Ok(())
                } else {
                    Err(Unsuited::Groups { elements })
                };
            }
            Scheme::Fp8 | Scheme::F8q8 if shape.dims().len() != 2 => {
                return Err(Unsuited::Dimensions("this type"));
            }
            Scheme::Fp8 | Scheme::F8q8 => 1,
            Scheme::Mxfp4 | Scheme::Afq { .. } => 32,
            Scheme::Plain(dtype) => dtype.block_elements() as u64,
        };
        if row.is_multiple_of(block) { Ok(()) } else { Err(Unsuited::Blocks { row, block }) }
    }
}

/// The reason that a type cannot store a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsuited {
    /// The named type stores matrices only.
    Dimensions(&'static str),
    /// The elements are not divided into groups of [`HQQ_GROUP`].
    Groups {
        /// The number of all elements.
        elements: u64,
    },
    /// Rows are not divided into blocks.
    Blocks {
        /// The elements of a row.
        row: u64,
        /// The elements of a block.
        block: u64,
    },
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dimensions(name) => write!(f, "{name} wants two dimensions"),
            Self::Groups { elements } => {
                write!(f, "{elements} elements are no whole groups of {HQQ_GROUP}")
            }
            Self::Blocks { row, block } => {
                write!(f, "rows of {row} elements are no whole blocks of {block}")
            }
        }
    }
}

fn row(scheme: Scheme) -> Option<&'static (Scheme, &'static str, &'static str)> {
    ARRAYS.iter().find(|(known, ..)| *known == scheme)
}

impl Choice for QuantType {
    const ALL: &'static [Self] = &ALL;

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn aliases(self) -> &'static [&'static str] {
        match self.0 {
            Scheme::Plain(Dtype::Q6K) => &["q6_k"],
            Scheme::Plain(Dtype::Q4K) => &["q4_k"],
            _ => &[],
        }
    }

    fn description(self) -> &'static str {
        match self.0 {
            Scheme::Plain(dtype) => dtype.description(),
            scheme => row(scheme).map_or("", |row| row.2),
        }
    }
}

impl FromStr for QuantType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::from_name(name).ok_or_else(|| {
            let names: Vec<_> = ALL.iter().map(|known| known.name()).collect();
            Error::usage(format!("there is no {name:?} among {names:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_leads_back_to_its_type_and_is_described() {
        for known in ALL {
            for name in [&[known.name()], known.aliases()].concat() {
                assert_eq!(name.parse::<QuantType>().unwrap(), known, "{name}");
            }
            assert!(!known.name().is_empty() && !known.description().is_empty());
        }
        assert!("q2_k".parse::<QuantType>().unwrap_err().message().contains("q4k"));
    }
}
