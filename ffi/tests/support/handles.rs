//! Models with memory of their own.

use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::status::*;

use super::errors::name;

/// A model and a workspace, freed when they are dropped.
pub(crate) struct Handles {
    pub(crate) model: *mut nanoembed_model,
    pub(crate) workspace: *mut nanoembed_workspace,
}

impl Drop for Handles {
    fn drop(&mut self) {
        // SAFETY: made by the functions that these belong to.
        unsafe {
            nanoembed_workspace_free(self.workspace);
            nanoembed_model_free(self.model);
        }
    }
}

impl Handles {
    /// A model that a call opened, with a workspace; else its status, and the name that is at fault.
    pub(crate) fn of(
        open: impl FnOnce(*mut *mut nanoembed_model, *mut nanoembed_error) -> nanoembed_status,
    ) -> Result<Self, (nanoembed_status, String)> {
        let (mut model, mut workspace, mut error) = (null_mut(), null_mut(), Default::default());
        match open(&mut model, &mut error) {
            NANOEMBED_OK => {
                // SAFETY: the model has been opened.
                let made = unsafe { nanoembed_workspace_new(model, &mut workspace) };
                assert_eq!(made, NANOEMBED_OK);
                Ok(Self { model, workspace })
            }
            status => Err((status, name(&error))),
        }
    }

    /// What lies at a path, opened by it.
    pub(crate) fn at(
        path: &Path,
        options: &nanoembed_model_options,
    ) -> Result<Self, (nanoembed_status, String)> {
        let path = CString::new(path.to_str().expect("UTF-8")).expect("no zeros");
        // SAFETY: everything is there.
        Self::of(|model, error| unsafe {
            nanoembed_model_open(path.as_ptr(), options, model, error)
        })
    }
}
