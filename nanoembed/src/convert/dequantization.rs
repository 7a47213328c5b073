//! Weights of any format as floats.

use std::path::PathBuf;

use nanoembed_core::tensor::Dtype;
use nanoembed_core::{Error as CoreError, limit};

use super::targets::safetensors::{Wanted, write};
use super::writing::WrittenFile;
use crate::choice::choices;
use crate::error::{Error, Result, name_of};
use crate::progress::{Observer, Progress};
use crate::stored::{Contents, FileSet, Stored};

choices! {
    /// The floats that are written.
    #[non_exhaustive]
    pub enum Float {
        /// 32 bits
        F32 = "f32",
        /// 16 bits, the nearest to each value
        F16 = "f16",
        /// 16 bits with the range of f32, the nearest to each value
        Bf16 = "bf16",
    }
}

impl Float {
    const fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
        }
    }
}

/// The weights of a file on their way to floats in a safetensors file.
/// [`Tensor::to_f32`](crate::Tensor::to_f32) gives those of one tensor.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::convert::Dequantization;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let output = folder.path().join("model.safetensors");
/// let written = Dequantization::new("../tests/data/gguf/small.gguf", &output).run(&Silent)?;
/// println!("{} bytes", written.bytes);
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dequantization {
    input: PathBuf,
    output: PathBuf,
    float: Float,
}

impl Dequantization {
    /// A dequantisation of all tensors to 32-bit floats.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), output: output.into(), float: Float::F32 }
    }

    /// The type of floats that is written.
    #[must_use]
    pub const fn float(mut self, float: Float) -> Self {
        self.float = float;
        self
    }

    /// Writes the output.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid or the output cannot be written.
    pub fn run(&self, observer: &dyn Observer) -> Result<WrittenFile> {
        let set = FileSet::open(&self.input)?;
        self.write(&set.contents()?, observer)
    }

    /// Writes the output from the contents of the input.
    #[doc(hidden)]
    pub fn write(&self, contents: &Contents<'_>, observer: &dyn Observer) -> Result<WrittenFile> {
        let total = contents.tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
        let progress = Progress::bytes(observer, "dequantising", total);
        let tensors = wanted(&contents.tensors, self.float.dtype())
            .map_err(|error| Error::in_file(name_of(&self.input), error))?;
        let bytes = write(&self.output, tensors, &[], &progress)?;
        Ok(WrittenFile { path: self.output.clone(), bytes })
    }
}

/// All tensors as floats of `dtype`; tensors that are no floats are copied.
fn wanted<'s, 'a>(
    tensors: &'s [Stored<'a>],
    dtype: Dtype,
) -> std::result::Result<Vec<Wanted<'s, 'a>>, CoreError> {
    let of = |tensor: &'s Stored<'a>| {
        let own = match tensor.values.type_name() {
            "i64" => Dtype::I64,
            "i32" => Dtype::I32,
            "u32" => Dtype::U32,
            "u64" => Dtype::U64,
            "i16" => Dtype::I16,
            "u16" => Dtype::U16,
            "i8" => Dtype::I8,
            "u8" => Dtype::U8,
            "bool" => Dtype::Bool,
            _ => dtype,
        };
        Ok(Wanted { name: limit::copied(&tensor.name)?, tensor, dtype: own })
    };
    limit::gathered(tensors.iter().map(of))
}
