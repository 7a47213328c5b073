//! A whole file through its verifier, piece by piece, so that progress can be reported.

use nanoembed_core::Error as CoreError;
use nanoembed_core::event::{Decode, Event};
use nanoembed_core::read::Push;

use crate::progress::{Observer, Progress};

const PIECE_BYTES: usize = 1 << 20;

/// Decodes all of `bytes`; items are of up to `item_bytes`.
pub(super) fn decode(
    decoder: &mut impl Decode,
    bytes: &[u8],
    item_bytes: usize,
    observer: &dyn Observer,
    mut on_event: impl FnMut(Event<'_>),
) -> Result<(), CoreError> {
    let mut carry = vec![0; item_bytes];
    let mut push = Push::new(decoder, &mut carry);
    let progress = Progress::bytes(observer, "verifying", bytes.len() as u64);
    let mut on_event = |event: Event<'_>| {
        on_event(event);
        Ok(())
    };
    for piece in bytes.chunks(PIECE_BYTES) {
        push.feed(piece, &mut on_event)?;
        progress.advance(piece.len() as u64);
    }
    push.finish(&mut on_event)
}
