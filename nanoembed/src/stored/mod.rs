//! Tensors as files of any format store them, under their names, ready to be dequantised.
//!
//! | file | role |
//! |---|---|
//! | `file_names` | names of shards and parts |
//! | `entries` | memory for the entries of a safetensors container |
//! | `files` | files that belong together, and their contents |
//! | `folder_weights` | which files of a folder hold its weights |
//! | `gguf_parts` | the parts of a split GGUF model |
//! | `uqff_set` | which shards of UQFF are one set |
//! | `diagnosis` | errors in a file, with the name of the thing at fault |
//! | `int8` | 8-bit codes whose scales are separate tensors |

pub mod diagnosis;
pub mod entries;
pub mod file_names;
pub mod files;
pub mod folder_weights;
pub mod gguf_parts;
mod int8;
pub mod uqff_set;

use nanoembed_core::event::Format;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::uqff::{Generation, UqffLayer};
use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::tensor::{Dtype, Encoding, Shape, TensorView, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::error::{Error, Result};
use int8::Int8;

pub use files::FileSet;

/// The contents of one file, or of several that belong together.
pub struct Contents<'a> {
    pub format: Format,
    /// The layout of UQFF.
    pub generation: Option<Generation>,
    /// All tensors; of UQFF the weights and biases of its layers, called as in other formats.
    pub tensors: Vec<Stored<'a>>,
    /// The layers of UQFF, in the order of their names.
    pub layers: Vec<UqffLayer<'a>>,
    /// The files as GGUF, for that format.
    pub gguf: Vec<Gguf<'a>>,
}

impl<'a> Contents<'a> {
    /// The tensor called `name`; a layer's weight may be called like the layer.
    pub fn tensor(&self, name: &str) -> Option<&Stored<'a>> {
        let named = |name: &str| self.tensors.iter().find(|tensor| tensor.name == name);
        named(name).or_else(|| named(&format!("{name}.weight")))
    }

    /// The tensor that a user asked for.
    pub fn wanted(&self, name: &str, file: &str) -> Result<&Stored<'a>> {
        self.tensor(name).ok_or_else(|| {
            let lower = name.to_lowercase();
            let like = self.tensors.iter().find(|t| t.name.to_lowercase().contains(&lower));
            let failure = Error::not_found(format!("there is no tensor `{name}`")).at(file);
            match like.or(self.tensors.first()) {
                Some(like) => failure.with_hint(format!(
                    "there is `{}`; `nanoembed inspect {file}` lists all {}",
                    like.name,
                    self.tensors.len()
                )),
                None => failure,
            }
        })
    }
}

/// A tensor of a file.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    pub name: String,
    pub values: Values<'a>,
    /// The offset of its data, and the index of its file.
    pub offset: u64,
    pub file: usize,
}

/// The form of the values.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    Weight(Weight<'a>),
    Int8(Int8<'a>),
}

impl<'a> Values<'a> {
    /// Elements or blocks of one type. In a validated file the length fits the shape.
    pub fn plain(view: &TensorView<'a>) -> std::result::Result<Self, CoreError> {
        let header = view.header();
        let plain = Encoding::Plain { dtype: header.dtype, data: view.data() };
        let weight = Weight::new(header.shape, plain);
        weight.map(Self::Weight).map_err(|kind| CoreError::new(header.offset, kind))
    }

    pub fn shape(&self) -> &Shape {
        match self {
            Self::Weight(weight) => weight.shape(),
            Self::Int8(int8) => &int8.shape,
        }
    }

    pub fn elements(&self) -> u64 {
        self.shape().elements().unwrap_or(0)
    }

    /// The type's name in machine-readable output.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Weight(weight) => weight.encoding().name(),
            Self::Int8(int8) => int8.type_name(),
        }
    }

    /// All arrays; empty ones for those that the type does not have.
    pub fn arrays(&self) -> [&'a [u8]; 4] {
        match self {
            Self::Weight(weight) => {
                let [first, second, third] = weight.encoding().arrays();
                [first, second, third, &[]]
            }
            Self::Int8(int8) => int8.arrays(),
        }
    }

    /// Bytes of all arrays and scales together.
    pub fn stored_bytes(&self) -> u64 {
        match self {
            Self::Weight(weight) => weight.encoding().stored_bytes(),
            Self::Int8(int8) => int8.stored_bytes(),
        }
    }

    /// True if other formats can hold the values: not the codes of `.weights` and `.amb` files.
    pub const fn is_portable(&self) -> bool {
        match self {
            Self::Weight(weight) => {
                !matches!(weight.encoding(), Encoding::Plain { dtype: Dtype::Scaled(_), .. })
            }
            Self::Int8(_) => false,
        }
    }

    /// Dequantises elements from `first` on, in row-major order, to fill `out`.
    pub fn read(&self, first: usize, out: &mut [f32]) -> std::result::Result<(), CoreError> {
        match self {
            Self::Weight(weight) => Dequantizer::detect().dequantize_weight(weight, first, out),
            Self::Int8(int8) => {
                int8.read(first, out).ok_or(CoreError::new(0, ErrorKind::SizeMismatch))
            }
        }
    }
}

impl Stored<'_> {
    /// The elements of a piece that [`pieces`](Self::pieces) gives: some megabytes of f32.
    const PIECE: usize = 1 << 20;

    /// Calls `take` with all values, dequantised piece by piece.
    pub fn pieces(&self, mut take: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        let elements = usize::try_from(self.values.elements()).unwrap_or(usize::MAX);
        let piece = limit::filled(elements.min(Self::PIECE), 0.0);
        let mut piece = piece.map_err(|error| Error::in_file(&self.name, error))?;
        let mut first = 0;
        while first < elements {
            let length = piece.len().min(elements - first);
            let values = piece.get_mut(..length).unwrap_or_default();
            self.read(first, values)?;
            take(values)?;
            first += length;
        }
        Ok(())
    }

    /// Dequantises elements from `first` on, to fill `out`.
    pub fn read(&self, first: usize, out: &mut [f32]) -> Result<()> {
        self.values.read(first, out).map_err(|error| {
            let message =
                format!("`{}` is {}: {}", self.name, self.values.type_name(), error.message());
            Error::input(error.kind(), message)
        })
    }

    /// All values.
    pub fn all(&self) -> Result<Vec<f32>> {
        let elements = usize::try_from(self.values.elements()).unwrap_or(usize::MAX);
        let mut values =
            limit::filled(elements, 0.0).map_err(|error| Error::in_file(&self.name, error))?;
        self.read(0, &mut values)?;
        Ok(values)
    }
}
