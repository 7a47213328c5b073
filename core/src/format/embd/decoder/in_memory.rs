//! A decoder of a whole file in memory, which keeps no tensor records: it reads earlier descriptors
//! again when it needs them.

use core::borrow::Borrow;

use super::table::Records;
use super::{DEFAULT_MAX_TENSORS, Machine};
use crate::bytes::{parsed_at, utf8};
use crate::error::Result;
use crate::event::{Decode, Mode, Step};
use crate::format::embd::grammar::{self, DESCRIPTOR_BYTES, Descriptor, Header};
use crate::tensor::identity;

/// A decoder for one file. Names are compared after the whole file has been read, by
/// [`check_names`](Self::check_names).
pub(in super::super) struct InMemory<'f> {
    machine: Machine,
    records: Described<'f>,
}

/// The file's tensor descriptions.
struct Described<'f> {
    file: &'f [u8],
    /// The offset of the first description.
    first: u64,
    /// The offset of the first name, and the number of names still to be compared with each other.
    names: u64,
    named: usize,
}

impl<'f> InMemory<'f> {
    /// A decoder at the start of `file`, which yields no tokens.
    pub(in super::super) const fn new(mode: Mode, file: &'f [u8]) -> Self {
        let mut machine = Machine::new(mode);
        machine.passes_tokens = true;
        Self { machine, records: Described { file, first: 0, names: 0, named: 0 } }
    }

    /// The section variant's header, once read.
    pub(in super::super) fn header(&self) -> Option<&Header> {
        self.machine.header()
    }

    /// Rejects the first duplicate among the names that have been read.
    pub(in super::super) fn check_names(&self) -> Result<()> {
        let Described { file, first, names, named } = self.records;
        match self.header() {
            Some(_) => identity::check_in_file(section_names(file, first, names, named as u64)),
            None => identity::check_in_file(stream_names(file, names, named as u64)),
        }
    }
}

impl Decode for InMemory<'_> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        self.machine.next(&mut self.records, input)
    }

    fn offset(&self) -> u64 {
        self.machine.offset
    }

    fn skippable(&self) -> u64 {
        self.machine.skippable()
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        self.machine.skip(bytes)
    }

    fn is_complete(&self) -> bool {
        self.machine.is_complete()
    }
}

impl Records for Described<'_> {
    fn room(&self) -> usize {
        DEFAULT_MAX_TENSORS
    }

    fn descriptors(&self, count: usize) -> impl Iterator<Item: Borrow<Descriptor>> {
        (0..count).map_while(|index| self.descriptor(index))
    }

    fn descriptor(&self, index: usize) -> Option<impl Borrow<Descriptor>> {
        let place = (index as u64).checked_mul(DESCRIPTOR_BYTES)?.checked_add(self.first)?;
        parsed_at(grammar::descriptor, self.file, place).map(|(descriptor, _)| descriptor)
    }

    fn describe(&mut self, index: usize, _: Descriptor, place: u64) {
        if index == 0 {
            self.first = place;
        }
    }

    fn name(&mut self, index: usize, _: u64, place: u64) -> Result<()> {
        if index == 0 {
            self.names = place;
        }
        self.named = index.saturating_add(1);
        Ok(())
    }
}

/// The names of a section-variant file, whose tensors are described from `first` on.
fn section_names(
    file: &[u8],
    first: u64,
    names: u64,
    count: u64,
) -> impl Iterator<Item = (u64, u64)> + Clone {
    identity::read_again((first, names), count, |(described, next)| {
        let (bytes, _) = parsed_at(grammar::descriptor_name_bytes, file, *described)?;
        let place = *next;
        let (name, _) = parsed_at(utf8(bytes.into()), file, place)?;
        *described = described.checked_add(DESCRIPTOR_BYTES)?;
        *next = place.checked_add(bytes.into())?;
        Some((name, place))
    })
}

/// The names of a stream-variant file, in which each tensor follows its name.
fn stream_names(file: &[u8], first: u64, count: u64) -> impl Iterator<Item = (u64, u64)> + Clone {
    identity::read_again(first, count, |next| {
        let place = *next;
        let (tensor, used) = parsed_at(grammar::stream_tensor, file, place)?;
        // The last tensor may end at an offset that no file reaches.
        let after = place.checked_add(used)?.checked_add(tensor.data_bytes);
        *next = after.unwrap_or(u64::MAX);
        Some((tensor.name, place))
    })
}
