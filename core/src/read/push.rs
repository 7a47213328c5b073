//! A source whose bytes arrive in chunks.

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event};

/// Drives a decoder over chunks as they arrive.
///
/// An item that is cut by a chunk's end is kept in the caller's `carry` until the rest arrives;
/// everything else is decoded in place. A carry of the format's `MAX_ITEM_BYTES` always suffices; a
/// smaller one fails only on files with larger items.
///
/// ```
/// use nanoembed_core::event::{Event, Mode};
/// use nanoembed_core::format::embd::EmbdDecoder;
/// use nanoembed_core::read::Push;
///
/// let file = b"EMBD\x01\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0ok";
/// let mut carry = [0; 64];
/// let mut push = Push::new(EmbdDecoder::<16>::new(Mode::Strict), &mut carry);
/// let mut tokens = 0;
/// let mut on_event = |event: Event<'_>| {
///     tokens += usize::from(matches!(event, Event::Token { .. }));
///     Ok(())
/// };
/// for chunk in file.chunks(5) {
///     push.feed(chunk, &mut on_event)?;
/// }
/// push.finish(&mut on_event)?;
/// assert_eq!(tokens, 1);
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Push<'c, D> {
    decoder: D,
    carry: &'c mut [u8],
    /// Bytes of `carry` that wait to be decoded.
    carried: usize,
    /// Bytes that the decoder needs there at once.
    wanted: usize,
}

impl<'c, D: Decode> Push<'c, D> {
    /// A source that passes chunks to `decoder`, which is at the start of a file, and keeps cut
    /// items in `carry`.
    pub const fn new(decoder: D, carry: &'c mut [u8]) -> Self {
        Self { decoder, carry, carried: 0, wanted: 0 }
    }

    /// Decodes the next chunk of the file, of any length. Events never include [`Event::NeedMore`];
    /// [`Event::End`] comes only from [`finish`](Self::finish), since the end is known only then.
    ///
    /// # Errors
    ///
    /// The first fault of the file, then always the same; [`ErrorKind::BufferTooSmall`] if an item
    /// is larger than the carry; any error from `on_event`.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        mut on_event: impl FnMut(Event<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rest = chunk;
        loop {
            if self.carried > 0 {
                rest = self.top_up(rest)?;
                if self.carried < self.wanted {
                    return Ok(());
                }
                self.decode_carry(&mut on_event)?;
                continue;
            }
            if rest.is_empty() {
                return Ok(());
            }
            let step = self.decoder.next(rest)?;
            rest = rest.get(step.used..).unwrap_or(&[]);
            match step.event {
                None => {}
                Some(Event::NeedMore { at_least }) => {
                    // All of the rest fits: the decoder wants more than there is.
                    self.wanted = at_least;
                    self.top_up(rest)?;
                    return Ok(());
                }
                Some(event) => on_event(event)?,
            }
        }
    }

    /// Declares the file's end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnexpectedEnd`] if the content is not complete, or an earlier error again.
    pub fn finish(&mut self, mut on_event: impl FnMut(Event<'_>) -> Result<()>) -> Result<()> {
        loop {
            let step = self.decoder.next(self.carry.get(..self.carried).unwrap_or(&[]))?;
            match step.event {
                Some(Event::NeedMore { .. }) => return Err(super::unexpected_end(&self.decoder)),
                Some(event) => on_event(event)?,
                None => {}
            }
            if step.event == Some(Event::End) {
                return Ok(());
            }
            let used = step.used;
            self.drop_front(used);
        }
    }

    /// The decoder, for its state beyond the events.
    pub const fn decoder(&self) -> &D {
        &self.decoder
    }

    /// Moves bytes from `rest` into the carry until it holds what the decoder needs; returns the
    /// remainder.
    fn top_up<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8]> {
        let missing = self.wanted.saturating_sub(self.carried).min(rest.len());
        let (taken, rest) = rest.split_at_checked(missing).unwrap_or((rest, &[]));
        let end = self.carried.saturating_add(taken.len());
        let Some(room) = self.carry.get_mut(self.carried..end) else {
            return Err(Error::new(self.decoder.offset(), ErrorKind::BufferTooSmall));
        };
        for (to, from) in room.iter_mut().zip(taken) {
            *to = *from;
        }
        self.carried = end;
        Ok(rest)
    }

    fn decode_carry(&mut self, on_event: &mut impl FnMut(Event<'_>) -> Result<()>) -> Result<()> {
        let step = self.decoder.next(self.carry.get(..self.carried).unwrap_or(&[]))?;
        match step.event {
            None => {}
            Some(Event::NeedMore { at_least }) => self.wanted = at_least,
            Some(event) => on_event(event)?,
        }
        let used = step.used;
        self.drop_front(used);
        Ok(())
    }

    fn drop_front(&mut self, used: usize) {
        let left = self.carried.saturating_sub(used);
        if used > 0 {
            for to in 0..left {
                let byte = self.carry.get(to.saturating_add(used)).copied().unwrap_or(0);
                if let Some(slot) = self.carry.get_mut(to) {
                    *slot = byte;
                }
            }
            self.wanted = 0;
        }
        self.carried = left;
    }
}
