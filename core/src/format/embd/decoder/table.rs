//! What is kept of each tensor, in memory of the decoder's own or of the caller.

use core::borrow::Borrow;

use heapless::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::grammar::{Descriptor, MAX_METADATA_ENTRIES};
use crate::tensor::{Dtype, identity};

/// Room for what a [`Decoder`](super::Decoder) keeps of one tensor: 48 bytes.
#[derive(Clone, Copy, Debug)]
pub struct TensorRecord {
    pub(super) descriptor: Descriptor,
    /// A hash of its name that is long enough to tell names apart.
    pub(super) name: u64,
}

impl TensorRecord {
    /// Room for a tensor.
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

/// How many records there are, and the keys of the metadata.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) tensors: usize,
    pub(super) keys: Vec<u64, MAX_METADATA_ENTRIES>,
}

/// Where the records of a decoder are.
pub(super) trait Records {
    /// How many tensors there is room for.
    fn room(&self) -> usize;

    /// The descriptors of the first so many tensors.
    fn descriptors(&self, count: usize) -> impl Iterator<Item: Borrow<Descriptor>>;

    fn descriptor(&self, index: usize) -> Option<impl Borrow<Descriptor>>;

    /// Keeps the descriptor of a tensor, for which there is room; the file says at `place` what it
    /// is.
    fn describe(&mut self, index: usize, descriptor: Descriptor, place: u64);

    /// Keeps the hash of a tensor's name, refusing that of a tensor before; the file spells it at
    /// `place`.
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

/// The records of a decoder: those that are kept lie in front.
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

    /// Refuses more tensors than there is room for; the file says at `offset` how many it has.
    pub(super) fn check_room(&self, tensors: u32, offset: u64) -> Result<()> {
        let has_room = tensors as usize <= self.records.room();
        if has_room { Ok(()) } else { Err(Error::new(offset, ErrorKind::TooManyTensors)) }
    }

    /// Keeps one more, for which there is [room](Self::check_room).
    pub(super) fn describe(&mut self, descriptor: Descriptor, place: u64) {
        self.records.describe(self.kept.tensors, descriptor, place);
        self.kept.tensors = self.kept.tensors.saturating_add(1);
    }

    /// Keeps one more whose name is all that is kept.
    pub(super) fn push_name(&mut self, name: u64, place: u64) -> Result<()> {
        self.records.name(self.kept.tensors, name, place)?;
        self.kept.tensors = self.kept.tensors.saturating_add(1);
        Ok(())
    }

    /// Keeps the key of an entry, whose place is `offset`, refusing one that is there already.
    pub(super) fn remember_key(&mut self, key: &str, offset: u64) -> Result<()> {
        identity::remember(&mut self.kept.keys, key, offset, ErrorKind::TooManyEntries)
    }
}
