//! The weights of a model, from one file or several, in memory or read piece by piece.
//!
//! The files share one address space, one after the other, so that a model sees one file.

use std::collections::HashMap;

use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::model::{Matrix, MatrixEncoding, Weights};
use nanoembed_core::source::stored::StoredWeights;
use nanoembed_core::tensor::{self, Dtype, Shape, TensorHeader, TensorView, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::bytes::Bytes;
use crate::error::NO_MEMORY;
use crate::files::on_disk::OnDisk;
use crate::hashed;

/// Tensors by their names, and the files that hold them.
#[derive(Default)]
pub struct ModelWeights {
    files: Vec<Part>,
    tensors: HashMap<String, TensorHeader<'static>>,
    /// Weights that are not stored as rows of elements or blocks.
    others: Vec<Located>,
    /// The index in `others` of the weight of a name.
    numbers: HashMap<String, usize>,
}

/// A file and where its first byte is in the space of addresses.
struct Part {
    start: u64,
    length: u64,
    place: Place,
}

/// Finds no tensors: those of all files together are known here.
type Find = fn(&str) -> Option<TensorHeader<'static>>;

enum Place {
    Memory(Bytes),
    Storage(StoredWeights<OnDisk, Find>),
}

/// A weight whose arrays are in the files.
struct Located {
    shape: Shape,
    /// Without arrays.
    encoding: tensor::Encoding<'static>,
    arrays: [Span; 3],
}

/// A range of the address space.
#[derive(Clone, Copy, Default)]
struct Span {
    start: u64,
    length: usize,
}

impl ModelWeights {
    /// The tensors of one file.
    pub(crate) fn from_file<'t>(
        bytes: &Bytes,
        tensors: impl Iterator<Item = TensorView<'t>>,
    ) -> Result<Self, CoreError> {
        let mut weights = Self::default();
        let start = weights.add_file(bytes)?;
        for tensor in tensors {
            let header = tensor.header();
            weights.add(header.name, start, header)?;
        }
        Ok(weights)
    }

    /// Adds a file after the others; returns its start.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn add_file(&mut self, bytes: &Bytes) -> Result<u64, CoreError> {
        let start = self.files.last().map_or(0, |last| last.start + last.length);
        let length = bytes.len() as u64;
        let part = Part { start, length, place: Place::Memory(bytes.clone()) };
        limit::push(&mut self.files, part)?;
        Ok(start)
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

    /// Adds a weight whose first array is at `offset` of the file that begins at `start`, unless
    /// there is one of that name. All arrays are in files that were added.
    pub(crate) fn add_weight(
        &mut self,
        name: &str,
        (start, offset): (u64, u64),
        weight: &Weight<'_>,
    ) -> Result<(), CoreError> {
        if self.numbers.contains_key(name) {
            return Ok(());
        }
        match *weight.encoding() {
            tensor::Encoding::Plain { dtype, data } => {
                let (shape, bytes) = (*weight.shape(), data.len() as u64);
                self.add(name, start, &TensorHeader { name: "", dtype, shape, offset, bytes })
            }
            encoding => {
                hashed::insert(&mut self.numbers, limit::copied(name)?, self.others.len())?;
                let located = Located {
                    shape: *weight.shape(),
                    encoding: encoding.with_arrays([&[]; 3]),
                    arrays: encoding.arrays().map(|array| self.locate(array)),
                };
                limit::push(&mut self.others, located)
            }
        }
    }

    /// The range of `array`, a part of one of the files.
    fn locate(&self, array: &[u8]) -> Span {
        let start = self.files.iter().find_map(|part| match &part.place {
            Place::Memory(bytes) if bytes.as_ptr_range().contains(&array.as_ptr()) => {
                let before = array.as_ptr().addr() - bytes.as_ptr().addr();
                Some(part.start + before as u64)
            }
            _ => None,
        });
        // Reading elsewhere is an error.
        Span { start: start.unwrap_or(u64::MAX), length: array.len() }
    }

    /// Adds a vector of f32 that is in no file.
    pub(super) fn add_vector(&mut self, name: &str, bytes: &[u8]) -> Result<(), CoreError> {
        let copy = limit::exactly(bytes.iter().copied())?;
        let start = self.add_file(&Bytes::from(copy))?;
        let shape = Shape::new(&[bytes.len() as u64 / 4]).unwrap_or(Shape::SCALAR);
        let bytes = bytes.len() as u64;
        self.add(
            name,
            start,
            &TensorHeader { name: "", dtype: Dtype::F32, shape, offset: 0, bytes },
        )
    }

    /// The weights of one file, read from `file` whenever they are needed instead of borrowed.
    pub(super) fn stored(self, file: OnDisk) -> ModelWeights {
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

impl Weights for ModelWeights {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>, CoreError> {
        let Some(&number) = self.numbers.get(name) else {
            return Matrix::find(name, |name| self.tensors.get(name).copied());
        };
        let overflow = CoreError::without_offset(ErrorKind::SizeOverflow);
        let shape = self.others.get(number).map_or(Shape::SCALAR, |weight| weight.shape);
        let size = |size: Option<u64>| usize::try_from(size.ok_or(overflow)?).map_err(|_| overflow);
        let (rows, cols) = (size(Some(shape.rows()))?, size(shape.cols())?);
        let encoding = MatrixEncoding::Values(u32::try_from(number).map_err(|_| overflow)?);
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
        let after = self.files.partition_point(|part| part.start <= offset);
        let part = after.checked_sub(1).and_then(|at| self.files.get(at)).ok_or(beyond)?;
        let start = offset - part.start;
        match &part.place {
            Place::Memory(file) => {
                let start = usize::try_from(start).map_err(|_| beyond)?;
                let end = start.checked_add(length).ok_or(beyond)?;
                file.get(start..end).ok_or(beyond)
            }
            Place::Storage(file) => file.bytes(start, length, tile),
        }
    }

    fn borrows(&self) -> bool {
        self.files.iter().all(|part| matches!(part.place, Place::Memory(_)))
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<(), CoreError> {
        let weight = usize::try_from(number).ok().and_then(|number| self.others.get(number));
        let Located { shape, encoding, arrays: spans } =
            weight.ok_or(CoreError::without_offset(ErrorKind::InvalidArgument))?;
        let first =
            usize::try_from(first).map_err(|_| CoreError::new(first, ErrorKind::OutOfBounds))?;
        let mut arrays = [&[][..]; 3];
        for (array, span) in arrays.iter_mut().zip(spans).filter(|(_, span)| span.length > 0) {
            *array = self.bytes(span.start, span.length, &mut [])?;
        }
        let weight = Weight::new(*shape, encoding.with_arrays(arrays));
        let weight = weight.map_err(CoreError::without_offset)?;
        Dequantizer::detect().dequantize_weight(&weight, first, out)
    }
}
