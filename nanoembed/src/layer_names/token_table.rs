//! The name of the table of tokens in a checkpoint, which tells the prefix of all names.

use nanoembed_core::model::{Names, Tensor};

/// The name of the table of tokens in a family, without `.weight`, and the prefix that it and all other
/// names have among `tensors`; `None` if it is not there.
pub(crate) fn token_table<'t, T: Iterator<Item = &'t str>>(
    family: &Names,
    tensors: impl Fn() -> T,
) -> Option<(&'static str, &'t str)> {
    let prefix = |name: &str| {
        let mut weights = tensors().filter_map(|tensor| tensor.strip_suffix(".weight"));
        weights.find_map(|weight| weight.strip_suffix(name))
    };
    family.names_of(Tensor::Embeddings).find_map(|name| Some((name, prefix(name)?)))
}
