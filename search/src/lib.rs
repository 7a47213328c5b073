//! Search in folders of texts and code by words and by meaning.
//!
//! ```
//! use std::sync::Arc;
//!
//! use nanoembed::{Encoder, Silent, VectorKind};
//! use nanoembed_search::{Corpus, DEPTH, Form, Scores, WEIGHT, Words, compare, passages};
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! let encoder = Encoder::open(path)?;
//! let mut corpus = Corpus::default();
//! let text = "# Passwords\n\nClick on the link.\n\n# Weather\n\nThe weather is lovely today.\n";
//! for passage in passages(Form::Markdown, text, &encoder) {
//!     corpus.add(&"notes.md".into(), passage);
//! }
//! let query = "a new password";
//! let meaning =
//!     compare(&encoder, VectorKind::Dense, &[query], &corpus.parts(), &Silent)?;
//! let (similarities, _) = corpus.best_parts(&meaning.similarities[0]);
//! let words = Words::new(&corpus.texts()).scores(query);
//! let scores = Scores { meaning: Some(&similarities), words: Some(&words.scores) };
//! let best = scores.rank(WEIGHT, DEPTH)[0];
//! assert_eq!(corpus.get(best.passage).unwrap().1.parts[0].line, 1);
//! # Ok::<(), nanoembed::Error>(())
//! ```
//!
//! | file | role |
//! |---|---|
//! | `walk` | the files of folders |
//! | `passage` | texts cut into passages, a file for each form |
//! | `corpus` | the passages of files, equal ones once |
//! | `term` | texts as terms: stems, identifiers, pairs of letters |
//! | `bm25` | passages by the words that they share with a query |
//! | `meaning` | passages by the vectors of a model |
//! | `inverted` | the index of terms and of sparse vectors |
//! | `rank` | the best by both together |
//! | `weight` | the share of meaning in that |
//! | `script` | scripts of letters |

mod bm25;
mod corpus;
mod inverted;
mod meaning;
mod passage;
mod rank;
mod script;
mod term;
mod walk;
mod weight;

pub use bm25::{WordScores, Words};
pub use corpus::Corpus;
pub use inverted::InvertedIndex;
pub use meaning::{Meaning, compare};
pub use passage::{Form, Measure, Part, Passage, passages};
pub use rank::{DEPTH, Hit, Scores};
pub use walk::{Files, Found, MOST_BYTES, Walk, read};
pub use weight::{WEIGHT, weight_of_built_in};
