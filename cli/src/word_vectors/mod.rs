//! Word vectors: files of other programs become `.fifu` files and back, and commands look words up
//! in them.
//!
//! | part | role |
//! |---|---|
//! | `form` | the forms that word vectors come in, told apart by their first bytes or their names |
//! | `policy` | what is done with words that stand there twice or are not UTF-8 |
//! | `vocabulary` | words in the order of their rows, without duplicates |
//! | `finite` | what numbers a row may have |
//! | `read` | one file a form: rows as they come, or a whole model |
//! | `write` | one file a form; `.fifu` by way of a spool for vectors, as words come first there |
//! | `convert` | from one form to another |
//! | `file` | a `.fifu` file opened for lookup: mapped, or read where it is needed |
//! | `nearest`, `neighbours` | search in such a file; what it finds as commands print it |
//! | `derive` | `.fifu` files made of others: selected, reconstructed, with explicit n-grams, with other metadata |
//! | `listed_ngrams` | the n-grams of all words, in bounded memory and time |
//! | `suggestion` | words that are nearly the one that is missing |
//! | `train` | product quantisers: k-means, rotations |

pub(crate) mod convert;
pub(crate) mod derive;
pub(crate) mod file;
pub(crate) mod form;
pub(crate) mod metadata;
pub(crate) mod nearest;
pub(crate) mod neighbours;
pub(crate) mod policy;
pub(crate) mod quantize;
pub(crate) mod suggestion;
pub(crate) mod train;
pub(crate) mod write_selected;

mod finite;
mod listed_ngrams;
pub(crate) mod read;
mod vocabulary;
mod write;
