//! A model that merges pairs, byte-level or over characters.

use crate::error::ErrorKind;
use crate::model::source::word_pieces::settings::check_vocabulary;
use crate::text::json::Read;
use crate::token::spec::{Bpe, Merges, Model};

/// Only these are done.
const ONLY: &str =
    "only what RoBERTa's, ModernBERT's, Qwen's and Gemma's tokenizers do is done without a heap";

/// Checks the settings of a model over `tokens`; returns how many merges it has.
pub(super) fn check<'a>(model: &Model<'a>, bpe: &Bpe<'a>, tokens: u32) -> Read<'a, u64> {
    for (name, affix) in
        [("continuing_subword_prefix", bpe.prefix), ("end_of_word_suffix", bpe.suffix)]
    {
        if !affix.is_empty() {
            return Err(model.place.unsupported(&[name], ONLY));
        }
    }
    // Every byte has a token, which is checked where tokens are: nothing is unknown.
    check_vocabulary(model, tokens)?;
    match bpe.merges {
        Merges::Apart(merges) => Ok(merges),
        Merges::Listed(_) => {
            Err(model.place.fault(&["merges"], ErrorKind::BadMetadata, "their number is needed"))
        }
    }
}
