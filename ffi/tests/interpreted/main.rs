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
#[path = "../support"]
mod support {
    pub(crate) mod embed;
    pub(crate) mod lent;
    pub(crate) mod memory;
    pub(crate) mod session;
    pub(crate) mod source;
    pub(crate) mod stored;
    pub(crate) mod tokenize;
}
mod tensors;
mod threads;
mod tokenizers;
mod words;

use std::ptr::slice_from_raw_parts;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::nanoembed_workspace;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::nanoembed_source;
use nanoembed_ffi::status::nanoembed_status;

use crate::support::lent::{Lent, Planned};
use crate::support::memory::Room;
use crate::support::source::in_memory;
use crate::support::stored::Stored;
use crate::support::tokenize::ids;

/// The status of an error of core's.
fn of(kind: ErrorKind) -> nanoembed_status {
    kind.code().into()
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|x| x.to_bits()).collect()
}

impl Lent {
    /// With the usual options.
    fn of(source: &nanoembed_source) -> Self {
        Self::open(source, &nanoembed_model_options::default())
    }

    fn open(source: &nanoembed_source, options: &nanoembed_model_options) -> Self {
        Planned::new(source, options).and_then(Planned::open).expect("a model")
    }

    fn ids(&self, text: &str) -> Result<Vec<u32>, nanoembed_status> {
        Ok(ids(self.model, text, models::POSITIONS)?.0)
    }

    fn vector(&self, text: &str) -> Result<Vec<u32>, nanoembed_status> {
        vector(self.model, self.workspace, self.plan.dimensions as usize, text)
    }
}

/// The bits of the vector of a text.
fn vector(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    dimensions: usize,
    text: &str,
) -> Result<Vec<u32>, nanoembed_status> {
    let (vector, tokens) = support::embed::vector(model, workspace, dimensions, text)?;
    assert_ne!(tokens, 0);
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
