//! Files of weights, written: one file a format.

pub mod gguf;
pub mod safetensors;
pub mod uqff;

use nanoembed_core::format::uqff::{Extra, LayerFormat};
use nanoembed_core::owned::IoSink;
use nanoembed_core::sink::Sink;
use nanoembed_core::tensor::{Dtype, Encoding, Weight};
use nanoembed_core::{Error as CoreError, limit};

use crate::error::{Error, Result};
use crate::files::new_file::NewFile;
use crate::stored::{Stored, Values};

/// A tensor to be written.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    pub name: String,
    pub weight: Weight<'a>,
    /// Its form as a layer of UQFF, if it was one.
    pub layer: Option<(LayerFormat, Extra)>,
}

impl<'a> Item<'a> {
    pub const fn new(name: String, weight: Weight<'a>) -> Self {
        Self { name, weight, layer: None }
    }

    /// The type of its elements or blocks, if that is all there is to it.
    pub const fn dtype(&self) -> Option<Dtype> {
        match self.weight.encoding() {
            Encoding::Plain { dtype, .. } => Some(*dtype),
            _ => None,
        }
    }

    /// The elements or blocks; empty for other encodings.
    pub const fn data(&self) -> &'a [u8] {
        match *self.weight.encoding() {
            Encoding::Plain { data, .. } => data,
            _ => &[],
        }
    }

    /// All values, dequantised.
    pub fn floats(&self) -> Result<Vec<f32>> {
        let name = limit::copied(&self.name);
        let name = name.map_err(|error| Error::in_file(&self.name, error))?;
        Stored { name, values: Values::Weight(self.weight), offset: 0, file: 0 }.all()
    }

    /// True if the format stores floats by themselves.
    pub fn is_float(&self) -> bool {
        matches!(self.dtype(), Some(Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16))
    }
}

/// A file that the core writes to.
pub struct FileSink<'f>(IoSink<&'f mut NewFile>);

impl<'f> FileSink<'f> {
    pub const fn new(file: &'f mut NewFile) -> Self {
        Self(IoSink::new(file))
    }

    /// The result of one of the core's writers, with the system's own words if the file failed.
    pub fn judge<T>(mut self, written: std::result::Result<T, CoreError>) -> Result<T> {
        let failure = self.0.take_error();
        let name = self.0.into_inner().name();
        Error::from_written(written, failure, &name, &name)
    }
}

impl Sink for FileSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), CoreError> {
        self.0.write(bytes)
    }
}
