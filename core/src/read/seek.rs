//! A source with random access.

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event};

/// Storage that reads at any offset: a file, an SD card, SPI flash, HTTP ranges.
pub trait ReadAt {
    /// The length of the storage in bytes.
    fn len(&self) -> u64;

    /// Returns true if the storage is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads up to `destination.len()` bytes from `offset` on; returns the number read, which is 0
    /// only at the end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReadFailed`] with `offset`, if the storage cannot be read.
    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize>;

    /// Fills `destination` from `offset` on.
    ///
    /// # Errors
    ///
    /// As [`read_at`](Self::read_at); [`ErrorKind::SourceChanged`] if the storage ends early.
    fn read_exact_at(&self, offset: u64, destination: &mut [u8]) -> Result<()> {
        let mut offset = offset;
        let mut rest = destination;
        while !rest.is_empty() {
            let read = self.read_at(offset, rest)?;
            rest = match rest.get_mut(read..) {
                Some(unread) if read > 0 => unread,
                _ => return Err(Error::new(offset, ErrorKind::SourceChanged)),
            };
            offset = offset.saturating_add(read as u64);
        }
        Ok(())
    }
}

impl ReadAt for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.get(start..).unwrap_or(&[]);
        let read = there.len().min(destination.len());
        for (to, from) in destination.iter_mut().zip(there) {
            *to = *from;
        }
        Ok(read)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize> {
        (**self).read_at(offset, destination)
    }
}

/// Drives a decoder over storage through the caller's buffer, reading only the needed parts.
///
/// The buffer should hold the format's `MAX_ITEM_BYTES`; smaller buffers fail only on files with
/// larger items.
#[derive(Debug)]
pub struct Seek<'b, S, D> {
    source: S,
    decoder: D,
    buffer: &'b mut [u8],
    /// The part of `buffer` that has been read and not decoded; it starts at the decoder's offset.
    start: usize,
    end: usize,
    bytes_read: u64,
    skips_data: bool,
}

impl<'b, S: ReadAt, D: Decode> Seek<'b, S, D> {
    /// A source that reads `source` in pieces of up to `buffer.len()` bytes; `decoder` is at its
    /// start.
    pub const fn new(source: S, decoder: D, buffer: &'b mut [u8]) -> Self {
        Self { source, decoder, buffer, start: 0, end: 0, bytes_read: 0, skips_data: false }
    }

    /// Skips tensor data without reading it: no [`Event::Data`] comes.
    #[must_use]
    pub const fn without_data(mut self) -> Self {
        self.skips_data = true;
        self
    }

    /// Calls `on_event` with the next event, never [`Event::NeedMore`]; returns whether there may
    /// be more.
    ///
    /// # Errors
    ///
    /// The first fault of the file, then always the same; [`ErrorKind::BufferTooSmall`] if an item
    /// is larger than the buffer; any error from the source or from `on_event`.
    pub fn next_event(&mut self, on_event: impl FnOnce(Event<'_>) -> Result<()>) -> Result<bool> {
        loop {
            if self.skips_data {
                self.skip_data();
            }
            let window = self.buffer.get(self.start..self.end).unwrap_or(&[]);
            let step = self.decoder.next(window)?;
            self.start = self.start.saturating_add(step.used);
            match step.event {
                None => {}
                Some(Event::NeedMore { at_least }) => self.refill(at_least)?,
                // It has not seen that more follows.
                Some(Event::End) if self.decoder.offset() < self.source.len() => self.refill(1)?,
                Some(event) => {
                    let more = event != Event::End;
                    return on_event(event).map(|()| more);
                }
            }
        }
    }

    /// The number of bytes read from the source so far.
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The decoder, for its state beyond the events.
    pub const fn decoder(&self) -> &D {
        &self.decoder
    }

    /// Reads on until the buffer holds `at_least` undecoded bytes or the source ends.
    fn refill(&mut self, at_least: usize) -> Result<()> {
        let offset = self.decoder.offset();
        let Self { source, buffer, start, end, bytes_read, .. } = self;
        let window = Window { buffer, start, end, bytes_read };
        match window.refill(source, offset, at_least)? {
            true => Ok(()),
            false => Err(super::unexpected_end(&self.decoder)),
        }
    }

    fn skip_data(&mut self) {
        let there = self.source.len().saturating_sub(self.decoder.offset());
        let skipped = self.decoder.skip(self.decoder.skippable().min(there));
        let buffered = self.end.saturating_sub(self.start) as u64;
        if skipped >= buffered {
            (self.start, self.end) = (0, 0);
        } else {
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            self.start = self.start.saturating_add(skipped);
        }
    }
}

/// The buffer of a [`Seek`], independent of its source and decoder types.
struct Window<'w> {
    buffer: &'w mut [u8],
    start: &'w mut usize,
    end: &'w mut usize,
    bytes_read: &'w mut u64,
}

impl Window<'_> {
    /// See [`Seek::refill`]; `offset` is that of the first undecoded byte. Returns false at the end
    /// of the source.
    #[inline(never)] // there once for all sources
    fn refill(self, source: &dyn ReadAt, offset: u64, at_least: usize) -> Result<bool> {
        let Self { buffer, start, end, bytes_read } = self;
        move_to_front(buffer, start, end);
        let place = offset.saturating_add(*end as u64);
        let ahead = source.len().saturating_sub(place);
        if ahead == 0 {
            return Ok(false);
        }
        let all = end.saturating_add(usize::try_from(ahead).unwrap_or(usize::MAX));
        let target = at_least.min(all);
        if target > buffer.len() {
            return Err(Error::new(offset, ErrorKind::BufferTooSmall));
        }
        while *end < target {
            let offset = offset.saturating_add(*end as u64);
            let room = buffer.get_mut(*end..).unwrap_or(&mut []);
            let read = source.read_at(offset, room)?.min(room.len());
            if read == 0 {
                return Err(Error::new(offset, ErrorKind::SourceChanged));
            }
            *end = end.saturating_add(read);
            *bytes_read = bytes_read.saturating_add(read as u64);
        }
        Ok(true)
    }
}

fn move_to_front(buffer: &mut [u8], start: &mut usize, end: &mut usize) {
    let left = end.saturating_sub(*start);
    if *start > 0 {
        for to in 0..left {
            let byte = buffer.get(start.saturating_add(to)).copied().unwrap_or(0);
            if let Some(slot) = buffer.get_mut(to) {
                *slot = byte;
            }
        }
    }
    (*start, *end) = (0, left);
}
