//! Writes the section variant in one pass and without allocating: a [`EmbdPlan`] determines everything
//! before the data, and the data is passed through.

use super::grammar::{
    CHECKED_HEADER_SIZE, DATA_ALIGNMENT, DESCRIPTOR_BYTES, FOOTER_MAGIC, Flags, HEADER_BYTES,
    HEADER_SIZE, MAGIC, MAX_METADATA_ENTRIES, METADATA_HEADER_BYTES, SPECIAL_BYTES,
    VOCABULARY_HEADER_BYTES, code_of, name_hash,
};
use crate::crc32::{Running, crc32};
use crate::error::{Error, ErrorKind, Result};
use crate::sink::Sink;
use crate::tensor::TensorSpec;
use crate::tensor::identity::check_unique;

/// A vocabulary to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbdVocabulary<'a> {
    /// The tokens in the order of their ids, each up to 65,535 bytes.
    pub tokens: &'a [&'a [u8]],
    /// The special tokens' ids, in the order of
    /// [`SpecialRole::ALL`](crate::event::SpecialRole::ALL).
    pub special: [u32; 5],
}

/// The contents of a file except for the tensors' data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbdPlan<'a> {
    /// Up to 128 non-empty unique keys, and values, each up to 65,535 bytes.
    pub metadata: &'a [(&'a str, &'a str)],
    /// The vocabulary to embed.
    pub vocabulary: Option<EmbdVocabulary<'a>>,
    /// The tensors in the order in which their data will be written.
    pub tensors: &'a [TensorSpec<'a>],
    /// True to start every tensor at a multiple of [`DATA_ALIGNMENT`].
    pub aligned: bool,
    /// True to write checksums to the footer.
    pub checksums: bool,
}

/// The offsets of a plan's parts.
#[derive(Clone, Copy)]
struct Layout {
    metadata_bytes: u64,
    token_bytes: u64,
    vocabulary_offset: u64,
    vocabulary_bytes: u64,
    index_offset: u64,
    data_offset: u64,
    data_bytes: u64,
}

impl<'a> EmbdPlan<'a> {
    /// A file with these tensors, aligned and with checksums, without metadata and vocabulary.
    #[must_use]
    pub const fn new(tensors: &'a [TensorSpec<'a>]) -> Self {
        Self { metadata: &[], vocabulary: None, tensors, aligned: true, checksums: true }
    }
}

impl EmbdPlan<'_> {
    /// The size of the file in bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the format cannot hold the plan: a name that is too long
    /// or empty, an unsupported shape, or more than 4 GiB before the data;
    /// [`ErrorKind::UnsupportedDtype`].
    pub fn file_bytes(&self) -> Result<u64> {
        let layout = self.layout()?;
        Ok(layout.data_offset + layout.data_bytes + super::grammar::FOOTER_BYTES)
    }

    fn flags(&self) -> u32 {
        let flag = |set, bit| if set { bit } else { 0 };
        flag(self.vocabulary.is_some(), Flags::VOCABULARY)
            | flag(self.aligned, Flags::ALIGNED)
            | flag(self.checksums, Flags::CHECKSUMS)
    }

    fn layout(&self) -> Result<Layout> {
        let metadata = self.metadata.iter().try_fold(0_u64, |sum, (key, value)| {
            let key = string_bytes(key.as_bytes()).filter(|&bytes| bytes > 0)?;
            Some(sum + 4 + key + string_bytes(value.as_bytes())?)
        });
        let metadata = metadata.filter(|_| self.metadata.len() <= MAX_METADATA_ENTRIES);
        let tokens = self.vocabulary.iter().flat_map(|vocabulary| vocabulary.tokens);
        let tokens =
            tokens.into_iter().try_fold(0_u64, |sum, token| Some(sum + 2 + string_bytes(token)?));
        let names = self.tensors.iter().try_fold(0_u64, |sum, tensor| {
            Some(sum + string_bytes(tensor.name.as_bytes()).filter(|&bytes| bytes > 0)?)
        });
        let (Some(metadata), Some(token_bytes), Some(names)) = (metadata, tokens, names) else {
            return Err(invalid());
        };
        let metadata_bytes = METADATA_HEADER_BYTES + metadata;
        let after_metadata = HEADER_BYTES + metadata_bytes;
        let (vocabulary_offset, vocabulary_bytes) = match self.vocabulary {
            Some(_) => (after_metadata, VOCABULARY_HEADER_BYTES + token_bytes + SPECIAL_BYTES),
            None => (0, 0),
        };
        let index_offset = after_metadata + vocabulary_bytes;
        let index_bytes = DESCRIPTOR_BYTES * self.tensors.len() as u64 + names;
        let data_offset = self.align(index_offset + index_bytes);
        if data_offset > u32::MAX.into() {
            return Err(invalid());
        }
        let data_bytes = self.tensors.iter().try_fold(0, |end, tensor| {
            self.align(end).checked_add(tensor_bytes(tensor)?).ok_or(invalid())
        })?;
        if data_bytes > u64::MAX / 2 {
            return Err(invalid());
        }
        Ok(Layout {
            metadata_bytes,
            token_bytes,
            vocabulary_offset,
            vocabulary_bytes,
            index_offset,
            data_offset,
            data_bytes,
        })
    }

    fn align(&self, offset: u64) -> u64 {
        if self.aligned {
            offset.checked_next_multiple_of(DATA_ALIGNMENT).unwrap_or(u64::MAX)
        } else {
            offset
        }
    }
}

