//! `tokenizer.json` of Hugging Face `tokenizers`, as a [`TokenizerSpec`].
//!
//! | part | reads |
//! |---|---|
//! | `root`, `truncation` | the text as a whole, and the limit on the length of texts |
//! | `added` | added tokens |
//! | `normalizer`, `pre_tokenizer`, `decoder` | steps |
//! | `pattern`, `metaspace` | common parts of several steps |
//! | `model` | the model's settings, and the location of its vocabulary |
//! | `post_processor`, `token_id` | the special tokens |
//! | `settings` | helpers of all these |
//! | `write` | writes a description as text |
//!
//! An unknown step or setting is rejected by name, since ignoring it would give different ids.

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

/// True if the build has tokenizers other than BERT's; otherwise their steps are rejected.
const HAS_ALL: bool = cfg!(any(feature = "folder-models", feature = "pipeline"));

/// True if the build has all steps; without a heap there are fewer, and the others are rejected.
const HAS_ALL_STEPS: bool = cfg!(feature = "pipeline");

/// The reason for rejecting the others.
const NEEDS_HEAP: &str = "it is done only with a heap";

/// The location of vocabulary and merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In the text.
    Whole,
    /// Elsewhere, replaced by numbers in the text.
    Apart,
}

/// Reads a `tokenizer.json`, whose `bytes` are at the absolute `offset`.
///
/// # Errors
///
/// The invalid or unknown setting.
pub fn read(bytes: &[u8], offset: u64, layout: Layout) -> Read<'_, TokenizerSpec<'_>> {
    let root = root::read(bytes, offset)?;
    let truncation = truncation::read(&root)?;
    let normalizer = normalizer::read(root.get("normalizer"))?;
    let pre_tokenizer = pre_tokenizer::read(root.get(PRE_TOKENIZER))?;
    let post = root.get("post_processor");
    let post_processor =
        if HAS_ALL { post_processor::read(post)? } else { PostProcessor::default() };
    // Builds without a heap do not decode.
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
