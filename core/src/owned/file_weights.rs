//! Weights of files in memory, by their names.
//!
//! The files follow each other in one address space, so that a model need not know that they are
//! several.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::event::Mode;
use crate::format::safetensors::{Entry, Safetensors};
use crate::limit::filled;
use crate::limit::push;
use crate::limit::reserved;
use crate::limit::spelled;
use crate::model::{Matrix, SliceWeights, Weights};
use crate::tensor::TensorHeader;
use crate::text::json::chars;

/// The weights in a file whose tensors have been found.
pub(super) fn without_names(file: &[u8]) -> impl Weights + Sync {
    SliceWeights::new(file, |_: &str| None::<TensorHeader<'_>>)
}

/// Weights in files that lie in memory, whose tensors were found once.
#[derive(Clone, Debug)]
pub struct FileWeights<B> {
    files: Vec<Part<B>>,
    /// In the order of their names, once the file that they are in is there.
    tensors: Vec<Named>,
}

/// A tensor.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    /// How many were added before it.
    number: usize,
    header: TensorHeader<'static>,
}

/// A file and where its first byte is in the space of addresses.
#[derive(Clone, Debug)]
struct Part<B> {
    start: u64,
    bytes: B,
}

impl<B> Default for FileWeights<B> {
    fn default() -> Self {
        Self { files: Vec::new(), tensors: Vec::new() }
    }
}

impl<B: AsRef<[u8]>> FileWeights<B> {
    /// A file, without the names of its tensors.
    pub(super) fn from_file(bytes: B) -> Result<Self> {
        // Sorting names takes code that a page for one file need not have.
        let mut files = reserved(1)?;
        files.push(Part { start: 0, bytes });
        Ok(Self { files, tensors: Vec::new() })
    }
}

impl<B: AsRef<[u8]>> FileWeights<B> {
    /// Puts a file after the others. Of its tensors there are those that [`add`](Self::add) was
    /// told of with the answer of [`end`](Self::end) before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(super) fn push(&mut self, bytes: B) -> Result<()> {
        let start = self.end();
        self.sort();
        push(&mut self.files, Part { start, bytes })
    }

    /// Sorts the tensors. Of those with one name the first stays; answers where one lies that does
    /// not.
    fn sort(&mut self) -> Option<u64> {
        let mut twin = None;
        self.tensors.sort_unstable_by(|a, b| a.name.cmp(&b.name).then(a.number.cmp(&b.number)));
        self.tensors.dedup_by(|later, kept| {
            let is_twin = later.name == kept.name;
            if is_twin {
                twin = twin.or(Some(later.header.offset));
            }
            is_twin
        });
        twin
    }

    /// Puts a safetensors file after the others, with `prefix` before the names of its tensors.
    ///
    /// # Errors
    ///
    /// What is wrong with the file; [`ErrorKind::DuplicateName`] at a tensor that another file has.
    pub fn push_safetensors(&mut self, prefix: &str, file: B) -> Result<()> {
        /// Bytes of the header that describe a tensor, at least.
        const LEAST_ENTRY_BYTES: u64 = 48;
        let bytes = file.as_ref();
        let header = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        let entries = header.min(bytes.len() as u64) / LEAST_ENTRY_BYTES + 1;
        let mut entries = filled(entries as usize, Entry::default())?;
        let file_of_tensors = Safetensors::parse(bytes, Mode::Lenient, &mut entries)?;
        let start = self.end();
        for tensor in file_of_tensors.tensors() {
            let header = tensor.header();
            let name = spelled(prefix.chars().chain(chars(header.name)))?;
            self.add(name, start, header)?;
        }
        if let Some(twin) = self.sort() {
            return Err(Error::new(twin - start, ErrorKind::DuplicateName));
        }
        self.push(file)
    }

    /// Where the next file will begin.
    pub(super) fn end(&self) -> u64 {
        self.files.last().map_or(0, |part| part.start + part.bytes.as_ref().len() as u64)
    }

    /// Adds a tensor of the file that begins at `start`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(super) fn add(
        &mut self,
        name: String,
        start: u64,
        header: &TensorHeader<'_>,
    ) -> Result<()> {
        let TensorHeader { dtype, shape, offset, bytes, .. } = *header;
        let header = TensorHeader { name: "", dtype, shape, offset: start + offset, bytes };
        let number = self.tensors.len();
        push(&mut self.tensors, Named { name, number, header })
    }
}

impl<B: AsRef<[u8]>> Weights for FileWeights<B> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        Matrix::find(name, |name| self.header(name))
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        let place = self.tensors.binary_search_by(|own| own.name.as_str().cmp(name)).ok()?;
        self.tensors.get(place).map(|own| own.header)
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, _: &'t mut [u8]) -> Result<&'t [u8]> {
        let after = self.files.partition_point(|part| part.start <= offset);
        let part = after.checked_sub(1).and_then(|at| self.files.get(at));
        part.and_then(|Part { start, bytes }| {
            let start = usize::try_from(offset - start).ok()?;
            bytes.as_ref().get(start..start.checked_add(length)?)
        })
        .ok_or(Error::new(offset, ErrorKind::OutOfBounds))
    }

    fn borrows(&self) -> bool {
        true
    }
}
