//! `tokenizer.json` of Hugging Face `tokenizers`, as a [`TokenizerSpec`].
//!
//! | part | what it reads |
//! |---|---|
//! | `root`, `truncation` | the text as a whole, and how long texts may be |
//! | `added` | added tokens |
//! | `normalizer`, `pre_tokenizer`, `decoder` | steps |
//! | `pattern`, `metaspace` | what several steps have in common |
//! | `model` | the model's settings, and where its vocabulary is |
//! | `post_processor`, `token_id` | the tokens around texts |
//! | `settings` | what all of these are read with |
//! | `write` | the text of a description |
//!
//! A step or a setting that is not known is refused by name, for leaving it out would give other
//! ids.

mod added;
mod decoder;
mod metaspace;
mod model;
mod normalizer;
mod pattern;
mod post_processor;
mod pre_tokenizer;
mod root;
mod settings;
#[cfg(test)]
#[cfg(feature = "pipeline")]
mod tests;
mod token_id;
mod truncation;
#[cfg(feature = "pipeline")]
mod write;

#[cfg(feature = "pipeline")]
pub use write::Json;

use crate::text::json::Read;
use crate::token::spec::{PRE_TOKENIZER, Place, PostProcessor, TokenizerSpec};

/// True if the build has tokenizers beside BERT's; otherwise their steps are refused.
const HAS_ALL: bool = cfg!(any(feature = "folder-models", feature = "pipeline"));

/// True if the build has all steps; without a heap there are fewer, and the others are refused.
const HAS_ALL_STEPS: bool = cfg!(feature = "pipeline");

/// What is said of the others.
const NEEDS_HEAP: &str = "it is done only with a heap";

/// Where vocabulary and merges are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In the text.
    Whole,
    /// Elsewhere: numbers stand in their places.
    Apart,
}

/// Reads the `tokenizer.json` whose `bytes` lie at the absolute `offset`.
///
/// # Errors
///
/// The setting that is at fault, or that is not known here.
pub fn read(bytes: &[u8], offset: u64, layout: Layout) -> Read<'_, TokenizerSpec<'_>> {
    let root = root::read(bytes, offset)?;
    let truncation = truncation::read(&root)?;
    let normalizer = normalizer::read(root.get("normalizer"))?;
    let pre_tokenizer = pre_tokenizer::read(root.get(PRE_TOKENIZER))?;
    let post = root.get("post_processor");
    let post_processor =
        if HAS_ALL { post_processor::read(post)? } else { PostProcessor::default() };
    // Builds without a heap make no text of ids.
    let decoder = root.get("decoder");
    let decoder = if HAS_ALL_STEPS { decoder::read(decoder)? } else { None };
    let added = added::read(&root)?;
    let model = root.needed("model", root.get("model"))?;
    root.finish(&["padding"])?;
    let model = model::read(model, layout)?;
    let place = Place::new(root.value());
    Ok(TokenizerSpec {
        added,
        normalizer,
        pre_tokenizer,
        model,
        post_processor,
        decoder,
        truncation,
        place,
    })
}
