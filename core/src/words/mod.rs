//! Word vectors, looked up and searched in place in a finalfusion file.
//!
//! | part | role |
//! |---|---|
//! | `source` | the source of the file's bytes: memory, or [`ReadAt`](crate::read::ReadAt) |
//! | `hash`, `ngram` | the n-grams of words outside the vocabulary, and the hash functions that find their rows |
//! | `table`, `index` | a hash table of words and n-grams in caller-provided memory |
//! | `scan` | the same without memory |
//! | `lookup`, `batch`, `view` | a word's rows and its vector; those of many words; borrows instead of copies |
//! | `dot`, `crate::top` | scores of rows, and the best of them |
//! | `product` | rows out of product-quantised codes |
//! | `similarity`, `product_search` | search over a matrix, and over product-quantised codes |
//!
//! Nothing here starts threads: a search takes a range of rows, and [`Words::merge`] joins the
//! results of several threads.

mod batch;
mod dot;
mod hash;
mod index;
mod lookup;
mod ngram;
mod product;
mod product_search;
mod scan;
mod similarity;
mod source;
mod table;
mod view;

pub use crate::top::{Scored, TopK};
pub use dot::normalize;
pub use hash::{FastTextHash, fasttext_hash, finalfusion_hash, floret_hash};
pub use index::{Duplicates, Index, IndexOptions};
pub use lookup::{DROPPED, Found, Rows, Words, is_dropped};
pub use ngram::MAX_NGRAM_CHARS;
pub use similarity::{Analogy, SearchMemory};
pub use source::{Memory, Source, Stored};
