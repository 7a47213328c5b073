//! Models in lent memory: in exactly as much as is planned, and in no byte less.

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::nanoembed_source;
use nanoembed_ffi::status::*;

use super::memory::Room;

/// A model that is planned, and the memory that is lent until it is opened.
pub(crate) struct Planned<'s> {
    source: &'s nanoembed_source,
    options: &'s nanoembed_model_options,
    scratch: Room,
    plan: nanoembed_plan,
}

impl<'s> Planned<'s> {
    pub(crate) fn new(
        source: &'s nanoembed_source,
        options: &'s nanoembed_model_options,
    ) -> Result<Self, nanoembed_error> {
        let scratch = Room::new(scratch_bytes(source)?);
        let (at, bytes, mut plan) = (scratch.start, scratch.bytes(), nanoembed_plan::default());
        // SAFETY: everything is there, with its true sizes.
        call(|error| unsafe {
            nanoembed_plan_model(source, options, at, bytes, &mut plan, error)
        })?;
        Ok(Self { source, options, scratch, plan })
    }

    /// The model and a workspace; the file has to outlive them.
    pub(crate) fn open(self) -> Result<Lent, nanoembed_error> {
        let room = Room::new(self.plan.model_bytes);
        // In Miri, where opening takes a while, one test sees to this.
        if !cfg!(miri) {
            let less = self.model(&room, room.bytes() - 1).map_err(|error| error.status);
            assert_eq!(less, Err(u32::from(ErrorKind::BufferTooSmall.code())));
        }
        let model = self.model(&room, room.bytes())?;
        let Self { scratch, plan, .. } = self;
        // SAFETY: as many bytes are there.
        unsafe { scratch.start.write_bytes(0xFF, scratch.bytes()) };
        drop(scratch);
        // SAFETY: the handle is good.
        assert_eq!(unsafe { nanoembed_workspace_bytes(model) }, plan.workspace_bytes);
        let mut workspace = null_mut();
        // SAFETY: as before, and the memory outlives the workspace.
        let second = Room::exactly(plan.workspace_bytes, |place, size| unsafe {
            nanoembed_workspace_init(model, place, size, &mut workspace)
        });
        Ok(Lent { model, workspace, plan, _rooms: [room, second] })
    }

    fn model(&self, room: &Room, size: usize) -> Result<*mut nanoembed_model, nanoembed_error> {
        let (Self { source, options, scratch, .. }, mut model) = (self, null_mut());
        let (place, at, bytes, out) = (room.start, scratch.start, scratch.bytes(), &mut model);
        // SAFETY: everything is there, with its true sizes.
        call(|error| unsafe {
            nanoembed_model_init(*source, *options, place, size, at, bytes, out, error)
        })?;
        Ok(model)
    }
}

/// A model and a workspace, and what they lie in.
pub(crate) struct Lent {
    pub(crate) model: *mut nanoembed_model,
    pub(crate) workspace: *mut nanoembed_workspace,
    pub(crate) plan: nanoembed_plan,
    _rooms: [Room; 2],
}

/// The scratch memory that opening a model takes.
pub(crate) fn scratch_bytes(source: &nanoembed_source) -> Result<usize, nanoembed_error> {
    let mut bytes = 0;
    // SAFETY: everything is there.
    call(|error| unsafe { nanoembed_plan_scratch(source, &mut bytes, error) })?;
    Ok(bytes)
}

/// What a call answers that says what is wrong.
fn call(
    function: impl FnOnce(*mut nanoembed_error) -> nanoembed_status,
) -> Result<(), nanoembed_error> {
    let mut error = nanoembed_error::default();
    let status = function(&mut error);
    if status == NANOEMBED_OK {
        return Ok(());
    }
    assert_eq!(error.status, status);
    Err(error)
}
