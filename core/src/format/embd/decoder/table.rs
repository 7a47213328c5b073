//! What is kept of each tensor, in memory of the decoder's own or of the caller.

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

/// The records of a decoder: those that are kept lie in front.
pub(super) struct Table<'t> {
    pub(super) room: &'t mut [TensorRecord],
    pub(super) kept: &'t mut Kept,
}

impl Table<'_> {
    /// The records so far.
    pub(super) fn all(&self) -> &[TensorRecord] {
        self.room.get(..self.kept.tensors).unwrap_or_default()
    }

    /// Refuses more tensors than there is room for; the file says at `offset` how many it has.
    pub(super) fn check_room(&self, tensors: u32, offset: u64) -> Result<()> {
        let has_room = tensors as usize <= self.room.len();
        if has_room { Ok(()) } else { Err(Error::new(offset, ErrorKind::TooManyTensors)) }
    }

    /// Keeps one more, for which there is [room](Self::check_room).
    pub(super) fn push(&mut self, record: TensorRecord) {
        if let Some(place) = self.room.get_mut(self.kept.tensors) {
            *place = record;
            self.kept.tensors = self.kept.tensors.saturating_add(1);
        }
    }

    /// Keeps the key of an entry, whose place is `offset`, refusing one that is there already.
    pub(super) fn remember_key(&mut self, key: &str, offset: u64) -> Result<()> {
        identity::remember(&mut self.kept.keys, key, offset, ErrorKind::TooManyEntries)
    }
}
