//! The parts that may follow the storage: norms, unknown chunks, or nothing.

use super::super::grammar::{CHUNK_HEADER_BYTES, id};
use super::{FinalfusionDecoder, State};
use crate::bytes::within;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Mode, Step};

impl FinalfusionDecoder {
    pub(super) fn trailer<'a>(
        &mut self,
        input: &'a [u8],
        gathered: u8,
        mut header: [u8; CHUNK_HEADER_BYTES],
    ) -> Result<Step<'a>> {
        let start = self.offset.saturating_sub(gathered.into());
        let missing = header.get_mut(usize::from(gathered)..).unwrap_or(&mut []);
        let taken = missing.len().min(input.len());
        if input.is_empty() {
            return Ok(self.end());
        }
        if gathered == 0 && self.is_all_announced() {
            self.deviate(start, ErrorKind::TrailingBytes)?;
        }
        for (to, from) in missing.iter_mut().zip(input) {
            *to = *from;
        }
        let gathered = gathered.saturating_add(u8::try_from(taken).unwrap_or(u8::MAX));
        self.state = State::Trailer { gathered, header };
        if usize::from(gathered) == CHUNK_HEADER_BYTES {
            let [a, b, c, d, length @ ..] = header;
            let found = u32::from_le_bytes([a, b, c, d]);
            self.chunk_after_storage(found, u64::from_le_bytes(length), start)?;
        }
        Ok(Step::silent(taken))
    }

    fn chunk_after_storage(&mut self, found: u32, bytes: u64, offset: u64) -> Result<()> {
        if found == id::NORMS {
            self.enter_chunk(found, offset, bytes)?;
            self.state = State::NormsHeader;
            return Ok(());
        }
        if id::is_known(found) {
            return Err(Error::new(offset, ErrorKind::BadChunk));
        }
        self.deviate(offset, ErrorKind::BadChunk)?;
        let until = offset.saturating_add(CHUNK_HEADER_BYTES as u64).saturating_add(bytes);
        self.state = State::Unknown { until };
        Ok(())
    }

    pub(super) fn unknown<'a>(&mut self, input: &'a [u8], until: u64) -> Result<Step<'a>> {
        if self.offset >= until {
            self.state = State::Trailer { gathered: 0, header: [0; CHUNK_HEADER_BYTES] };
            return Ok(Step::silent(0));
        }
        match within(input, self.offset, until) {
            // The declared length of an unknown chunk is not required to be right.
            [] => Ok(Step::new(0, Event::End)),
            passed => Ok(Step::silent(passed.len())),
        }
    }

    pub(super) fn complete<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if input.is_empty() {
            return Ok(self.end());
        }
        self.deviate(self.offset, ErrorKind::TrailingBytes)?;
        Ok(Step::silent(input.len()))
    }

    /// The step on empty input where the file may end, unless the header announces more.
    fn end<'a>(&self) -> Step<'a> {
        if self.mode == Mode::Strict && !self.is_all_announced() {
            return Step::need_more(1);
        }
        Step::new(0, Event::End)
    }

    /// Returns true if all chunks in the header's list have been seen.
    pub(super) fn is_all_announced(&self) -> bool {
        self.chunks.iter().flatten().count() >= self.listed_count as usize
    }
}
