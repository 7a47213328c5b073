//! What a file says, event by event: pulled from memory and from behind a callback, pushed in small
//! pieces; and whether its bytes are those that were written.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use nanoembed_core::ErrorKind;
use nanoembed_ffi::event::*;
use nanoembed_ffi::format::*;
use nanoembed_ffi::reader::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::verify::*;

use crate::{Room, Stored, in_memory, models, of, slice};

/// An event and what it points to.
#[derive(Debug, PartialEq)]
struct SeenEvent {
    kind: nanoembed_event_kind,
    id: u32,
    tensor_offset: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What a file says; pieces of data are one.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    events: Vec<SeenEvent>,
    /// How many to take before stopping; 0 for all.
    most: usize,
}

impl Seen {
    /// Whether there may be more.
    fn take(&mut self, event: &nanoembed_event) -> bool {
        // SAFETY: an event's bytes are good until the next call.
        let [key, value] =
            [event.key, event.value].map(|it| unsafe { slice(it.data, it.length).to_vec() });
        let (kind, id, tensor_offset) = (event.kind, event.id, event.tensor.offset);
        match self.events.last_mut().filter(|last| last.kind == kind) {
            Some(last) if kind == NANOEMBED_EVENT_DATA => last.value.extend(value),
            _ => self.events.push(SeenEvent { kind, id, tensor_offset, key, value }),
        }
        self.events.len() != self.most
    }
}

/// A reader in its memory, with a buffer of so many bytes.
fn reader(
    source: *const nanoembed_source,
    format: nanoembed_format,
    buffer: usize,
) -> (*mut nanoembed_reader, Room) {
    let (least, mut reader) = (nanoembed_reader_bytes(), null_mut());
    let options = nanoembed_reader_options { format, strict: 1, data: 1, ..Default::default() };
    let room = Room::new(least + buffer);
    // SAFETY: everything is there, with its true sizes.
    unsafe {
        let less = nanoembed_reader_init(source, &options, room.start, least - 1, &mut reader);
        assert_eq!(less, of(ErrorKind::BufferTooSmall));
        let size = room.bytes();
        let made = nanoembed_reader_init(source, &options, room.start, size, &mut reader);
        assert_eq!(made, NANOEMBED_OK);
    }
    (reader, room)
}

fn pulled(source: &nanoembed_source, format: nanoembed_format) -> Seen {
    let (reader, _room) = reader(source, format, 128);
    let (mut seen, mut event) = (Seen::default(), nanoembed_event::default());
    loop {
        // SAFETY: the handle is good, and the rest lies here.
        let status = unsafe { nanoembed_reader_next(reader, &mut event, null_mut()) };
        assert_eq!(status, NANOEMBED_OK);
        seen.take(&event);
        if event.kind == NANOEMBED_EVENT_END {
            return seen;
        }
    }
}

unsafe extern "C" fn on_event(context: *mut c_void, event: *const nanoembed_event) -> i32 {
    // SAFETY: what was passed, which nobody else uses meanwhile.
    let (seen, event) = unsafe { (&mut *context.cast::<Seen>(), &*event) };
    i32::from(!seen.take(event))
}

/// What a file says that is pushed in pieces.
fn pushed(
    file: &[u8],
    format: nanoembed_format,
    piece: usize,
    seen: &mut Seen,
) -> nanoembed_status {
    let (reader, _room) = reader(null(), format, 128);
    let (context, none) = ((&raw mut *seen).cast::<c_void>(), null_mut());
    // SAFETY: the handle is good, and the rest lies here.
    unsafe {
        for piece in file.chunks(piece) {
            let (start, bytes) = (piece.as_ptr(), piece.len());
            match nanoembed_reader_feed(reader, start, bytes, Some(on_event), context, none) {
                NANOEMBED_OK => {}
                status => return status,
            }
        }
        nanoembed_reader_finish(reader, Some(on_event), context, none)
    }
}

/// A file says the same in every way, and ends.
fn assert_same(file: &[u8], format: nanoembed_format) -> Seen {
    let stored = Stored::new(file, 50);
    let mut seen = Seen::default();
    assert_eq!(pushed(file, format, 13, &mut seen), NANOEMBED_OK);
    assert_eq!(pulled(&in_memory(file), format), seen);
    assert_eq!(pulled(&stored.source(), format), seen);
    let ends = seen.events.iter().filter(|it| it.kind == NANOEMBED_EVENT_END).count();
    assert_eq!((ends, seen.events.last().map(|it| it.kind)), (1, Some(NANOEMBED_EVENT_END)));
    seen
}

