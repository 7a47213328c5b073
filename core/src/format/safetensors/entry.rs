//! The record of each tensor, in caller-provided memory.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::identity;
use crate::text::json;

/// The extent of one tensor and a hash of its name. The caller provides one for each tensor to a
/// [`SafetensorsDecoder`](super::SafetensorsDecoder).
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// A hash of the name, long enough to identify it.
    pub(crate) name: u64,
    /// The begin and the end of the tensor, relative to the data.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Absolute offset of the name in the header, which is at most 100 MB long.
    pub(crate) at: u32,
    /// A value for formats in this container.
    pub(crate) tag: u32,
}

/// The entries read so far, in caller-provided memory.
#[derive(Debug)]
pub(crate) struct Entries<'m> {
    room: &'m mut [Entry],
    count: usize,
}

impl<'m> Entries<'m> {
    pub(super) const fn new(room: &'m mut [Entry]) -> Self {
        Self { room, count: 0 }
    }

    pub(crate) fn all(&self) -> &[Entry] {
        self.room.get(..self.count).unwrap_or(&[])
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Entry] {
        self.room.get_mut(..self.count).unwrap_or(&mut [])
    }

    pub(super) fn into_all(self) -> &'m mut [Entry] {
        self.room.get_mut(..self.count).unwrap_or(&mut [])
    }

    pub(super) fn push(&mut self, entry: Entry) -> Result<()> {
        let full = Error::new(entry.at.into(), ErrorKind::TooManyTensors);
        let free = self.room.get_mut(self.count).ok_or(full)?;
        *free = entry;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Rejects the first duplicate name. Sorts the entries by name: searching for each name as it
    /// is read would take quadratic time.
    pub(super) fn check_names(&mut self) -> Result<()> {
        sort(self.all_mut(), |entry| (entry.name, entry.at));
        let neighbours = self.all().iter().zip(self.all().iter().skip(1));
        let again = neighbours.filter(|(first, next)| first.name == next.name);
        match again.map(|(_, next)| next.at).min() {
            None => Ok(()),
            Some(at) => Err(Error::new(at.into(), ErrorKind::DuplicateName)),
        }
    }

    /// Sorts the entries by offset and rejects gaps and overlaps; returns the length of the data.
    pub(super) fn tile(&mut self) -> Result<u64> {
        sort(self.all_mut(), |entry| (entry.begin, entry.end));
        let mut end = 0;
        for entry in self.all() {
            if entry.begin != end {
                let overlaps = entry.begin < end;
                let kind = if overlaps { ErrorKind::Overlap } else { ErrorKind::NotContiguous };
                return Err(Error::new(entry.at.into(), kind));
            }
            end = entry.end;
        }
        Ok(end)
    }
}

/// Sorts entries by `key` with a heap sort, since the sort of `core` may panic.
pub(super) fn sort<K: Ord>(entries: &mut [Entry], key: impl Fn(&Entry) -> K) {
    if entries.is_sorted_by_key(&key) {
        return;
    }
    for root in (0..entries.len() / 2).rev() {
        sift(entries, root, &key);
    }
    let mut heap = entries;
    while let Some(last) = heap.len().checked_sub(1) {
        exchange(heap, 0, last);
        heap = heap.get_mut(..last).unwrap_or(&mut []);
        sift(heap, 0, &key);
    }
}

/// Sifts the entry at `root` down below all larger ones.
fn sift<K: Ord>(heap: &mut [Entry], root: usize, key: &impl Fn(&Entry) -> K) {
    let mut root = root;
    loop {
        let left = root.saturating_mul(2).saturating_add(1);
        let right = left.saturating_add(1);
        let at = |index: usize| heap.get(index).map(key);
        let larger = if at(right) > at(left) { right } else { left };
        if at(larger) <= at(root) {
            return;
        }
        exchange(heap, root, larger);
        root = larger;
    }
}

fn exchange(entries: &mut [Entry], left: usize, right: usize) {
    if let Ok([left, right]) = entries.get_disjoint_mut([left, right]) {
        core::mem::swap(left, right);
    }
}

/// A hash of the name spelled as `spelling`.
pub(crate) fn spelling_hash(spelling: &str) -> u64 {
    if !json::has_escapes(spelling) {
        return identity::extend(identity::EMPTY, spelling);
    }
    let mut utf8 = [0; 4];
    json::chars(spelling)
        .fold(identity::EMPTY, |hash, c| identity::extend(hash, c.encode_utf8(&mut utf8)))
}

/// A hash of the name that is the concatenation of `parts`.
pub(crate) fn name_hash(parts: [&str; 2]) -> u64 {
    parts.into_iter().fold(identity::EMPTY, identity::extend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted() {
        for count in 0..40_u64 {
            let mut entries = [Entry::default(); 40];
            let entries = &mut entries[..count as usize];
            for (index, entry) in (0..).zip(entries.iter_mut()) {
                (entry.begin, entry.at) = (index * 7919 % 31, index as u32);
            }
            sort(entries, |entry| (entry.begin, entry.end));
            assert!(entries.is_sorted_by_key(|entry| entry.begin));
            assert_eq!(
                entries.iter().map(|entry| u64::from(entry.at)).sum::<u64>(),
                (0..count).sum()
            );
        }
    }
}
