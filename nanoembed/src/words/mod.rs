//! Word vectors: files of other programs become `.fifu` files and back, and words are looked up in
//! them.
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
//! | `nearest`, `similar` | search in such a file |
//! | `accuracy` | how many analogies such a file answers |
//! | `vectors` | the file and its index together, to be kept |
//! | `derive` | `.fifu` files made of others: selected, reconstructed, with explicit n-grams, with other metadata |
//! | `listed_ngrams` | the n-grams of all words, in bounded memory and time |
//! | `suggestion` | words that are nearly the one that is missing |
//! | `train` | product quantisers: k-means, rotations |

pub mod accuracy;
pub mod convert;
pub mod derive;
pub mod file;
pub mod form;
pub mod metadata;
pub mod nearest;
pub mod policy;
pub mod quantize;
pub mod similar;
pub mod suggestion;
pub mod train;
pub mod write_selected;

mod finite;
mod listed_ngrams;
pub mod read;
mod vectors;
mod vocabulary;
mod write;

pub use vectors::{Neighbour, Words};
