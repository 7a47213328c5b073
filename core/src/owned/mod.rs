//! For hosts with a heap: a model file in, texts in, vectors out.
//!
//! | I want | type |
//! |---|---|
//! | the embedding of a text | [`Embedder`] |
//! | the embedding of token ids by an encoder of any family, or their classes | `TextEncoder` over weights from anywhere |
//! | the same of texts, as a Hugging Face folder describes the model | `TextModel` over weights from anywhere |
//! | the same of texts, whatever the model and its files are | `AnyEncoder` |
//! | a text continued | [`CausalModel`]; [`Decoder`] over weights from anywhere |
//! | the same by a transformer in a `.weights` or `.amb` file, or by a table in a `.weights` file, in little code | `EncoderFile`, `TableFile` |
//! | token ids alone | [`Embedder::tokenizer`], [`BpeTokenizer`], [`SentencePieceModel`]; [`Pipeline`] of a `tokenizer.json` |
//! | the same, whatever the model is | `AnyTokenizer` |
//!
//! Models are immutable and shared between threads; what changes while one runs is in a
//! [`Session`] or a [`CausalSession`], one for each thread or text. Everything here is made of the
//! borrowing types of [`token`](crate::token) and [`model`](crate::model).
//!
//! ```
//! use nanoembed_core::owned::Embedder;
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! let embedder = Embedder::open(std::fs::read(path)?)?;
//! let vector = embedder.embed_text("How do I reset my password?")?;
//! assert_eq!(vector.len(), embedder.config().hidden);
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
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
mod any_encoder;
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
mod any_tokenizer;
#[cfg(feature = "pipeline")]
pub mod base64;
mod borrowed;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod bpe;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod causal;
mod decoder;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod embedder;
#[cfg(any(
    feature = "folder-models",
    all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf"))
))]
mod empty_texts;
#[cfg(feature = "folder-models")]
mod encoder_file;
#[cfg(feature = "pipeline")]
mod file_weights;
#[cfg(feature = "pipeline")]
pub mod folder;
#[cfg(all(feature = "pipeline", feature = "gguf"))]
mod gguf_encoder;
#[cfg(feature = "std")]
mod io_sink;
mod model_proto;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod open;
#[cfg(feature = "pipeline")]
mod pipeline;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod prompt;
#[cfg(any(
    feature = "folder-models",
    all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf"))
))]
mod ready_prompt;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod requantize;
mod sentencepiece;
#[cfg(any(feature = "amb", feature = "embd", feature = "pipeline", feature = "gguf"))]
mod session;
#[cfg(all(feature = "static-models", feature = "embd"))]
mod table_file;
#[cfg(feature = "pipeline")]
mod text_encoder;
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd")))]
mod text_file;
#[cfg(feature = "pipeline")]
mod text_model;
mod tokenized;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod tokenizer;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod tokenizer_room;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
mod vocabulary;

pub use crate::token::added_list::ADDED_TOKENS;
pub use crate::token::sentencepiece::ModelSettings;
pub use added_words::{AddedWord, parse_added_words, write_added_words};
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
pub use any_encoder::{AnyEncoder, Classes, ModelFault, TextSource};
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf")))]
pub use any_tokenizer::{AnyTokenSession, AnyTokenizer};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use bpe::BpeTokenizer;
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use causal::CausalModel;
pub use decoder::{CausalPooling, CausalSession, Decoder};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use embedder::Embedder;
#[cfg(feature = "folder-models")]
pub use encoder_file::{EncoderFile, EncoderRoom, TextRoom};
#[cfg(feature = "pipeline")]
pub use file_weights::FileWeights;
#[cfg(all(feature = "pipeline", feature = "gguf"))]
pub use gguf_encoder::{GgufEncoder, GgufFault};
#[cfg(feature = "std")]
pub use io_sink::IoSink;
pub use model_proto::ModelProto;
#[cfg(feature = "pipeline")]
pub use pipeline::{Pipeline, PipelineParts, PipelineSession};
#[cfg(any(
    feature = "folder-models",
    all(feature = "pipeline", any(feature = "amb", feature = "embd", feature = "gguf"))
))]
pub use ready_prompt::Prompt;
pub use sentencepiece::{SentencePieceModel, TokenSession};
#[cfg(any(feature = "amb", feature = "embd", feature = "pipeline", feature = "gguf"))]
pub use session::Session;
#[cfg(all(feature = "static-models", feature = "embd"))]
pub use table_file::TableFile;
#[cfg(feature = "pipeline")]
pub use text_encoder::{DenseLayer, HeadPart, NormLayer, Recipe, TextEncoder};
#[cfg(all(feature = "pipeline", any(feature = "amb", feature = "embd")))]
pub use text_file::{TOKENIZER, TOKENIZER_MERGES, TOKENIZER_SCORES, TextFile};
#[cfg(feature = "pipeline")]
pub use text_model::{StaticModel, TensorFault, TextModel, TextTokenizer, TransformerModel};
pub use tokenized::{Tokenized, TokenizedPair};
#[cfg(any(feature = "amb", feature = "embd", feature = "gguf"))]
pub use tokenizer::{BytePairs, Continuation, Spelling, Tokenizer, WordPieces};
