//! The `config.json` of a SpladePooling module.

use crate::model::{SpladePooling, SpladeSettings};
use crate::text::json::{Object, Read};

/// Members that do not change results: the size of the vocabulary, and how many tokens are computed
/// together.
const IRRELEVANT: &[&str] = &["embedding_dimension", "word_embedding_dimension", "chunk_size"];

/// Reads the pooling of the scores of a masked language model.
pub(super) fn splade<'t>(config: &Object<'t>) -> Read<'t, SpladeSettings> {
    const POOLING: &str = "pooling_strategy";
    const ACTIVATION: &str = "activation_function";
    let is = |name, value: &str| config.get(name).is_none_or(|found| found.is_text(value));
    let pooling = match config.get(POOLING) {
        Some(named) if named.is_text("sum") => SpladePooling::Sum,
        _ if is(POOLING, "max") => SpladePooling::Max,
        _ => return Err(config.unsupported(POOLING, "max and sum are known")),
    };
    let is_logged_twice = match config.get(ACTIVATION) {
        Some(named) if named.is_text("log1p_relu") => true,
        _ if is(ACTIVATION, "relu") => false,
        _ => return Err(config.unsupported(ACTIVATION, "relu and log1p_relu are known")),
    };
    config.finish(IRRELEVANT)?;
    Ok(SpladeSettings { pooling, is_logged_twice })
}
