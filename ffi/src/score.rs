//! Scores of pairs of texts.

use core::ffi::c_char;

use nanoembed_core::ErrorKind;

use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer::{self, text};
use crate::status::{INVALID, Outcome, nanoembed_error, nanoembed_status, report};
#[cfg(feature = "std")]
use crate::workspace::session;
use crate::workspace::{nanoembed_workspace, used_with};

/// How well `document` answers `query`, by a model that compares texts (a cross-encoder): more is
/// better. What does not fit is cut from the end of the longer text first. `NANOEMBED_OTHER_MODEL`
/// for models that embed texts. The workspace's prompt is the instruction to a reranker whose chat
/// template has a place for one.
///
/// Of a model for late interaction with memory of its own the score is MaxSim, and each text is cut
/// alone. Where many documents answer one query, `nanoembed_embed_multi` and `nanoembed_max_sim` read
/// it once.
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
        let ((model, workspace), query, document, out) = unsafe {
            (
                used_with(model, workspace)?,
                text(query, query_bytes)?,
                text(document, document_bytes)?,
                pointer::out(score)?,
            )
        };
        let score = match &model.kind {
            #[cfg(feature = "std")]
            Kind::Hosted(hosted) => {
                hosted.score(session(&mut workspace.hosted)?, query, document)?
            }
            Kind::Encoder(encoder) => {
                let nanoembed_workspace { scratch, ids, .. } = workspace;
                let ids = ids.0.get_mut(..encoder.most()).ok_or(INVALID)?;
                let pair = [query, document];
                encoder.score(&model.source, &model.tokenizer, scratch, pair, ids)?
            }
            Kind::Table(_) => return Err(ErrorKind::OtherModel.into()),
        };
        out.write(score);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
