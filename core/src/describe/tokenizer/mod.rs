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
mod tests;
mod token_id;
mod truncation;
mod write;

pub(in crate::describe) use model::words;
pub use write::Json;

use crate::text::json::Read;
use crate::token::spec::{JsonPlace, PRE_TOKENIZER, TokenizerSpec};

/// True if the build has tokenizers other than BERT's; otherwise their steps are rejected.
const HAS_ALL: bool = cfg!(feature = "families");

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
    let mut spec = TokenizerSpec::default();
    read_into(bytes, offset, layout, &mut spec)?;
    Ok(spec)
}

/// As [`read`], into a description that is as it was made: they are large.
///
/// # Errors
///
/// As [`read`].
pub fn read_into<'t>(
    bytes: &'t [u8],
    offset: u64,
    layout: Layout,
    spec: &mut TokenizerSpec<'t>,
) -> Read<'t, ()> {
    let root = root::read(bytes, offset)?;
    spec.truncation = truncation::read(&root)?;
    normalizer::read(root.get("normalizer"), &mut spec.normalizer)?;
    pre_tokenizer::read(root.get(PRE_TOKENIZER), &mut spec.pre_tokenizer)?;
    let post = root.get("post_processor");
    if HAS_ALL {
        spec.post_processor = post_processor::read(post)?;
    }
    // Builds without a heap do not decode.
    let decoder = root.get("decoder");
    if HAS_ALL_STEPS {
        decoder::read(decoder, &mut spec.decoder)?;
    }
    spec.added = added::read(&root)?;
    let model = root.needed("model", root.get("model"))?;
    root.finish(&["padding"])?;
    spec.model = model::read(model, layout)?;
    spec.place = JsonPlace::new(root.value());
    Ok(())
}
