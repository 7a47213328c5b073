//! Prompts.

use core::ffi::c_char;
#[cfg(feature = "std")]
use std::string::String;

use nanoembed_core::describe::folder::FolderPrompt;
#[cfg(feature = "std")]
use nanoembed_core::owned::folder::Prefix;

use crate::chosen::Chosen;
use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer::text;
use crate::status::{Outcome, invalid, nanoembed_error, nanoembed_status, report};
#[cfg(feature = "std")]
use crate::workspace::session;
use crate::workspace::{nanoembed_workspace, used_with};

/// The choice of the prompt before texts.
pub type nanoembed_prompt = u32;
/// The one that the model names for this, if it does.
pub const NANOEMBED_PROMPT_USUAL: nanoembed_prompt = 0;
/// None.
pub const NANOEMBED_PROMPT_NONE: nanoembed_prompt = 1;
/// The model's prompt for questions, if it has one.
pub const NANOEMBED_PROMPT_QUERY: nanoembed_prompt = 2;
/// The model's prompt for texts that answer questions, if it has one.
pub const NANOEMBED_PROMPT_DOCUMENT: nanoembed_prompt = 3;
/// The model's prompt of the name that is given.
pub const NANOEMBED_PROMPT_NAMED: nanoembed_prompt = 4;
/// The text that is given.
pub const NANOEMBED_PROMPT_TEXT: nanoembed_prompt = 5;

/// Chooses the prompt that stands before the texts that are embedded with `workspace`, until another
/// one is chosen. `name` counts for `NANOEMBED_PROMPT_NAMED` and `NANOEMBED_PROMPT_TEXT`, and may be
/// NULL for others. `NANOEMBED_INVALID_ARGUMENT`, with the name `prompt`, if the model has no prompt
/// called `name`, or if a BERT encoder or a static model in lent memory is given a text. A prompt in
/// lent memory has at most 256 bytes, or as many as the longest one of the model. If it has more,
/// the status is `NANOEMBED_BUFFER_TOO_SMALL` and no prompt is chosen.
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
        let ((model, workspace), name) =
            unsafe { (used_with(model, workspace)?, text(name, name_bytes)?) };
        let chosen = match prompt {
            NANOEMBED_PROMPT_USUAL => Chosen::USUAL,
            NANOEMBED_PROMPT_NONE => Chosen::Text(""),
            NANOEMBED_PROMPT_QUERY => Chosen::Own(FolderPrompt::Query),
            NANOEMBED_PROMPT_DOCUMENT => Chosen::Own(FolderPrompt::Document),
            NANOEMBED_PROMPT_NAMED => Chosen::Own(FolderPrompt::Named(name)),
            NANOEMBED_PROMPT_TEXT => Chosen::Text(name),
            _ => return Err(invalid("prompt")),
        };
        match &model.kind {
            #[cfg(feature = "std")]
            Kind::Hosted(hosted) => {
                hosted.set_prompt(session(&mut workspace.hosted)?, &prefix(chosen))
            }
            Kind::Encoder(encoder) if encoder.texts.is_some() => {
                let nanoembed_workspace { scratch, prompt, .. } = workspace;
                encoder.set_prompt(&model.tokenizer, scratch, prompt, chosen)
            }
            _ if prompt <= NANOEMBED_PROMPT_DOCUMENT => Ok(()),
            _ => Err(invalid("prompt")),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

#[cfg(feature = "std")]
fn prefix(chosen: Chosen<'_>) -> Prefix {
    match chosen {
        Chosen::Own(FolderPrompt::Query) => Prefix::Query,
        Chosen::Own(FolderPrompt::Document) => Prefix::Document,
        Chosen::Own(FolderPrompt::Named(name)) => Prefix::Named(String::from(name)),
        Chosen::Own(_) => Prefix::Usual,
        Chosen::Text(text) => Prefix::Text(String::from(text)),
    }
}
