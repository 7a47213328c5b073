//! The interface of encoders of every kind.

#[cfg(feature = "encoders")]
use alloc::string::String;
#[cfg(feature = "encoders")]
use alloc::vec::Vec;

#[cfg(feature = "encoders")]
use nanoembed_core::owned::Prompt;
use nanoembed_core::owned::Tokenized;
#[cfg(feature = "encoders")]
use nanoembed_core::{Error, ErrorKind};

#[cfg(feature = "encoders")]
use crate::before::Before;
#[cfg(feature = "encoders")]
use crate::failure::Failure;
use crate::failure::Result;
use crate::waiting::Waiting;

/// An encoder, with the scratch memory of its thread.
pub(crate) trait EncoderModel {
    /// Elements of a vector.
    fn dims(&self) -> usize;

    /// The number of tokens of a text that the model was made for.
    fn max_tokens(&self) -> usize;

    /// The most tokens of a text that the model can use.
    fn positions(&self) -> usize;

    /// The first `limit` tokens of `text`.
    fn tokenize(&mut self, text: &str, limit: usize) -> Result<Tokenized>;

    /// The vectors of texts, whose first `skipped` tokens are left out of pooling. `is_precise` keeps
    /// activations in f32.
    fn embed(
        &mut self,
        texts: &Waiting,
        skipped: usize,
        is_precise: bool,
        out: &mut [f32],
    ) -> Result<()>;

    /// The fewest tokens that a text may be cut to.
    #[cfg(feature = "encoders")]
    fn least_tokens(&self) -> usize {
        2
    }

    /// The names of the prompts, in their order.
    #[cfg(feature = "encoders")]
    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }

    /// The text of a prompt.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    #[cfg(feature = "encoders")]
    fn choose(&self, before: Before, text: String) -> Result<String>;

    /// A prompt, ready to be put before texts.
    #[cfg(feature = "encoders")]
    fn prompt(&mut self, prompt: &str) -> Result<Prompt>;

    /// The names of the classes of a model that compares two texts; `None` if it embeds.
    #[cfg(feature = "encoders")]
    fn labels(&self) -> Option<Vec<String>> {
        None
    }

    /// The logits of two texts and then their scores, and the number of tokens.
    ///
    /// # Errors
    ///
    /// `other_model` if the model compares nothing.
    #[cfg(feature = "encoders")]
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
#[cfg(feature = "encoders")]
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
