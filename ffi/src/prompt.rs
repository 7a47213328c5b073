//! What stands before texts, and how well two texts go together: of models on hosts.

use core::ffi::c_char;
use std::string::String;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::folder::Prefix;

use crate::embed::{nanoembed_workspace, session};
use crate::model::{Kind, nanoembed_model};
use crate::pointer::{self, text};
use crate::status::{Outcome, invalid, nanoembed_error, nanoembed_status, report};

/// Which prompt stands before texts.
pub type nanoembed_prompt = u32;
/// The one that the model names for this, if it does.
pub const NANOEMBED_PROMPT_USUAL: nanoembed_prompt = 0;
/// None.
pub const NANOEMBED_PROMPT_NONE: nanoembed_prompt = 1;
/// The model's prompt for questions.
pub const NANOEMBED_PROMPT_QUERY: nanoembed_prompt = 2;
/// The model's prompt for texts that answer questions.
pub const NANOEMBED_PROMPT_DOCUMENT: nanoembed_prompt = 3;
/// The model's prompt of the name that is given.
pub const NANOEMBED_PROMPT_NAMED: nanoembed_prompt = 4;
/// The text that is given.
pub const NANOEMBED_PROMPT_TEXT: nanoembed_prompt = 5;

/// Chooses the prompt that stands before the texts that are embedded with `workspace`, until another
/// one is chosen. `name` counts for `NANOEMBED_PROMPT_NAMED` and `NANOEMBED_PROMPT_TEXT`, and may be
/// NULL for others. `NANOEMBED_INVALID_ARGUMENT`, of `prompt`, if the model has no such prompt, which
/// models in lent memory never have.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `name` points to `name_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_set_prompt(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    prompt: nanoembed_prompt,
    name: *const c_char,
    name_bytes: usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, workspace, name) = unsafe {
            (pointer::get(model)?, pointer::get_mut(workspace)?, text(name, name_bytes)?)
        };
        let prefix = match prompt {
            NANOEMBED_PROMPT_USUAL => Prefix::Usual,
            NANOEMBED_PROMPT_NONE => Prefix::Text(String::new()),
            NANOEMBED_PROMPT_QUERY => Prefix::Query,
            NANOEMBED_PROMPT_DOCUMENT => Prefix::Document,
            NANOEMBED_PROMPT_NAMED => Prefix::Named(String::from(name)),
            NANOEMBED_PROMPT_TEXT => Prefix::Text(String::from(name)),
            _ => return Err(invalid("prompt")),
        };
        match &model.kind {
            Kind::Hosted(hosted) => hosted.set_prompt(session(&mut workspace.hosted)?, &prefix),
            _ if prompt <= NANOEMBED_PROMPT_NONE => Ok(()),
            _ => Err(invalid("prompt")),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

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
