//! Words and their vectors, looked up and searched where they lie in a finalfusion file.
//!
//! | part | role |
//! |---|---|
//! | `source` | where the file's bytes are: in memory, or behind [`ReadAt`](crate::read::ReadAt) |
//! | `hash`, `ngram` | the n-grams of words that a vocabulary lacks, and the hash functions that find their rows |
//! | `table`, `index` | a hash table of words and n-grams in lent memory |
//! | `scan` | the same without memory |
//! | `lookup`, `batch`, `view` | a word's rows and its vector; those of many words; what is lent instead of copied |
//! | `dot`, `crate::top` | scores of rows, and the best of them |
//! | `similarity`, `product` | search over a matrix, and over product-quantised codes |
//!
//! Nothing here starts threads: a search takes a range of rows, and [`Words::merge`] joins what
//! several threads found.

mod batch;
mod dot;
mod hash;
mod index;
mod lookup;
mod ngram;
mod product;
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
