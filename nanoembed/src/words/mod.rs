//! Word vectors: files of other programs become `.fifu` files and back, and words are looked up in
//! them.
//!
//! | I want | type |
//! |---|---|
//! | vectors looked up, neighbours, analogies | [`Words`] |
//! | vectors of another form as a `.fifu` file, or the other way round | [`Conversion`] |
//! | vectors as codes of a quantiser that is trained on them, and back | [`Quantization`], [`Reconstruction`] |
//! | listed n-grams instead of hashed ones | [`ExplicitNgrams`] |
//!
//! Each job is made with its input and output, takes options, and then `run`s.

// The parts, of which the program `nanoembed` uses some by themselves:
//
// | part | role |
// |---|---|
// | `policy` | policies for words that are duplicates or not UTF-8 |
// | `vocabulary` | words in the order of their rows, without duplicates |
// | `number` | finite numbers of rows |
// | `read` | one file a form: rows as they come, or a whole model |
// | `write` | one file a form; `.fifu` by way of a spool for vectors, as words come first there |
// | `convert` | from one form to another |
// | `file` | a `.fifu` file opened for lookup: mapped, or read where it is needed |
// | `nearest`, `similar` | search in such a file |
// | `accuracy` | analogies that such a file answers |
// | `vectors` | the file and its index together, to be kept |
// | `derivation`, `reconstruction`, `explicit_ngrams` | `.fifu` files made of others: selected, reconstructed, with explicit n-grams, with other metadata |
// | `listed_ngrams` | the n-grams of all words, in bounded memory and time |
// | `suggestion` | words that are nearly the one that is missing |
// | `train` | product quantisers: k-means, rotations |

#[doc(hidden)]
pub mod accuracy;
#[doc(hidden)]
pub mod convert;
#[doc(hidden)]
pub mod derivation;
#[doc(hidden)]
pub mod file;
#[doc(hidden)]
pub mod metadata;
#[doc(hidden)]
pub mod nearest;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod quantization;
#[doc(hidden)]
pub mod selection;
#[doc(hidden)]
pub mod similar;
#[doc(hidden)]
pub mod suggestion;
#[doc(hidden)]
pub mod train;

mod explicit_ngrams;
mod listed_ngrams;
mod number;
#[doc(hidden)]
pub mod read;
mod reconstruction;
mod vectors;
mod vocabulary;
mod write;

pub use convert::{Conversion, Report};
pub use explicit_ngrams::{Buckets, ExplicitNgrams};
pub use policy::{OnBrokenUtf8, OnDuplicate, Policy};
pub use quantization::{PqReport, Quantization};
pub use reconstruction::Reconstruction;
pub use train::product::RotationKind;
pub use vectors::{Neighbour, Words, WordsOptions};

pub use crate::signature::word_form::Form;
