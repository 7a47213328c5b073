//! Reading files by pull and by push, and verification.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use nanoembed_ffi::event::{NANOEMBED_EVENT_END, nanoembed_bytes, nanoembed_event};
use nanoembed_ffi::reader::{
    nanoembed_reader, nanoembed_reader_bytes, nanoembed_reader_feed, nanoembed_reader_finish,
    nanoembed_reader_init, nanoembed_reader_next, nanoembed_reader_options,
};
use nanoembed_ffi::status::NANOEMBED_OK;
use nanoembed_ffi::verify::{nanoembed_verify, nanoembed_verify_bytes};

use super::memory::Memory;
use super::{Source, call, check};

/// All events, with random access and pushed in two chunks.
pub fn read(source: &Source<'_>, [buffer, choices]: [u8; 2]) -> Option<()> {
    let (file, from) = (source.file, &raw const source.inner);
    let options = nanoembed_reader_options {
        format: u32::from(choices % 8),
        strict: u32::from(choices >> 3 & 1),
        data: u32::from(choices >> 4 & 1),
        ..nanoembed_reader_options::default()
    };
    let memory = Memory::new(nanoembed_reader_bytes() + usize::from(buffer) * 256)?;
    let mut reader: *mut nanoembed_reader = null_mut();
    let mut init = |from| {
        let (start, bytes) = (memory.start, memory.bytes());
        // SAFETY: all pointers are to objects that outlive the call; the previous reader is no
        // longer used.
        let status = unsafe {
            nanoembed_reader_init(from, &raw const options, start, bytes, &raw mut reader)
        };
        if status == NANOEMBED_OK {
            return Some(reader);
        }
        check(status);
        None
    };
    let pulled = init(from)?;
    let mut event = nanoembed_event::default();
    let mut count = 0;
    // SAFETY: a reader, and a place for an event.
    while call(file, |error| unsafe { nanoembed_reader_next(pulled, &raw mut event, error) })
        .is_ok()
    {
        look_at(&event);
        count += 1;
        assert!(count <= 10 * file.len() + 100, "more events than bytes");
        if event.kind == NANOEMBED_EVENT_END {
            break;
        }
    }
    let pushed = init(null())?;
    let (front, back) = file.split_at(file.len() / 3);
    let push = |chunk: &[u8]| {
        // SAFETY: a reader and a chunk; the callback reads only the event.
        call(file, |error| unsafe {
            let (start, bytes) = (chunk.as_ptr(), chunk.len());
            nanoembed_reader_feed(pushed, start, bytes, Some(on_event), null_mut(), error)
        })
    };
    push(front).and_then(|()| push(back)).ok()?;
    // SAFETY: as before.
    call(file, |error| unsafe {
        nanoembed_reader_finish(pushed, Some(on_event), null_mut(), error)
    })
    .ok()
}

unsafe extern "C" fn on_event(_: *mut c_void, event: *const nanoembed_event) -> i32 {
    // SAFETY: the event lives as long as the call.
    look_at(unsafe { &*event });
    0
}

/// Reads every byte that an event points to.
fn look_at(event: &nanoembed_event) {
    let sum = |bytes: &nanoembed_bytes| {
        // SAFETY: good until the next call.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.data, bytes.length) };
        bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>()
    };
    std::hint::black_box(sum(&event.key) + sum(&event.value));
}

/// Verifies every byte against the file's checksums, with the minimum memory.
pub fn verify(source: &Source<'_>) -> Option<()> {
    let memory = Memory::new(nanoembed_verify_bytes())?;
    let mut has_checksum = 7;
    // SAFETY: all pointers are to objects that outlive the call.
    call(source.file, |error| unsafe {
        let (from, place) = (&raw const source.inner, &raw mut has_checksum);
        let (start, bytes) = (memory.start, memory.bytes());
        nanoembed_verify(from, start, bytes, None, null_mut(), place, error)
    })
    .ok()?;
    assert!(has_checksum <= 1);
    Some(())
}
