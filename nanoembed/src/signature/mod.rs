//! Kinds of files told by their first bytes.
//!
//! | file | role |
//! |---|---|
//! | `word_form` | the forms that word vectors come in |
//! | `fasttext` | the first bytes of fastText's models |
//! | `foreign` | files of formats that are not read here |

pub(crate) mod fasttext;
pub mod foreign;
pub mod word_form;

/// The most columns that a first line may announce: memory for a row is taken before it is seen.
pub(crate) const MAX_COLS: usize = 1 << 16;
