//! Calls that are refused: pointers that are NULL or not aligned, structs of other versions; and what
//! is said of it.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use nanoembed_core::ErrorKind;
use nanoembed_ffi::decoder_model::*;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::memory::nanoembed_align;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::reader::*;
use nanoembed_ffi::session::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenizer::*;
use nanoembed_ffi::version::*;
use nanoembed_ffi::words::*;

use crate::models::HIDDEN;
use crate::{Lent, Room, in_memory, models, of};

#[test]
fn null_is_refused_wherever_something_is_needed() {
    let (mut bytes, mut row, mut out) = (0, 0, [0.0; HIDDEN]);
    let place = out.as_mut_ptr();
    // SAFETY: what is not NULL is there.
    unsafe {
        let none = null_mut();
        for status in [
            nanoembed_plan_scratch(null(), &mut bytes, none),
            nanoembed_plan_model(null(), null(), none.cast(), 0, null_mut(), none),
            nanoembed_model_new(null(), null(), null_mut(), none),
            nanoembed_model_get_info(null(), null_mut()),
            nanoembed_workspace_new(null(), null_mut()),
            nanoembed_embed_ids(null(), null_mut(), null(), 0, place, HIDDEN, none),
            nanoembed_cosine(null(), place, HIDDEN, place),
            nanoembed_plan_words(null(), null(), null_mut(), 0, null_mut(), none),
            nanoembed_words_get_plan(null(), null_mut()),
            nanoembed_plan_decoder(null(), null(), null_mut(), none),
            nanoembed_session_sample(null_mut(), &mut row),
            nanoembed_plan_tokenizer(null(), null_mut(), none),
            nanoembed_reader_next(null_mut(), null_mut(), none),
            nanoembed_source_from_buffer(null(), 0, null_mut()),
            nanoembed_source_from_callback(None, null_mut(), 0, null_mut()),
            nanoembed_error_describe(null(), null_mut(), 0),
        ] {
            assert_eq!(status, NANOEMBED_BAD_POINTER);
        }
        assert_eq!(nanoembed_workspace_bytes(null()), 0);
        assert_eq!(nanoembed_session_length(null()), 0);
        assert_eq!(nanoembed_tokenizer_ends_text(null(), 0), 0);
    }
}

#[test]
fn memory_that_is_not_aligned_is_refused_before_it_is_touched() {
    let file = models::table();
    let lent = Lent::of(&in_memory(&file));
    let room = Room::new(lent.plan.workspace_bytes + 16);
    let size = lent.plan.workspace_bytes;
    let (mut workspace, mut vector) = (null_mut(), [0_u128; 3]);
    for off in [1, nanoembed_align() / 2] {
        // SAFETY: there are 16 bytes more.
        let status = unsafe {
            nanoembed_workspace_init(lent.model, room.start.add(off), size, &mut workspace)
        };
        assert_eq!(status, NANOEMBED_BAD_POINTER);
    }
    assert!(workspace.is_null());
    let Lent { model, workspace, .. } = lent;
    // SAFETY: handles are good, and there are 48 bytes.
    let statuses = unsafe {
        let out = vector.as_mut_ptr().cast::<u8>();
        let (text, error) = (c"cat".as_ptr(), null_mut());
        [0, 1, 4].map(|off| {
            let out = out.add(off).cast();
            nanoembed_embed_text(model, workspace, text, 3, out, HIDDEN, null_mut(), error)
        })
    };
    assert_eq!(statuses, [NANOEMBED_OK, NANOEMBED_BAD_POINTER, NANOEMBED_OK]);
}

#[test]
fn a_workspace_is_for_its_own_model() {
    let (one, other) = (models::bert(), models::table());
    let (one, other) = (Lent::of(&in_memory(&one)), Lent::of(&in_memory(&other)));
    let (mut vector, mut error) = ([f32::NAN; HIDDEN], nanoembed_error::default());
    for (model, workspace) in [(one.model, other.workspace), (other.model, one.workspace)] {
        let (out, none) = (vector.as_mut_ptr(), null_mut());
        // SAFETY: handles are good, and the rest lies here.
        let status = unsafe {
            nanoembed_embed_text(
                model,
                workspace,
                c"cat".as_ptr(),
                3,
                out,
                HIDDEN,
                none,
                &mut error,
            )
        };
        assert_eq!((status, name_of(&error)), (of(ErrorKind::InvalidArgument), c"workspace"));
    }
}

#[test]
fn too_small_a_workspace_tells_how_much_would_be_enough() {
    let file = models::table();
    let lent = Lent::of(&in_memory(&file));
    let needed = lent.plan.workspace_bytes;
    let room = Room::new(needed);
    let (mut workspace, mut error) = (null_mut(), nanoembed_error::default());
    let mut place = |size| {
        // SAFETY: as many bytes are there.
        let status = unsafe {
            let out = &mut workspace;
            nanoembed_workspace_init_with_error(lent.model, room.start, size, out, &mut error)
        };
        (status, error.needed)
    };
    assert_eq!(place(needed - 1), (of(ErrorKind::BufferTooSmall), needed as u64));
    assert_eq!(place(needed).0, NANOEMBED_OK);
}

