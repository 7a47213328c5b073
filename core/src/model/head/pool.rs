//! From the vectors of a text's tokens to one embedding.

use crate::kernel;
use crate::model::config::{BertConfig, FAMILIES, Pooling};

/// Pools `hidden` (`[tokens, out.len()]`, at least one token) into `out` as the model's
/// configuration says.
///
/// Mean pooling adds the tokens in order and multiplies by 1 / tokens; normalising scales to length
/// 1, and leaves a vector of zeros.
pub fn pool(config: &BertConfig, hidden: &[f32], out: &mut [f32]) {
    let width = out.len();
    if width == 0 {
        return;
    }
    out.fill(0.0);
    let tokens = hidden.chunks_exact(width.max(1));
    let (first, count) = match config.pooling {
        Pooling::Mean => (0, tokens.len()),
        Pooling::Cls => (0, 1),
        Pooling::Last if FAMILIES => (tokens.len().saturating_sub(1), 1),
        Pooling::Last => (0, 0),
    };
    for token in tokens.skip(first).take(count) {
        kernel::add(out, token);
    }
    #[allow(clippy::cast_precision_loss)] // texts have fewer than 2²⁴ tokens
    kernel::scale(out, 1.0 / count.max(1) as f32);
    if config.normalize {
        kernel::normalize(out);
    }
}
