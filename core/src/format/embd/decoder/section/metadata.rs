//! Keys and values.

use super::super::table::{Records, Table};
use super::{Section, State};
use crate::bytes::bounded;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Step};
use crate::format::embd::grammar::{self, MAX_METADATA_ENTRIES, METADATA_HEADER_BYTES};

impl Section {
    pub(super) fn metadata_header<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Step<'a>> {
        let end = self.header.metadata.end();
        let (head, used) = parsed!(bounded(grammar::metadata_header, input, offset, end)?);
        let entry_bytes = self.header.metadata.bytes.saturating_sub(METADATA_HEADER_BYTES);
        if u64::from(head.entry_bytes) != entry_bytes {
            return Err(Error::new(offset.saturating_add(4), ErrorKind::SizeMismatch));
        }
        if u64::from(head.entries) > entry_bytes / 5 {
            return Err(Error::new(offset, ErrorKind::BadCount));
        }
        if head.entries as usize > MAX_METADATA_ENTRIES {
            return Err(Error::new(offset, ErrorKind::TooManyEntries));
        }
        self.state = State::MetadataEntries { remaining: head.entries, end };
        Ok(Step::silent(used))
    }

    pub(super) fn metadata_entry<'a, R: Records + ?Sized>(
        &mut self,
        table: &mut Table<'_, R>,
        input: &'a [u8],
        offset: u64,
        remaining: u32,
        end: u64,
    ) -> Result<Step<'a>> {
        if remaining == 0 {
            return self.finish_part(offset, end);
        }
        let ((key, value), used) = parsed!(bounded(grammar::metadata_entry, input, offset, end)?);
        table.remember_key(key, offset)?;
        self.state = State::MetadataEntries { remaining: remaining.saturating_sub(1), end };
        Ok(Step::new(used, Event::Metadata { key, value }))
    }
}