fn invalid() -> Error {
    Error::without_offset(ErrorKind::InvalidArgument)
}

/// The length of a string, which the format stores in 16 bits.
fn string_bytes(string: &[u8]) -> Option<u64> {
    u16::try_from(string.len()).ok().map(u64::from)
}

fn tensor_bytes(tensor: &TensorSpec<'_>) -> Result<u64> {
    if code_of(tensor.dtype).is_none() {
        return Err(Error::without_offset(ErrorKind::UnsupportedDtype));
    }
    let dims = tensor.shape.dims();
    let known =
        (1..=4).contains(&dims.len()) && dims.iter().all(|&dim| dim > 0 && dim <= u32::MAX.into());
    let bytes = tensor.shape.elements().filter(|_| known);
    bytes.and_then(|elements| tensor.dtype.data_bytes(elements)).ok_or(invalid())
}

/// Writes one file: [`new`](Self::new) writes everything before the data, [`data`](Self::data) the
/// tensors in order, and [`finish`](Self::finish) the footer.
pub struct EmbdWriter<'p, S> {
    plan: EmbdPlan<'p>,
    sink: S,
    file: Running,
    data: Running,
    /// Bytes of data written, padding included.
    written: u64,
    data_bytes: u64,
    /// Index of the tensor whose data comes next, and the number of its missing bytes.
    tensor: usize,
    missing: u64,
}

impl<'p, S: Sink> EmbdWriter<'p, S> {
    /// Checks `plan` and writes everything before the data.
    ///
    /// # Errors
    ///
    /// As [`EmbdPlan::file_bytes`]; [`ErrorKind::DuplicateName`] if two tensors or two keys have the
    /// same name; any error from the sink.
    pub fn new(plan: EmbdPlan<'p>, sink: S) -> Result<Self> {
        let layout = plan.layout()?;
        check_unique(plan.tensors.iter().map(|tensor| tensor.name))?;
        check_unique(plan.metadata.iter().map(|(key, _)| *key))?;
        let mut writer = Self {
            plan,
            sink,
            file: Running::new(),
            data: Running::new(),
            written: 0,
            data_bytes: layout.data_bytes,
            tensor: 0,
            missing: 0,
        };
        writer.header(&layout)?;
        writer.metadata(&layout)?;
        writer.vocabulary(&layout)?;
        let index_end = writer.index(&layout)?;
        writer.zeros(layout.data_offset - index_end)?;
        writer.missing = plan.tensors.first().map_or(Ok(0), tensor_bytes)?;
        Ok(writer)
    }

    /// Writes the next bytes of data: the tensors' bytes in the order of the plan, cut anywhere,
    /// without padding.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is more data than planned; any error from the sink.
    pub fn data(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.missing == 0 {
                self.next_tensor()?;
            }
            let room = usize::try_from(self.missing).unwrap_or(usize::MAX);
            let (part, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.put_data(part)?;
            self.missing -= part.len() as u64;
            rest = after;
        }
        Ok(())
    }

    /// Writes the footer and returns the sink.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if data is missing; any error from the sink.
    pub fn finish(mut self) -> Result<S> {
        if self.written != self.data_bytes {
            return Err(Error::without_offset(ErrorKind::SizeMismatch));
        }
        let (data, file) =
            if self.plan.checksums { (self.data.finish(), self.file.finish()) } else { (0, 0) };
        self.sink.write(&data.to_le_bytes())?;
        self.sink.write(&file.to_le_bytes())?;
        self.sink.write(FOOTER_MAGIC)?;
        self.sink.write(&0_u32.to_le_bytes())?;
        Ok(self.sink)
    }