#[test]
fn files_without_an_encoder_say_what_they_are() {
    for (start, status, name) in [
        (&b"FiFu"[..], of(ErrorKind::OtherModel), c"finalfusion"),
        (b"\x02\0\0\0\0\0\0\0{}", NANOEMBED_NEEDS_FOLDER, c""),
        (b"nothing known", of(ErrorKind::BadMagic), c""),
    ] {
        let mut file = start.to_vec();
        file.resize(64, 0);
        let source = in_memory(&file);
        let (mut plan, mut error) = (nanoembed_plan::default(), nanoembed_error::default());
        let scratch = Room::new(1 << 16);
        // SAFETY: everything is there, with its true sizes.
        let planned = unsafe {
            let (start, bytes) = (scratch.start, scratch.bytes());
            nanoembed_plan_model(&source, null(), start, bytes, &mut plan, &mut error)
        };
        assert_eq!((planned, name_of(&error)), (status, name));
    }
}

/// The name in an error.
fn name_of(error: &nanoembed_error) -> &CStr {
    // SAFETY: names end with a zero.
    unsafe { CStr::from_ptr(error.name.as_ptr()) }
}

#[test]
fn lengths_that_no_memory_has_are_refused() {
    let (word, mut cosine, most) = (1.0_f32, 0.0, usize::MAX / 4);
    // SAFETY: nothing is read.
    let status = unsafe { nanoembed_cosine(&word, &word, most, &mut cosine) };
    assert_eq!(status, NANOEMBED_BAD_POINTER);
}

/// Options as a program of a later version knows them.
#[repr(C)]
struct Later {
    known: nanoembed_model_options,
    new: usize,
}

#[test]
fn structs_of_a_later_version_are_taken_unless_they_ask_for_what_is_new() {
    let file = models::table();
    let source = in_memory(&file);
    let opened = |size, new| {
        let options = nanoembed_model_options { size, ..Default::default() };
        let later = Later { known: options, new };
        // As a pointer to the whole: what is after the known fields is read.
        let options = (&raw const later).cast();
        let mut model = null_mut();
        // SAFETY: everything is there; it is freed when it is used no more.
        unsafe {
            let status = nanoembed_model_new(&source, options, &mut model, null_mut());
            nanoembed_model_free(model);
            status
        }
    };
    let invalid = of(ErrorKind::InvalidArgument);
    let (known, later) = (size_of::<nanoembed_model_options>(), size_of::<Later>());
    assert_eq!(opened(later as u32, 0), NANOEMBED_OK);
    assert_eq!(opened(later as u32, 1), invalid);
    assert_eq!(opened(known as u32 - 4, 0), invalid);
    assert_eq!(opened(u32::MAX, 0), invalid);
}

#[repr(C)]
struct LaterInfo {
    known: nanoembed_model_info,
    new: u32,
}

#[test]
fn only_what_is_known_of_a_later_struct_is_written() {
    let file = models::table();
    let lent = Lent::of(&in_memory(&file));
    let size = size_of::<LaterInfo>() as u32;
    let known = nanoembed_model_info { size, ..Default::default() };
    let mut later = LaterInfo { known, new: 5 };
    // SAFETY: the handle is good, and there is room.
    let status = unsafe { nanoembed_model_get_info(lent.model, (&raw mut later).cast()) };
    assert_eq!(status, NANOEMBED_OK);
    let known = later.known;
    assert_eq!((known.size, known.dimensions, later.new), (size, HIDDEN as u32, 5));
}

#[test]
fn an_error_says_where_and_is_cut_to_its_room() {
    let file = b"no model at all, but long enough to have a header, and some bytes after it";
    let (source, mut error, mut bytes) = (in_memory(file), nanoembed_error::default(), 0);
    let mut plan = nanoembed_plan::default();
    let describe = |error: &nanoembed_error, room: usize| {
        let mut text = vec![1 as c_char; room];
        // SAFETY: everything is there, with its true sizes.
        let status = unsafe { nanoembed_error_describe(error, text.as_mut_ptr(), room) };
        let text: Vec<u8> = text.iter().map(|byte| byte.cast_unsigned()).collect();
        let said = CStr::from_bytes_until_nul(&text).ok().map(|it| it.to_str().expect("UTF-8"));
        (status, said.map(str::to_owned))
    };
    // SAFETY: everything is there, with its true sizes.
    unsafe {
        assert_eq!(nanoembed_plan_scratch(&source, &mut bytes, &mut error), NANOEMBED_OK);
        let scratch = Room::new(bytes);
        let (at, out) = (scratch.start, &mut plan);
        let status = nanoembed_plan_model(&source, null(), at, bytes, out, &mut error);
        assert_eq!((status, error.offset), (of(ErrorKind::BadMagic), 0));
        let message = CStr::from_ptr(nanoembed_status_message(status)).to_str().expect("UTF-8");
        let (said, cut) = (describe(&error, 200), describe(&error, 7));
        assert_eq!(said, (NANOEMBED_OK, Some(format!("byte 0: {message}"))));
        assert_eq!(cut, (NANOEMBED_OK, Some("byte 0".to_owned())));
        assert_eq!(describe(&error, 0).0, of(ErrorKind::BufferTooSmall));
    }
}

#[test]
fn every_status_has_a_name_and_a_message() {
    let mut names = Vec::new();
    for status in [NANOEMBED_OK, NANOEMBED_STOPPED, of(ErrorKind::BadMagic), 12345] {
        // SAFETY: neither is ever NULL, and both are static.
        let (name, message) = unsafe {
            let message = CStr::from_ptr(nanoembed_status_message(status));
            (CStr::from_ptr(nanoembed_status_name(status)), message)
        };
        assert!(!message.is_empty());
        names.push(name);
    }
    assert_eq!(names, [c"ok", c"stopped", c"bad_magic", c"unknown"]);
    // SAFETY: as before.
    let version = unsafe { CStr::from_ptr(nanoembed_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    assert_ne!(nanoembed_abi_version(), 0);
}
