//! Files of weights, whatever their format.

use std::fmt;
use std::path::Path;

use nanoembed_core::event::Format;

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::files::literal;
use crate::inspect::Distribution;
use crate::stored::{FileSet, Stored};

/// A file with tensors, or several that belong together: `.weights`, `.amb`, GGUF, UQFF,
/// safetensors.
///
/// ```
/// let file = nanoembed::File::open("../tests/data/gguf/small.gguf")?;
/// for tensor in file.tensors()? {
///     println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.shape());
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
pub struct File(FileSet);

/// A tensor as a file stores it.
pub struct Tensor<'f>(Stored<'f>);

impl File {
    /// Opens a file, the first of several shards or parts with the others, or a folder as on
    /// Hugging Face.
    ///
    /// # Errors
    ///
    /// If it could not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        FileSet::open(&literal(path.as_ref())).map(Self)
    }

    /// A file in memory: its bytes, all of them. Files of several parts or shards are opened by
    /// [`open`](Self::open) alone.
    ///
    /// ```
    /// let bytes = std::fs::read("../tests/data/gguf/small.gguf")?;
    /// let file = nanoembed::File::from_bytes(bytes);
    /// assert_eq!(file.format(), Some(nanoembed::Format::Gguf));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self(FileSet::from_bytes("the file".into(), bytes.into()))
    }

    /// The format, as far as the first bytes tell.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        self.0.format()
    }

    /// The tensors in the order of the file; of UQFF the weights and biases of its layers, called
    /// as in other formats.
    ///
    /// # Errors
    ///
    /// Fails if the file is invalid.
    pub fn tensors(&self) -> Result<impl Iterator<Item = Tensor<'_>>> {
        Ok(self.0.contents()?.tensors.into_iter().map(Tensor))
    }

    /// The tensor called `name`; the weight of a layer may be called like the layer.
    ///
    /// # Errors
    ///
    /// Fails if the file is invalid, or with [`Kind::NotFound`](crate::Kind::NotFound).
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>> {
        self.0.contents()?.wanted(name, &self.0.name()).cloned().map(Tensor)
    }
}

impl Tensor<'_> {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The type of the elements, such as `f32` or `q4_k`.
    #[must_use]
    pub fn dtype(&self) -> &'static str {
        self.0.values.type_name()
    }

    /// The sizes, the outermost first.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        self.0.values.shape().dims()
    }

    /// Bytes in the file, of all arrays and scales together.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.0.values.stored_bytes()
    }

    /// The distribution of the values over `bins` bins, at most 100,000, between the smallest and
    /// the largest.
    ///
    /// # Errors
    ///
    /// If this crate cannot dequantise them, or the number of bins is out of range.
    pub fn distribution(&self, bins: usize) -> Result<Distribution> {
        match bins {
            1..=100_000 => Distribution::from_tensor(&self.0, bins),
            _ => Err(Error::argument("bins", "is 1 to 100,000")),
        }
    }

    /// All values, dequantised, in row-major order.
    ///
    /// # Errors
    ///
    /// If this crate cannot dequantise them.
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        self.0.all()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("File").field(&self.0.name()).finish()
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {} {:?})", self.name(), self.dtype(), self.shape())
    }
}