    fn header(&mut self, layout: &Layout) -> Result<()> {
        let mut header = [0; HEADER_SIZE];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            header[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(MAGIC);
        put(&1_u16.to_le_bytes());
        put(&0_u16.to_le_bytes());
        put(&self.plan.flags().to_le_bytes());
        put(&word(HEADER_BYTES)?);
        put(&word(layout.metadata_bytes)?);
        put(&word(layout.vocabulary_offset)?);
        put(&word(layout.vocabulary_bytes)?);
        put(&word(layout.index_offset)?);
        put(&word(self.plan.tensors.len() as u64)?);
        put(&word(layout.data_offset)?);
        put(&layout.data_bytes.to_le_bytes());
        put(&self.plan.file_bytes()?.to_le_bytes());
        let checksum = crc32(&header[..CHECKED_HEADER_SIZE]);
        header[CHECKED_HEADER_SIZE..CHECKED_HEADER_SIZE + 4]
            .copy_from_slice(&checksum.to_le_bytes());
        self.put(&header)
    }

    fn metadata(&mut self, layout: &Layout) -> Result<()> {
        self.put(&word(self.plan.metadata.len() as u64)?)?;
        self.put(&word(layout.metadata_bytes - METADATA_HEADER_BYTES)?)?;
        for (key, value) in self.plan.metadata {
            self.put(&short(key.len())?)?;
            self.put(&short(value.len())?)?;
            self.put(key.as_bytes())?;
            self.put(value.as_bytes())?;
        }
        Ok(())
    }

    fn vocabulary(&mut self, layout: &Layout) -> Result<()> {
        let Some(vocabulary) = self.plan.vocabulary else { return Ok(()) };
        self.put(&word(vocabulary.tokens.len() as u64)?)?;
        self.put(&word(layout.token_bytes)?)?;
        self.put(&word(layout.vocabulary_offset + layout.vocabulary_bytes - SPECIAL_BYTES)?)?;
        for token in vocabulary.tokens {
            self.put(&short(token.len())?)?;
            self.put(token)?;
        }
        for id in vocabulary.special {
            self.put(&id.to_le_bytes())?;
        }
        Ok(())
    }

    fn index(&mut self, layout: &Layout) -> Result<u64> {
        let mut end = 0;
        for tensor in self.plan.tensors {
            let offset = self.plan.align(end);
            end = offset + tensor_bytes(tensor)?;
            let dims = tensor.shape.dims();
            let code = code_of(tensor.dtype).ok_or(invalid())?;
            let ndim = u8::try_from(dims.len()).map_err(|_| invalid())?;
            self.put(&name_hash(tensor.name).to_le_bytes())?;
            self.put(&[code, ndim])?;
            self.put(&short(tensor.name.len())?)?;
            for axis in 0..4 {
                self.put(&word(dims.get(axis).copied().unwrap_or(0))?)?;
            }
            self.put(&offset.to_le_bytes())?;
        }
        let mut index_end = layout.index_offset + DESCRIPTOR_BYTES * self.plan.tensors.len() as u64;
        for tensor in self.plan.tensors {
            self.put(tensor.name.as_bytes())?;
            index_end += tensor.name.len() as u64;
        }
        Ok(index_end)
    }

    fn next_tensor(&mut self) -> Result<()> {
        self.tensor += 1;
        let tensor = self.plan.tensors.get(self.tensor).ok_or(invalid())?;
        self.missing = tensor_bytes(tensor)?;
        let padding = self.plan.align(self.written) - self.written;
        for _ in 0..padding {
            self.put_data(&[0])?;
        }
        Ok(())
    }

    fn put_data(&mut self, bytes: &[u8]) -> Result<()> {
        if self.plan.checksums {
            self.data.update(bytes);
        }
        self.written += bytes.len() as u64;
        self.put(bytes)
    }

    fn zeros(&mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            self.put(&[0])?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.plan.checksums {
            self.file.update(bytes);
        }
        self.sink.write(bytes)
    }
}

fn word(value: u64) -> Result<[u8; 4]> {
    u32::try_from(value).map(u32::to_le_bytes).map_err(|_| invalid())
}

fn short(value: usize) -> Result<[u8; 2]> {
    u16::try_from(value).map(u16::to_le_bytes).map_err(|_| invalid())
}
