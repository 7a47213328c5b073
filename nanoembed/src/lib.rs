//! Embedding models and word vectors on a host: from files and folders, on threads, with as much
//! memory as there is. The computing is done by [`nanoembed_core`], which needs neither.
//!
//! ```
//! use nanoembed::Encoder;
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! let encoder = Encoder::open(path)?;
//! let lines = ["Click on the link to choose a new password.", "The weather is lovely today."];
//! let vectors = encoder.embed_documents(&lines)?;
//! let query = encoder.embed_query("How do I reset my password?")?;
//! for hit in vectors.nearest(&query, 1)? {
//!     println!("{:.3}  {}", hit.similarity, lines[hit.index]);
//! }
//! # Ok::<(), nanoembed::Error>(())
//! ```
//!
//! | I want | type |
//! |---|---|
//! | embeddings of texts | [`Encoder`], [`EncoderOptions`] |
//! | whether vectors may be compared | [`Encoder::fingerprint`] |
//! | similar texts | [`Vectors::nearest`], [`cosine`] |
//! | a vector for each token, and late interaction | [`Encoder::embed_multi_query`], [`Vectors::max_sim`] |
//! | weights of the vocabulary's tokens | [`Encoder::embed_sparse`], [`SparseVector::dot`] |
//! | vectors in fewer bytes | [`Vectors::to_int8`], [`Precision`] |
//! | how well texts answer a question | [`Reranker`], [`CrossEncoder`] |
//! | token ids | [`Tokenizer`], [`Encoder::tokenize`] |
//! | a text continued | [`Generator`], [`Prompt`], [`Sampling`] |
//! | vectors of words | [`Words`] |
//! | the tensors of a file | [`File`] |
//! | whatever a file holds | [`Model`] |
//! | a model or weights in another format, or in fewer bits | [`convert`] |
//! | the contents of a file, its faults, differences between two | [`inspect`] |
//! | word vectors of other forms, and in fewer bits | [`words`] |
//! | a bound on the memory that an untrusted file may take | [`Limits`] |
//! | why something failed | [`Error`], [`Kind`] |
//!
//! Models are `.weights`, `.amb`, GGUF and UQFF files and folders as on Hugging Face; their weights
//! are mapped and neither copied nor converted. A model is immutable, `Send` and `Sync`; clones share
//! it, and scratch memory comes from a pool. Everything blocks.
//!
//! With the feature `default-model` the crate contains a model: [`Encoder::built_in`]. The feature
//! `parquet` is for tables of texts in Parquet and Arrow IPC files, as the program reads and writes
//! them.
//!
//! Long jobs tell an [`Observer`] how far they are. Modules that are hidden here are parts of the
//! program `nanoembed`, and may change in any release.

/// The example of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

mod bytes;
mod causal;
#[doc(hidden)]
pub mod checkpoint;
mod choice;
mod cross_encoder;
mod encoder;
mod error;
mod file;
mod folder;
mod generator;
#[doc(hidden)]
pub mod json_float;
#[doc(hidden)]
pub mod layer_names;
mod limits;
mod model;
mod model_check;
mod numbered;
mod pairs;
mod parallel;
mod pool;
mod progress;
mod refusal;
mod reranker;
mod role;
#[doc(hidden)]
pub mod signature;
mod sizes;
mod tokenizer;

pub mod convert;
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod glob;
mod hashed;
mod hub_name;
pub mod inspect;
#[doc(hidden)]
pub mod lines;
#[doc(hidden)]
pub mod open;
#[doc(hidden)]
pub mod stored;
#[cfg(feature = "parquet")]
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
pub mod units;
#[doc(hidden)]
pub mod utc;
pub mod words;

pub use bytes::Bytes;
pub use causal::model::Purpose;
#[doc(hidden)]
pub use causal::tokenizer::is_model;
pub use choice::Choice;
pub use cross_encoder::{CrossEncoder, CrossEncoderOptions, Ranked, Score};
pub use encoder::precision;
pub use encoder::{
    Encoder, EncoderOptions, Fingerprint, Hit, Length, Pooling, Precision, Session, SparseVector,
    VectorKind, Vectors, cosine, max_sim_all, similarity,
};
pub use error::{Error, Kind, Result};
#[doc(hidden)]
pub use error::{hint, name_of, name_of_output, place_of};
pub use file::{File, Tensor};
pub use folder::prompts::{Prefix, Similarity};
pub use generator::{
    FinishReason, GenerationSettings, Generator, GeneratorOptions, Message, Pieces, Prompt,
    Sampling,
};
pub use half::f16;
pub use limits::Limits;
pub use model::{Model, ModelOptions};
pub use nanoembed_core::ErrorKind;
#[doc(hidden)]
pub use nanoembed_core::digest;
pub use nanoembed_core::event::Format;
#[doc(hidden)]
pub use nanoembed_core::kernel::scan;
#[doc(hidden)]
pub use nanoembed_core::owned::base64;
pub use progress::{Observer, Progress, Silent, Task, Unit};
pub use reranker::Reranker;
pub use role::Role;
pub use tokenizer::{Tokenizer, TokenizerOptions, Tokens};
pub use words::{Neighbour, Words};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeOfTheCrate;
