//! Messages as the prompt of a model.
//!
//! | file | role |
//! |---|---|
//! | `chat_ml` | the ChatML form, for models without a template |
//! | `template` | the model's own template, rendered |
//! | `guard` | what a template may contain, and bounds for the values that it makes |
//! | `environment`, `json`, `time` | filters, methods and functions that templates call |
//! | `marks` | the texts of messages that spell tokens, marked so that they stay texts |
//! | `encoded` | the token ids of a prompt with texts that stay texts |

mod chat_ml;
mod encoded;
mod environment;
mod guard;
mod json;
mod marks;
mod template;
mod time;

use super::message::Message;
use crate::error::{Error, Result};
use crate::open::causal::Causal;

/// The ids of messages and of the beginning of an answer.
///
/// # Errors
///
/// [`Kind::Usage`](crate::Kind::Usage) if the model lacks a template and the tokens of ChatML, if its
/// template refuses the messages, and for a role that is no word; other kinds if the template is
/// invalid, or takes too much work.
pub(super) fn encode(causal: &Causal, messages: &[Message<'_>]) -> Result<Vec<u32>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if let Some(odd) =
        messages.iter().find(|it| it.role.is_empty() || !it.role.chars().all(is_word))
    {
        return Err(Error::usage(format!("{:?} is no role: a role is one word", odd.role)));
    }
    match causal.model().chat_template() {
        Some(template) => template::encode(causal, template, messages),
        None => chat_ml::encode(causal, messages),
    }
}
