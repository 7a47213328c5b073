//! Vectors as they are written into lines and arrays: in as many bits as were asked for.

use std::io::{self, Write};

use nanoembed::Precision;
use nanoembed::precision::{to_binary, to_f16, to_int8};
use serde::Serialize;

/// The numbers of a vector.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Numbers<'v> {
    F32(&'v [f32]),
    /// Each the nearest that 16 bits have.
    F16(Vec<f32>),
    Int8(Vec<i8>),
    Binary(Vec<u8>),
}

/// A vector in a given precision, and the scale of its 8-bit codes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored<'v> {
    pub(crate) numbers: Numbers<'v>,
    pub(crate) scale: Option<f32>,
}

impl<'v> Stored<'v> {
    pub(crate) fn new(vector: &'v [f32], precision: Precision) -> Self {
        let mut scale = None;
        let numbers = match precision {
            Precision::F32 => Numbers::F32(vector),
            Precision::F16 => {
                let mut halves = vec![nanoembed::f16::ZERO; vector.len()];
                to_f16(vector, &mut halves);
                Numbers::F16(halves.iter().map(|x| x.to_f32()).collect())
            }
            Precision::Int8 => {
                let mut codes = vec![0; vector.len()];
                scale = Some(to_int8(vector, &mut codes));
                Numbers::Int8(codes)
            }
            Precision::Binary => {
                let mut bits = vec![0; precision.width(vector.len())];
                to_binary(vector, &mut bits);
                Numbers::Binary(bits)
            }
        };
        Self { numbers, scale }
    }
}

impl Numbers<'_> {
    /// Writes them in a line, with spaces between.
    pub(crate) fn write_line(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::F32(numbers) => write_line(to, numbers),
            Self::F16(numbers) => write_line(to, numbers),
            Self::Int8(numbers) => write_line(to, numbers),
            Self::Binary(numbers) => write_line(to, numbers),
        }
    }
}

fn write_line<T: std::fmt::Display>(to: &mut impl Write, numbers: &[T]) -> io::Result<()> {
    for (ordinal, number) in numbers.iter().enumerate() {
        let space = if ordinal == 0 { "" } else { " " };
        write!(to, "{space}{number}")?;
    }
    to.write_all(b"\n")
}

/// NumPy's name for the elements of vectors.
pub(crate) const fn numpy_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => super::npy::F32,
        Precision::F16 => "<f2",
        Precision::Int8 => "|i1",
        Precision::Binary => "|u1",
    }
}

/// The bytes of a vector, little-endian.
pub(crate) fn bytes(vector: &[f32], precision: Precision) -> Vec<u8> {
    match Stored::new(vector, precision).numbers {
        Numbers::F32(numbers) => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Numbers::F16(numbers) => {
            numbers.iter().flat_map(|x| nanoembed::f16::from_f32(*x).to_le_bytes()).collect()
        }
        Numbers::Int8(codes) => codes.iter().map(|code| code.cast_unsigned()).collect(),
        Numbers::Binary(bits) => bits,
    }
}
