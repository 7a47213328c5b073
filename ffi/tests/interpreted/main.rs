//! The C interface over models so small that Miri can interpret it: whether its `unsafe` code keeps
//! Rust's rules, in memory that is lent, not initialised, of exactly the planned size, and given back
//! as soon as it may be.
//!
//!     cargo +nightly miri test -p nanoembed-ffi --test interpreted

mod decoders;
mod errors;
mod heap;
mod lent;
mod models;
mod readers;
mod tensors;
mod threads;
mod tokenizers;
mod words;

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::{null_mut, slice_from_raw_parts};

use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenize::nanoembed_tokenize;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

/// The status of an error of core's.
fn of(kind: ErrorKind) -> nanoembed_status {
    kind.code().into()
}

fn checked(status: nanoembed_status) -> Result<(), nanoembed_status> {
    if status == NANOEMBED_OK { Ok(()) } else { Err(status) }
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|x| x.to_bits()).collect()
}

/// Memory as `malloc` gives it: aligned, of exactly this size, and not initialised.
struct Room {
    start: *mut u8,
    layout: Layout,
}

impl Room {
    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, 16).expect("a size");
        // SAFETY: no handle and no scratch memory has no bytes.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null());
        Self { start, layout }
    }

    fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// A source of a file in memory, which has to outlive it.
fn in_memory(file: &[u8]) -> nanoembed_source {
    let mut source = nanoembed_source::default();
    // SAFETY: both are there.
    let status = unsafe { nanoembed_source_from_buffer(file.as_ptr(), file.len(), &mut source) };
    assert_eq!(status, NANOEMBED_OK);
    source
}

/// A file that is read by a callback, at most `most` bytes at a time.
struct Stored<'f> {
    file: &'f [u8],
    most: usize,
}

impl Stored<'_> {
    /// The source, which `self` and the file have to outlive.
    fn source(&self) -> nanoembed_source {
        let context = (&raw const *self).cast_mut().cast();
        let (length, mut source) = (self.file.len() as u64, nanoembed_source::default());
        // SAFETY: all are there.
        let status =
            unsafe { nanoembed_source_from_callback(Some(read_at), context, length, &mut source) };
        assert_eq!(status, NANOEMBED_OK);
        source
    }
}

unsafe extern "C" fn read_at(
    context: *mut c_void,
    offset: u64,
    destination: *mut u8,
    length: usize,
    read: *mut usize,
) -> i32 {
    // SAFETY: a source is used as long as what it is of lives.
    let Stored { file, most } = unsafe { &*context.cast::<Stored<'_>>() };
    let Some(rest) = file.get(offset as usize..) else { return 1 };
    let count = length.min(rest.len()).min(*most);
    // SAFETY: the contract of the callback.
    unsafe {
        destination.copy_from_nonoverlapping(rest.as_ptr(), count);
        read.write(count);
    }
    0
}

/// A model and a workspace in lent memory.
struct Lent {
    model: *mut nanoembed_model,
    workspace: *mut nanoembed_workspace,
    plan: nanoembed_plan,
    _rooms: [Room; 2],
}

impl Lent {
    /// In exactly the memory that is planned; what was lent meanwhile is given back.
    fn open(
        source: &nanoembed_source,
        options: &nanoembed_model_options,
    ) -> Result<Self, nanoembed_status> {
        let (mut bytes, mut plan) = (0, nanoembed_plan::default());
        let (mut model, mut workspace) = (null_mut(), null_mut());
        let none = null_mut();
        // SAFETY: everything is there, with its true sizes, and outlives the handles.
        unsafe {
            checked(nanoembed_plan_scratch(source, &mut bytes, none))?;
            let scratch = Room::new(bytes);
            let at = scratch.start;
            checked(nanoembed_plan_model(source, options, at, bytes, &mut plan, none))?;
            let rooms = [plan.model_bytes, plan.workspace_bytes].map(Room::new);
            let [first, second] = &rooms;
            let (place, size, out) = (first.start, first.bytes(), &mut model);
            checked(nanoembed_model_init(source, options, place, size, at, bytes, out, none))?;
            let (place, size) = (second.start, second.bytes());
            checked(nanoembed_workspace_init(model, place, size, &mut workspace))?;
            Ok(Self { model, workspace, plan, _rooms: rooms })
        }
    }

    /// With the usual options.
    fn of(source: &nanoembed_source) -> Self {
        Self::open(source, &nanoembed_model_options::default()).expect("a model")
    }

    fn ids(&self, text: &str) -> Result<Vec<u32>, nanoembed_status> {
        ids(self.model, text)
    }

    fn vector(&self, text: &str) -> Result<Vec<u32>, nanoembed_status> {
        vector(self.model, self.workspace, self.plan.dimensions as usize, text)
    }
}

/// The ids of a text.
fn ids(model: *const nanoembed_model, text: &str) -> Result<Vec<u32>, nanoembed_status> {
    let (mut ids, mut tokenized) = ([0; models::POSITIONS], nanoembed_tokenized::default());
    let (start, bytes) = (text.as_ptr().cast(), text.len());
    let (out, room) = (ids.as_mut_ptr(), ids.len());
    // SAFETY: the handle is good, and the rest lies here.
    checked(unsafe {
        nanoembed_tokenize(model, start, bytes, out, room, &mut tokenized, null_mut())
    })?;
    Ok(ids[..tokenized.tokens as usize].to_vec())
}

/// The bits of the vector of a text.
fn vector(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    dimensions: usize,
    text: &str,
) -> Result<Vec<u32>, nanoembed_status> {
    let (mut vector, mut tokenized) = (vec![f32::NAN; dimensions], nanoembed_tokenized::default());
    let (start, bytes, out) = (text.as_ptr().cast(), text.len(), vector.as_mut_ptr());
    // SAFETY: handles are good, and the rest lies here.
    checked(unsafe {
        let (found, none) = (&mut tokenized, null_mut());
        nanoembed_embed_text(model, workspace, start, bytes, out, dimensions, found, none)
    })?;
    assert_ne!(tokenized.total, 0);
    Ok(bits(&vector))
}

/// What an event or a word points to.
///
/// # Safety
///
/// `start` points to as many bytes, which live long enough.
unsafe fn slice<'a>(start: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { &*slice_from_raw_parts(start, length) }
}
