//! The tokenizer that a folder's `tokenizer.json` describes.

use nanoembed_core::owned::Pipeline;
use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::text::json::Read;

use super::texts::FolderTexts;
use crate::error::Result;

/// The name of the file.
pub(crate) const FILE: &str = "tokenizer.json";

/// The hint against files that contradict each other.
pub(crate) const SAVE_AGAIN: &str = "transformers and `tokenizers` give other ids for this folder; save the tokenizer again with `save_pretrained`";

/// The tokenizer that a `tokenizer.json` describes.
pub(crate) fn described(texts: &FolderTexts, text: &str) -> Result<Pipeline> {
    failed(texts, Pipeline::read(text))
}

/// The tokenizer, or its fault in words.
pub(crate) fn failed(texts: &FolderTexts, read: Read<'_, Pipeline>) -> Result<Pipeline> {
    read.map_err(|fault| texts.explained(&FolderFault::new(FILE, fault)))
}
