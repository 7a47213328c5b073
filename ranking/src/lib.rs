#![doc = include_str!("../README.md")]
//!
//! | file | role |
//! |---|---|
//! | `term` | texts as terms: stems, identifiers, pairs of letters |
//! | `script` | scripts of letters |
//! | `bm25` | passages by the words that they share with a query |
//! | `postings` | lists of the passages that have a term |
//! | `word_index` | passages in memory, by their words |
//! | `best_part` | the similarity of a passage by those of its parts |
//! | `rank` | the best by words and meaning together |
//! | `weight` | the share of meaning in that |

#![no_std]

extern crate alloc;

pub mod best_part;
mod bm25;
pub mod postings;
mod rank;
mod script;
mod term;
mod weight;
mod word_index;

pub use best_part::BestPart;
pub use bm25::{Passages, Words};
pub use rank::{DEPTH, Hit, Scores};
pub use script::Letters;
pub use term::counts;
pub use weight::{WEIGHT, weight_of_built_in};
pub use word_index::WordIndex;
