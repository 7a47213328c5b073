//! For hosts with a heap: a model file in, texts in, vectors out.
//!
//! | I want | type |
//! |---|---|
//! | embeddings of texts, or scores of pairs, whatever the model and its files are | [`Encoder`] |
//! | the same of token ids | [`TokenEncoder`] |
//! | a text continued | [`CausalModel`]; [`Decoder`] over weights from anywhere |
//! | embeddings by a transformer in a `.weights` or `.amb` file, or by a table in a `.weights` file, in builds where size matters | `EncoderFile`, `TableFile` |
//! | token ids alone | [`Tokenizer`]; [`Pipeline`] of a `tokenizer.json` |
//!
//! Models are immutable and shared between threads; what changes while one runs is in a
//! [`Session`], a [`TextSession`] or a [`CausalSession`], one for each thread or text. Everything
//! here is made of the borrowing types of [`token`](crate::token) and [`model`](crate::model).
//!
//! ```
//! use nanoembed_core::owned::Encoder;
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! let encoder = Encoder::open(std::fs::read(path)?)?;
//! let vector = encoder.embed_text("How do I reset my password?")?;
//! assert_eq!(vector.len(), encoder.dimensions());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "sizes are checked when a model is opened"
)]

mod added_words;
mod asked_weights;
pub mod base64;
mod borrowed;
mod causal;
pub mod content_digest;
mod decoder;
mod described_file;
mod empty_texts;
mod encoder;
mod encoder_file;
mod file_weights;
pub mod fingerprint;
pub mod folder;
mod gguf_tokenizer;
#[cfg(feature = "std")]
mod io_sink;
mod metadata;
mod model_fault;
mod model_proto;
mod pipeline;
mod ready_prompt;
mod sentencepiece;
mod session;
mod sparse_vector;
mod stored_tokenizer;
mod table_file;
mod text_session;
mod token_encoder;
mod tokenized;
mod tokenizer;
mod tokenizer_room;
mod usual_prompt;

pub use crate::token::added_list::ADDED_TOKENS;
pub use crate::token::sentencepiece::ModelSettings;
pub use added_words::{AddedWord, parse_added_words, write_added_words};
pub use asked_weights::TensorFault;
pub use causal::CausalModel;
pub use decoder::{CausalPooling, CausalSession, Decoder};
pub use described_file::{DescribedFile, stored_text};
pub use encoder::Classes;
pub use encoder::Encoder;
pub use encoder::{LateSide, MultiTokens};
pub use encoder_file::{EncoderFile, EncoderRoom, TextRoom};
pub use file_weights::FileWeights;
pub use fingerprint::Fingerprint;
#[cfg(feature = "std")]
pub use io_sink::IoSink;
pub use model_fault::ModelFault;
pub use model_proto::ModelProto;
pub use pipeline::{Pipeline, PipelineParts, PipelineSession};
pub use ready_prompt::Prompt;
pub use sentencepiece::{PieceSession, SentencePieceModel};
pub use session::Session;
pub use sparse_vector::SparseVector;
pub use stored_tokenizer::{TOKENIZER, TOKENIZER_MERGES, TOKENIZER_SCORES};
pub use table_file::TableFile;
pub use text_session::TextSession;
pub use token_encoder::TokenEncoder;
pub use tokenized::{Tokenized, TokenizedPair};
pub use tokenizer::{
    AllKinds, BytePairs, Cuts, Detokenizer, Kinds, Spelling, TextKinds, Tokenizer, WordPieces,
};
pub use usual_prompt::usual_prompt;
