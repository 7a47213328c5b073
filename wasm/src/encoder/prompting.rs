//! Prompts before texts, and the comparison of two texts.

use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_core::owned::Prompt;
use nanoembed_core::{Error, ErrorKind};

use super::prompt_choice::PromptChoice;
use crate::failure::{Failure, Result};

/// An encoder with prompts to choose from, or one that compares texts.
pub(crate) trait Prompting {
    /// The fewest tokens that a text may be cut to.
    fn least_tokens(&self) -> usize {
        2
    }

    /// The names of the prompts, in their order.
    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }

    /// The text of a prompt.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    fn choose(&self, choice: PromptChoice, text: String) -> Result<String>;

    /// A prompt, ready to be put before texts.
    fn prompt(&mut self, prompt: &str) -> Result<Prompt>;

    /// The names of the classes of a model that compares two texts; `None` if it embeds.
    fn labels(&self) -> Option<Vec<String>> {
        None
    }

    /// The logits of two texts and then their scores, and the number of tokens.
    ///
    /// # Errors
    ///
    /// `other_model` if the model compares nothing.
    fn compare(
        &mut self,
        _texts: (&str, &str),
        _limit: usize,
        _is_precise: bool,
    ) -> Result<(Vec<f32>, usize)> {
        Err(ErrorKind::OtherModel.into())
    }
}

/// The error for a prompt that a model with the prompts `names` does not have.
pub(crate) fn lacks(names: &[String], missing: &[&str]) -> Failure {
    // Formatting and joining take more code.
    let mut said = String::from("the model has ");
    missing.iter().for_each(|part| said.push_str(part));
    said.push_str("; it has ");
    for (at, name) in names.iter().enumerate() {
        said.push_str(if at > 0 { ", " } else { "" });
        said.push_str(name);
    }
    said.push_str(if names.is_empty() { "none" } else { "" });
    Failure::explained(Error::without_offset(ErrorKind::InvalidArgument), said)
}
