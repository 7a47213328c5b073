//! The weights of a model, out of one file or several, in memory or read piece by piece.
//!
//! The files share one address space, one after the other, so that the model need not know that
//! they are several.

use std::collections::HashMap;

use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::model::stored::StoredWeights;
use nanoembed_core::model::{Encoding, Matrix, SliceWeights, Weights};
use nanoembed_core::tensor::{self, Dtype, Shape, TensorHeader, TensorView, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::files::on_disk::OnDisk;

const NO_MEMORY: CoreError = CoreError::without_offset(ErrorKind::NoMemory);

/// Tensors by their names, and the files that hold them.
#[derive(Default)]
pub struct ModelWeights<'f> {
    files: Vec<Part<'f>>,
    tensors: HashMap<String, TensorHeader<'static>>,
    /// Weights that are not stored as rows of elements or blocks.
    others: Vec<Weight<'f>>,
    /// The index in `others` of the weight of a name.
    numbers: HashMap<String, usize>,
}

/// A file and where its first byte is in the space of addresses.
struct Part<'f> {
    start: u64,
    length: u64,
    place: Place<'f>,
}

/// Finds no tensors: those of all files together are known here.
type Find = fn(&str) -> Option<TensorHeader<'static>>;

enum Place<'f> {
    Memory(SliceWeights<'f, Find>),
    Storage(StoredWeights<OnDisk, Find>),
}

impl<'f> ModelWeights<'f> {
    /// The tensors of one file.
    pub(crate) fn from_file(
        bytes: &'f [u8],
        tensors: impl Iterator<Item = TensorView<'f>>,
    ) -> Result<ModelWeights<'f>, CoreError> {
        let mut weights = Self::default();
        let start = weights.add_file(bytes);
        for tensor in tensors {
            let header = tensor.header();
            weights.add(header.name, start, header)?;
        }
        Ok(weights)
    }

    /// Adds a file after the others; returns its start.
    pub(crate) fn add_file(&mut self, bytes: &'f [u8]) -> u64 {
        let start = self.files.last().map_or(0, |last| last.start + last.length);
        let place = Place::Memory(SliceWeights::new(bytes, |_| None));
        self.files.push(Part { start, length: bytes.len() as u64, place });
        start
    }

    /// Adds a tensor of the file that begins at `start`, unless there is one of that name.
    pub(crate) fn add(
        &mut self,
        name: &str,
        start: u64,
        header: &TensorHeader<'_>,
    ) -> Result<(), CoreError> {
        let TensorHeader { dtype, shape, offset, bytes, .. } = *header;
        let header = TensorHeader { name: "", dtype, shape, offset: start + offset, bytes };
        self.tensors.try_reserve(1).map_err(|_| NO_MEMORY)?;
        self.tensors.entry(limit::copied(name)?).or_insert(header);
        Ok(())
    }

    /// True if there is a tensor of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name) || self.numbers.contains_key(name)
    }

    /// Adds a weight whose array is at `offset` of the file that begins at `start`, unless there is
    /// one of that name.
    pub(crate) fn add_weight(
        &mut self,
        name: &str,
        (start, offset): (u64, u64),
        weight: &Weight<'f>,
    ) -> Result<(), CoreError> {
        if self.numbers.contains_key(name) {
            return Ok(());
        }
        match *weight.encoding() {
            tensor::Encoding::Plain { dtype, data } => {
                let (shape, bytes) = (*weight.shape(), data.len() as u64);
                self.add(name, start, &TensorHeader { name: "", dtype, shape, offset, bytes })
            }
            _ => {
                self.numbers.try_reserve(1).map_err(|_| NO_MEMORY)?;
                self.numbers.insert(limit::copied(name)?, self.others.len());
                limit::push(&mut self.others, *weight)
            }
        }
    }

    /// Adds a vector of f32 that is in no file.
    pub(super) fn add_vector(&mut self, name: &str, bytes: &'f [u8]) -> Result<(), CoreError> {
        let start = self.add_file(bytes);
        let shape = Shape::new(&[bytes.len() as u64 / 4]).unwrap_or(Shape::SCALAR);
        let bytes = bytes.len() as u64;
        self.add(
            name,
            start,
            &TensorHeader { name: "", dtype: Dtype::F32, shape, offset: 0, bytes },
        )
    }

    /// The weights of one file, read from `file` whenever they are needed instead of borrowed.
    pub(super) fn stored(self, file: OnDisk) -> ModelWeights<'static> {
        let length = self.files.iter().map(|part| part.length).sum();
        let place = Place::Storage(StoredWeights::new(file, |_| None));
        let part = Part { start: 0, length, place };
        ModelWeights { files: vec![part], tensors: self.tensors, ..ModelWeights::default() }
    }

    /// Bytes of the largest row: what must be read at once at least.
    pub(crate) fn largest_row(&self) -> usize {
        let row = |header: &TensorHeader<'_>| match header.dtype {
            // Such rows are read in pieces.
            Dtype::Scaled(_) => 0,
            _ => header.bytes / header.shape.rows().max(1),
        };
        let largest = self.tensors.values().map(row).max().unwrap_or(0);
        usize::try_from(largest).unwrap_or(usize::MAX)
    }
}

impl Weights for ModelWeights<'_> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>, CoreError> {
        let Some(&number) = self.numbers.get(name) else {
            return Matrix::find(name, |name| self.tensors.get(name).copied());
        };
        let overflow = CoreError::without_offset(ErrorKind::SizeOverflow);
        let shape = self.others.get(number).map_or(Shape::SCALAR, |weight| *weight.shape());
        let size = |size: Option<u64>| usize::try_from(size.ok_or(overflow)?).map_err(|_| overflow);
        let (rows, cols) = (size(Some(shape.rows()))?, size(shape.cols())?);
        let encoding = Encoding::Values(u32::try_from(number).map_err(|_| overflow)?);
        Ok(Some(Matrix { encoding, rows, cols, ..Matrix::EMPTY }))
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        self.tensors.get(name).copied()
    }

    fn bytes<'t>(
        &'t self,
        offset: u64,
        length: usize,
        tile: &'t mut [u8],
    ) -> Result<&'t [u8], CoreError> {
        let beyond = CoreError::new(offset, ErrorKind::OutOfBounds);
        let behind = self.files.partition_point(|part| part.start <= offset);
        let part = behind.checked_sub(1).and_then(|at| self.files.get(at)).ok_or(beyond)?;
        match &part.place {
            Place::Memory(file) => file.bytes(offset - part.start, length, tile),
            Place::Storage(file) => file.bytes(offset - part.start, length, tile),
        }
    }

    fn borrows(&self) -> bool {
        self.files.iter().all(|part| matches!(part.place, Place::Memory(_)))
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<(), CoreError> {
        let weight = usize::try_from(number).ok().and_then(|number| self.others.get(number));
        let weight = weight.ok_or(CoreError::without_offset(ErrorKind::InvalidArgument))?;
        let first =
            usize::try_from(first).map_err(|_| CoreError::new(first, ErrorKind::OutOfBounds))?;
        Dequantizer::detect().dequantize_weight(weight, first, out)
    }
}
