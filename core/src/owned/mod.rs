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
#[cfg(feature = "pipeline")]
mod asked_weights;
#[cfg(feature = "pipeline")]
pub mod base64;
mod borrowed;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod causal;
mod decoder;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod empty_texts;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod encoder;
#[cfg(feature = "folder-models")]
mod encoder_file;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod file_weights;
#[cfg(feature = "pipeline")]
pub mod folder;
#[cfg(all(feature = "pipeline", feature = "gguf"))]
mod gguf_encoder;
#[cfg(feature = "std")]
mod io_sink;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod metadata;
#[cfg(feature = "pipeline")]
mod model_fault;
mod model_proto;
#[cfg(feature = "pipeline")]
mod pipeline;
#[cfg(any(
    feature = "folder-models",
    all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf"))
))]
mod ready_prompt;
mod sentencepiece;
#[cfg(any(feature = "amb", feature = "embd", feature = "pipeline", feature = "gguf"))]
mod session;
#[cfg(all(feature = "static-models", feature = "embd"))]
mod table_file;
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd")))]
mod text_file;
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
mod text_source;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod token_encoder;
mod tokenized;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod tokenizer;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod tokenizer_room;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod usual_prompt;

pub use crate::token::added_list::ADDED_TOKENS;
pub use crate::token::sentencepiece::ModelSettings;
pub use added_words::{AddedWord, parse_added_words, write_added_words};
#[cfg(feature = "pipeline")]
pub use asked_weights::TensorFault;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use causal::CausalModel;
pub use decoder::{CausalPooling, CausalSession, Decoder};
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
pub use encoder::Classes;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use encoder::Encoder;
#[cfg(feature = "folder-models")]
pub use encoder_file::{EncoderFile, EncoderRoom, TextRoom};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use file_weights::FileWeights;
#[cfg(all(feature = "pipeline", feature = "gguf"))]
pub use gguf_encoder::{GgufEncoder, GgufFault};
#[cfg(feature = "std")]
pub use io_sink::IoSink;
#[cfg(feature = "pipeline")]
pub use model_fault::ModelFault;
pub use model_proto::ModelProto;
#[cfg(feature = "pipeline")]
pub use pipeline::{Pipeline, PipelineParts, PipelineSession};
#[cfg(any(
    feature = "folder-models",
    all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf"))
))]
pub use ready_prompt::Prompt;
pub use sentencepiece::{SentencePieceModel, TextSession};
#[cfg(any(feature = "amb", feature = "embd", feature = "pipeline", feature = "gguf"))]
pub use session::Session;
#[cfg(all(feature = "static-models", feature = "embd"))]
pub use table_file::TableFile;
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd")))]
pub use text_file::{TOKENIZER, TOKENIZER_MERGES, TOKENIZER_SCORES, TextFile};
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
pub use text_source::TextSource;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use token_encoder::TokenEncoder;
pub use tokenized::{Tokenized, TokenizedPair};
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
pub use tokenizer::Cuts;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use tokenizer::{BytePairs, Continuation, Spelling, Tokenizer, WordPieces};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use usual_prompt::usual_prompt;
