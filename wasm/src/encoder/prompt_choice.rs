//! The choice of a prompt.

use wasm_bindgen::prelude::*;

/// The prompt before texts.
#[cfg_attr(feature = "encoders", wasm_bindgen)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptChoice {
    /// The model's default prompt, if it has one.
    Usual,
    /// A text.
    Text,
    /// The model's prompt of a name.
    Named,
    /// The model's prompt for questions, if it has one.
    Query,
    /// The model's prompt for texts that answer questions, if it has one.
    Document,
}
