//! How well two texts go together: of models on hosts.

use core::ffi::c_char;

use nanoembed_core::ErrorKind;

use crate::embed::{nanoembed_workspace, session};
use crate::model::{Kind, nanoembed_model};
use crate::pointer::{self, text};
use crate::status::{Outcome, nanoembed_error, nanoembed_status, report};

/// How well `document` answers `query`, by a model that compares texts (a cross-encoder): more is
/// better. `NANOEMBED_OTHER_MODEL` for models that embed texts.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `query` and `document` point to as many bytes,
/// `score` to memory for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_score(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    query: *const c_char,
    query_bytes: usize,
    document: *const c_char,
    document_bytes: usize,
    score: *mut f32,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, workspace, query, document, out) = unsafe {
            (
                pointer::get(model)?,
                pointer::get_mut(workspace)?,
                text(query, query_bytes)?,
                text(document, document_bytes)?,
                pointer::out(score)?,
            )
        };
        let Kind::Hosted(hosted) = &model.kind else { return Err(ErrorKind::OtherModel.into()) };
        out.write(hosted.score(session(&mut workspace.hosted)?, query, document)?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
