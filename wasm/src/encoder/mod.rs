//! Encoders of every kind: texts in, vectors or scores out.
//!
//! [`text_model`] is what JavaScript calls; `kind` picks one of the kinds that a module is built with:
//! `whole_model`, `file_model` or `table_model`. `other_vectors` are sparse ones, and one for each token.

mod file_model;
mod handle;
mod kind;
#[cfg(feature = "encoder-files")]
pub mod other_vectors;
pub mod prompt_choice;
mod prompting;
mod requantize;
mod sessions;
#[cfg(feature = "shared")]
pub mod shared;
mod table_model;
pub mod text_model;
mod text_queue;
mod whole_model;

use nanoembed_core::owned::Tokenized;

use self::text_queue::TextQueue;
use crate::failure::Result;

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
        texts: &TextQueue,
        skipped: usize,
        is_precise: bool,
        out: &mut [f32],
    ) -> Result<()>;
}
