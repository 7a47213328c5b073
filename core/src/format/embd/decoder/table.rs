//! The record of each tensor, in the decoder's own memory or the caller's.

use core::borrow::Borrow;

use heapless::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::grammar::{Descriptor, MAX_METADATA_ENTRIES};
use crate::tensor::{Dtype, identity};

/// The record that a [`EmbdDecoder`](super::EmbdDecoder) keeps of one tensor: 48 bytes.
#[derive(Clone, Copy, Debug)]
pub struct TensorRecord {
    pub(super) descriptor: Descriptor,
    /// A hash of its name, long enough to identify it.
    pub(super) name: u64,
}

impl TensorRecord {
    /// An unused record.
    pub const EMPTY: Self = Self {
        descriptor: Descriptor {
            name_hash: 0,
            name_bytes: 0,
            dtype: Dtype::F32,
            ndim: 0,
            dims: [0; 4],
            data_offset: 0,
        },
        name: 0,
    };
}

/// The number of records, and the keys of the metadata.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) tensors: usize,
    pub(super) keys: Vec<u64, MAX_METADATA_ENTRIES>,
}

/// The storage of a decoder's records.
pub(super) trait Records {
    /// The capacity in tensors.
    fn room(&self) -> usize;

    /// The descriptors of the first `count` tensors.
    fn descriptors(&self, count: usize) -> impl Iterator<Item: Borrow<Descriptor>>;

    fn descriptor(&self, index: usize) -> Option<impl Borrow<Descriptor>>;

    /// Keeps the descriptor of a tensor, which is at `place` in the file; there must be room for
    /// it.
    fn describe(&mut self, index: usize, descriptor: Descriptor, place: u64);

    /// Keeps the hash of a tensor's name, which is at `place` in the file; rejects a duplicate.
    fn name(&mut self, index: usize, name: u64, place: u64) -> Result<()>;
}

impl Records for [TensorRecord] {
    fn room(&self) -> usize {
        self.len()
    }

    fn descriptors(&self, count: usize) -> impl Iterator<Item: Borrow<Descriptor>> {
        self.get(..count).unwrap_or_default().iter().map(|record| &record.descriptor)
    }

    fn descriptor(&self, index: usize) -> Option<impl Borrow<Descriptor>> {
        self.get(index).map(|record| &record.descriptor)
    }

    fn describe(&mut self, index: usize, descriptor: Descriptor, _: u64) {
        if let Some(place) = self.get_mut(index) {
            *place = TensorRecord { descriptor, name: 0 };
        }
    }

    fn name(&mut self, index: usize, name: u64, place: u64) -> Result<()> {
        if self.iter().take(index).any(|other| other.name == name) {
            return Err(Error::new(place, ErrorKind::DuplicateName));
        }
        if let Some(record) = self.get_mut(index) {
            record.name = name;
        }
        Ok(())
    }
}

/// The records of a decoder; the used ones come first.
pub(super) struct Table<'t, R: ?Sized> {
    pub(super) records: &'t mut R,
    pub(super) kept: &'t mut Kept,
}

impl<R: Records + ?Sized> Table<'_, R> {
    /// The descriptors so far.
    pub(super) fn descriptors(&self) -> impl Iterator<Item: Borrow<Descriptor>> {
        self.records.descriptors(self.kept.tensors)
    }

    pub(super) fn descriptor(&self, index: usize) -> Option<impl Borrow<Descriptor>> {
        let is_there = index < self.kept.tensors;
        if is_there { self.records.descriptor(index) } else { None }
    }

    /// Rejects more tensors than the capacity; their number is at `offset` in the file.
    pub(super) fn check_room(&self, tensors: u32, offset: u64) -> Result<()> {
        let has_room = tensors as usize <= self.records.room();
        if has_room { Ok(()) } else { Err(Error::new(offset, ErrorKind::TooManyTensors)) }
    }

    /// Keeps one more descriptor; there must be [room](Self::check_room) for it.
    pub(super) fn describe(&mut self, descriptor: Descriptor, place: u64) {
        self.records.describe(self.kept.tensors, descriptor, place);
        self.kept.tensors = self.kept.tensors.saturating_add(1);
    }

    /// Keeps one more tensor of which only the name is recorded.
    pub(super) fn push_name(&mut self, name: u64, place: u64) -> Result<()> {
        self.records.name(self.kept.tensors, name, place)?;
        self.kept.tensors = self.kept.tensors.saturating_add(1);
        Ok(())
    }

    /// Keeps the key of the entry at `offset`; rejects a duplicate.
    pub(super) fn remember_key(&mut self, key: &str, offset: u64) -> Result<()> {
        identity::remember(&mut self.kept.keys, key, offset, ErrorKind::TooManyEntries)
    }
}
