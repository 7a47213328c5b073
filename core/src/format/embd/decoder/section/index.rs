//! The tensors: their descriptors, names, and extents in the data.

use core::borrow::Borrow;

use super::super::table::{Records, Table};
use super::{Part, Section, State};
use crate::bytes::{bounded, parse, utf8};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Mode, Step};
use crate::format::embd::grammar::{
    self, DATA_ALIGNMENT, DESCRIPTOR_BYTES, Descriptor, Extent, Flags, name_hash,
};
use crate::tensor::TensorHeader;
use crate::tensor::identity;

/// The offset of a descriptor's data offset field.
const DATA_OFFSET: u64 = 24;

impl Section {
    pub(super) fn descriptor<'a, R: Records + ?Sized>(
        &mut self,
        table: &mut Table<'_, R>,
        input: &'a [u8],
        offset: u64,
        next: u32,
        name_bytes: u64,
    ) -> Result<Step<'a>> {
        let bound = self.bound_after(self.header.index_offset);
        if next == self.header.index_count {
            if offset.saturating_add(name_bytes) > bound {
                return Err(Error::new(offset, ErrorKind::OutOfBounds));
            }
            self.state = State::Names { next: 0 };
            return Ok(Step::silent(0));
        }
        let (descriptor, used) = parsed!(bounded(grammar::descriptor, input, offset, bound)?);
        self.check_tensor_place(table, &descriptor)
            .map_err(|kind| Error::new(offset.saturating_add(DATA_OFFSET), kind))?;
        table.describe(descriptor, offset);
        self.state = State::Descriptors {
            next: next.saturating_add(1),
            name_bytes: name_bytes.saturating_add(descriptor.name_bytes.into()),
        };
        Ok(Step::silent(used))
    }

    fn check_tensor_place<R: Records + ?Sized>(
        &self,
        table: &Table<'_, R>,
        descriptor: &Descriptor,
    ) -> core::result::Result<(), ErrorKind> {
        let place = self.place(descriptor).ok_or(ErrorKind::OutOfBounds)?;
        let aligned = self.header.flags.has(Flags::ALIGNED);
        if aligned && self.mode == Mode::Strict && !place.offset.is_multiple_of(DATA_ALIGNMENT) {
            return Err(ErrorKind::Misaligned);
        }
        let taken = table.descriptors().filter_map(|kept| self.place(kept.borrow()));
        for other in taken {
            if place.overlaps(other) {
                return Err(ErrorKind::Overlap);
            }
        }
        Ok(())
    }

    /// A tensor's absolute extent; `None` if it is outside the data section.
    fn place(&self, descriptor: &Descriptor) -> Option<Extent> {
        let bytes = descriptor.data_bytes();
        let end = descriptor.data_offset.checked_add(bytes)?;
        let offset = self.header.data.offset.checked_add(descriptor.data_offset)?;
        (end <= self.header.data.bytes).then_some(Extent { offset, bytes })
    }

    pub(super) fn name<'a, R: Records + ?Sized>(
        &mut self,
        table: &mut Table<'_, R>,
        input: &'a [u8],
        offset: u64,
        next: usize,
    ) -> Result<Step<'a>> {
        let known = table.descriptor(next).map(|kept| {
            let kept: &Descriptor = kept.borrow();
            let place = self.place(kept).unwrap_or(self.header.data);
            (kept.name_bytes, kept.name_hash, kept.dtype, kept.shape(), place)
        });
        let Some((name_bytes, declared, dtype, shape, place)) = known else {
            self.leave(offset);
            return Ok(Step::silent(0));
        };
        let (name, _) = parsed!(parse(utf8(name_bytes.into()), input, offset)?);
        let descriptor_offset =
            DESCRIPTOR_BYTES.saturating_mul(next as u64).saturating_add(self.header.index_offset);
        if self.mode == Mode::Strict && name_hash(name) != declared {
            return Err(Error::new(descriptor_offset, ErrorKind::NameHashMismatch));
        }
        table.records.name(next, identity::hash(name), offset)?;
        self.state = State::Names { next: next.saturating_add(1) };
        let header = TensorHeader { name, dtype, shape, offset: place.offset, bytes: place.bytes };
        Ok(Step::new(name.len(), Event::Tensor(header)))
    }

    /// The state at `offset` of the data section: a tensor, or padding up to the next one or the
    /// end.
    pub(super) fn data_at<R: Records + ?Sized>(&self, table: &Table<'_, R>, offset: u64) -> State {
        let end = self.header.data.end();
        if offset >= end {
            return State::Gap { until: end, then: Part::Footer };
        }
        let mut padding_end = end;
        for place in table.descriptors().filter_map(|kept| self.place(kept.borrow())) {
            if (place.offset..place.end()).contains(&offset) {
                return State::Tensor { until: place.end() };
            }
            if place.offset > offset {
                padding_end = padding_end.min(place.offset);
            }
        }
        State::Padding { until: padding_end }
    }
}
