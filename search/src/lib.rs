//! Search in folders of texts and code by words and by meaning, which `nanoembed_ranking` ranks.
//!
//! ```
//! use nanoembed::{Encoder, Silent};
//! use nanoembed_search::{Query, Tree, TreeOptions};
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! let encoder = Encoder::open(path)?;
//! let options = TreeOptions { store: None, ..TreeOptions::default() };
//! let tree = Tree::open(&["src"], &options, &encoder, &Silent)?;
//! for answer in tree.search(&Query::new("how are paragraphs split?"), &encoder, &Silent)?.best(3) {
//!     println!("{}:{}: {:.3} {}", answer.file, answer.line, answer.score, answer.text);
//! }
//! # Ok::<(), nanoembed::Error>(())
//! ```
//!
//! | file | role |
//! |---|---|
//! | `tree` | files and folders that are searched |
//! | `store` | indices of folders in files |
//! | `segment` | files with their passages, vectors and words, as bytes |
//! | `live` | the passages of segments that are searched |
//! | `watch` | indices that are kept up to date while files change |
//! | `walk` | the files of folders |
//! | `cutting` | files read and cut |
//! | `content` | the passages of a file |
//! | `records` | the texts of JSON lines |
//! | `passage` | texts cut into passages, a file for each form |
//! | `meaning` | passages by the vectors of a model |
//! | `inverted` | the index of sparse vectors |

mod content;
mod cutting;
mod inverted;
mod live;
mod meaning;
mod passage;
mod records;
mod segment;
mod store;
mod tree;
mod walk;
mod watch;

pub use content::Content;
pub use cutting::{Cutting, Reader, UsualReader};
pub use inverted::InvertedIndex;
pub use nanoembed_ranking::{DEPTH, Hit, Scores, WEIGHT};
pub use passage::{Form, Measure, Part, Passage, passages};
pub use store::cache_folder;
pub use tree::{
    Answer, Answers, By, IndexStatus, KNOWS_ENGLISH, Query, Tree, TreeOptions, drop_index,
    index_status,
};
pub use walk::{Files, Found, MOST_BYTES, Walk, read};
pub use watch::Watch;
