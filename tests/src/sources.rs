//! One decoder run through every source.

use nanoembed_core::event::{Decode, Event};
use nanoembed_core::read::{Push, ReadAt, Seek, Slice};
use nanoembed_core::{Error, ErrorKind};

use crate::events::{Collector, Outcome};

/// Through [`Slice`].
pub fn by_slice(decoder: impl Decode, file: &[u8], with_data: bool) -> Outcome {
    let mut events = Collector::default();
    let mut source = Slice::new(decoder, file);
    if !with_data {
        source = source.without_data();
    }
    loop {
        match source.next_event() {
            Ok(event) => {
                events.take(event);
                if event == Event::End {
                    return events.finish(Ok(()));
                }
            }
            Err(error) => {
                assert_eq!(source.next_event(), Err(error), "an error is final");
                return events.finish(Err(error));
            }
        }
    }
}

/// Through [`Push`], in these chunks, with a carry of `carry_bytes`.
pub fn by_push<'a>(
    decoder: impl Decode,
    chunks: impl Iterator<Item = &'a [u8]>,
    carry_bytes: usize,
) -> Outcome {
    let mut events = Collector::default();
    let mut carry = vec![0; carry_bytes];
    let mut push = Push::new(decoder, &mut carry);
    let mut on_event = |event: Event<'_>| {
        events.take(event);
        Ok(())
    };
    let mut result = Ok(());
    for chunk in chunks {
        result = push.feed(chunk, &mut on_event);
        if let Err(error) = result {
            assert_eq!(push.feed(b"more", &mut on_event), Err(error), "an error is final");
            break;
        }
    }
    let result = result.and_then(|()| push.finish(&mut on_event));
    events.finish(result)
}

/// Through [`Seek`], with a buffer of `buffer_bytes`; also returns the number of bytes read.
pub fn by_seek(
    decoder: impl Decode,
    source: impl ReadAt,
    buffer_bytes: usize,
    with_data: bool,
) -> (Outcome, u64) {
    let mut events = Collector::default();
    let mut buffer = vec![0; buffer_bytes];
    let mut seek = Seek::new(source, decoder, &mut buffer);
    if !with_data {
        seek = seek.without_data();
    }
    loop {
        let more = seek.next_event(|event| {
            events.take(event);
            Ok(())
        });
        match more {
            Ok(true) => {}
            Ok(false) => return (events.finish(Ok(())), seek.bytes_read()),
            Err(error) => return (events.finish(Err(error)), seek.bytes_read()),
        }
    }
}

/// Storage that returns one byte per read.
#[derive(Debug)]
pub struct OneByte<'a>(pub &'a [u8]);

impl ReadAt for OneByte<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        let wanted = destination.len().min(1);
        ReadAt::read_at(self.0, offset, &mut destination[..wanted])
    }
}

/// Storage whose reads fail from an offset on.
#[derive(Debug)]
pub struct FailsAt<'a>(pub &'a [u8], pub u64);

impl ReadAt for FailsAt<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, Error> {
        if offset >= self.1 {
            return Err(Error::new(offset, ErrorKind::ReadFailed));
        }
        let room = usize::try_from(self.1 - offset).unwrap_or(usize::MAX).min(destination.len());
        ReadAt::read_at(self.0, offset, &mut destination[..room])
    }
}