#[test]
fn weights_say_the_same_pulled_and_pushed() {
    let file = models::table();
    let seen = assert_same(&file, NANOEMBED_FORMAT_EMBD);
    let tokens = seen.events.iter().filter(|it| it.kind == NANOEMBED_EVENT_TOKEN);
    assert!(tokens.map(|it| &it.value[..]).eq(models::TOKENS));
}

#[test]
fn words_say_the_same_pulled_and_pushed() {
    let seen = assert_same(&models::words(), NANOEMBED_FORMAT_FINALFUSION);
    let words = seen.events.iter().filter(|it| it.kind == NANOEMBED_EVENT_TOKEN);
    assert!(words.map(|it| &it.value[..]).eq(models::WORDS.map(str::as_bytes)));
}

#[test]
fn tokenizers_in_gguf_say_the_same_pulled_and_pushed() {
    let seen = assert_same(&models::pieces(), NANOEMBED_FORMAT_GGUF);
    assert_eq!(seen.events[0].kind, NANOEMBED_EVENT_HEADER);
}

#[test]
fn a_layer_of_uqff_is_read_as_that_and_as_safetensors() {
    let file = models::layer();
    for format in [NANOEMBED_FORMAT_UQFF, NANOEMBED_FORMAT_SAFETENSORS] {
        let seen = assert_same(&file, format);
        assert!(seen.events.iter().any(|it| it.kind == NANOEMBED_EVENT_TENSOR));
    }
}

#[test]
fn a_callback_stops_its_reader() {
    let mut seen = Seen { most: 3, ..Default::default() };
    let status = pushed(&models::words(), NANOEMBED_FORMAT_FINALFUSION, 13, &mut seen);
    assert_eq!((status, seen.events.len()), (NANOEMBED_STOPPED, 3));
}

#[test]
fn a_file_that_is_cut_is_refused_at_its_end() {
    let file = models::words();
    let mut seen = Seen::default();
    let status = pushed(&file[..file.len() - 1], NANOEMBED_FORMAT_FINALFUSION, 64, &mut seen);
    assert_eq!(status, of(ErrorKind::UnexpectedEnd));
}

unsafe extern "C" fn on_progress(context: *mut c_void, done: u64, bytes: u64) -> i32 {
    // SAFETY: what was passed, which nobody else uses meanwhile.
    let left = unsafe { &mut *context.cast::<u64>() };
    *left = bytes - done;
    i32::from(*left > bytes)
}

unsafe extern "C" fn stop(_: *mut c_void, _: u64, _: u64) -> i32 {
    1
}

/// The status of a file, whether it has checksums, and how much of it was left unread.
fn verified(
    source: &nanoembed_source,
    told: nanoembed_on_progress,
) -> (nanoembed_status, u32, u64) {
    let (room, mut has_checksum, mut left) = (Room::new(nanoembed_verify_bytes()), 2, u64::MAX);
    let (memory, size, context) = (room.start, room.bytes(), (&raw mut left).cast());
    let found = &mut has_checksum;
    // SAFETY: everything is there, with its true sizes.
    let status =
        unsafe { nanoembed_verify(source, memory, size, told, context, found, null_mut()) };
    (status, has_checksum, left)
}

#[test]
fn the_checksums_of_a_file_tell_a_changed_byte() {
    let mut file = models::table();
    let stored = Stored::new(&file, 4000);
    let whole = (NANOEMBED_OK, 1, 0);
    assert_eq!(verified(&in_memory(&file), Some(on_progress)), whole);
    assert_eq!(verified(&stored.source(), Some(on_progress)), whole);
    assert_eq!(verified(&in_memory(&file), Some(stop)).0, NANOEMBED_STOPPED);
    let at = file.len() - 100;
    file[at] ^= 1;
    let (status, ..) = verified(&in_memory(&file), None);
    assert_eq!(status, of(ErrorKind::DataChecksum));
}

#[test]
fn files_of_every_kind_of_verifier_are_verified() {
    let (amb, words) = (models::word_pieces(), models::words());
    assert_eq!(verified(&in_memory(&amb), None), (NANOEMBED_OK, 1, u64::MAX));
    assert_eq!(verified(&in_memory(&words), Some(on_progress)), (NANOEMBED_OK, 0, 0));
}
