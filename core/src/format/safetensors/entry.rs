//! What is remembered of each tensor, in memory that the caller lends.

use crate::error::{Error, ErrorKind, Result};
use crate::text::json;

/// The place of one tensor and a hash of its name. Lent to a [`Decoder`](super::Decoder) as room for one tensor each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// A hash of the name that is long enough to tell names apart.
    pub(in crate::format) name: u64,
    /// The first byte of the data and the one behind the last, relative to the data.
    pub(in crate::format) begin: u64,
    pub(in crate::format) end: u64,
    /// Absolute offset of the name in the header, which is at most 100 MB long.
    pub(in crate::format) at: u32,
    /// Whatever a format in this container wants to remember.
    pub(in crate::format) tag: u32,
}

/// The entries that have been read, in lent memory.
#[derive(Debug)]
pub(in crate::format) struct Entries<'m> {
    room: &'m mut [Entry],
    count: usize,
}

impl<'m> Entries<'m> {
    pub(super) const fn new(room: &'m mut [Entry]) -> Self {
        Self { room, count: 0 }
    }

    pub(in crate::format) fn all(&self) -> &[Entry] {
        self.room.get(..self.count).unwrap_or(&[])
    }

    pub(in crate::format) fn all_mut(&mut self) -> &mut [Entry] {
        self.room.get_mut(..self.count).unwrap_or(&mut [])
    }

    pub(super) fn into_all(self) -> &'m mut [Entry] {
        self.room.get_mut(..self.count).unwrap_or(&mut [])
    }

    /// Keeps an entry, refusing a name that is there already.
    pub(super) fn push(&mut self, entry: Entry) -> Result<()> {
        let fail = |kind| Error::new(entry.at.into(), kind);
        if self.all().iter().any(|other| other.name == entry.name) {
            return Err(fail(ErrorKind::DuplicateName));
        }
        let free = self.room.get_mut(self.count).ok_or(fail(ErrorKind::TooManyTensors))?;
        *free = entry;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Sorts the entries by their places, and refuses gaps and overlaps; returns the length of the data.
    pub(super) fn tile(&mut self) -> Result<u64> {
        self.all_mut().sort_unstable_by_key(|entry| (entry.begin, entry.end));
        let mut end = 0;
        for entry in self.all() {
            if entry.begin != end {
                let overlaps = entry.begin < end;
                let kind =
                    if overlaps { ErrorKind::Overlap } else { ErrorKind::NotContiguous };
                return Err(Error::new(entry.at.into(), kind));
            }
            end = entry.end;
        }
        Ok(end)
    }
}

/// A hash of the name that `spelling` means.
pub(in crate::format) fn spelling_hash(spelling: &str) -> u64 {
    if !spelling.contains('\\') {
        return feed(FNV_BASIS, spelling);
    }
    let mut utf8 = [0; 4];
    json::chars(spelling).fold(FNV_BASIS, |hash, c| feed(hash, c.encode_utf8(&mut utf8)))
}

/// A hash of the name that `parts` make together.
pub(in crate::format) fn name_hash(parts: [&str; 2]) -> u64 {
    parts.into_iter().fold(FNV_BASIS, feed)
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// 64-bit FNV-1a.
fn feed(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
