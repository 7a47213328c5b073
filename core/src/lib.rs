//! Opens files of embedding models, language models and word vectors, and runs them where they lie:
//! `no_std`, with all memory lent by the caller or, with the feature `alloc`, owned.
//!
//! # What do I want?
//!
//! | I want to … | start at |
//! |---|---|
//! | embed a text, with a heap | [`owned::Encoder`] of a file, or of a folder of the Hugging Face hub |
//! | rerank: score pairs of texts | [`owned::Encoder::classify`] |
//! | make sparse vectors, or a vector for each token | [`owned::Encoder::embed_sparse`], [`owned::Encoder::embed_multi`] |
//! | embed or score token ids, over weights of my own | [`owned::TokenEncoder`] |
//! | continue a text, with a heap | [`owned::CausalModel`] of a file, [`owned::Decoder`] over weights of my own |
//! | embed in a build where size matters | [`owned::EncoderFile`], [`owned::TableFile`] |
//! | embed or continue a text in memory of my own, or from flash and other storage | [`model`] |
//! | look up and search word vectors | [`words::Words`] |
//! | read tensors and metadata of a file in memory | [`format`](mod@format): a view for each format, such as [`format::gguf::Gguf`] |
//! | read a file as it arrives, or from storage | [`read::Push`], [`read::Seek`] over a [format](mod@format)'s `EmbdDecoder` |
//! | write a file | `Writer` and `Plan` of each [format](mod@format), into a [`sink::Sink`] |
//! | turn quantised weights into numbers and back | [`tensor::TensorView::dequantize`], [`quant`] |
//! | turn a text into token ids and back | [`token`] |
//! | know what is wrong with a file, and where | [`Error`], [`ErrorKind`] |
//!
//! Nothing here opens files, starts threads or keeps global state. Hosts that have files and
//! threads are better served by the crate `nanoembed`, which is built on this one.
//!
//! # Embed a text
//!
//! ```
//! # #[cfg(all(feature = "pipeline", feature = "embd"))] {
//! use nanoembed_core::owned::Encoder;
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! let encoder = Encoder::open(std::fs::read(path)?)?;
//! let vector = encoder.embed_text("How do I reset my password?")?;
//! assert_eq!(vector.len(), encoder.dimensions());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Read a tensor
//!
//! ```
//! # #[cfg(all(feature = "alloc", feature = "gguf"))] {
//! use nanoembed_core::event::Mode;
//! use nanoembed_core::format::gguf::Gguf;
//!
//! # let path = "../tests/data/gguf/blocks.gguf";
//! let file = std::fs::read(path)?;
//! let gguf = Gguf::parse(&file, Mode::Lenient)?;
//! for tensor in gguf.tensors() {
//!     println!("{}: {} {:?}", tensor.name(), tensor.dtype().name(), tensor.shape().dims());
//! }
//! let values = gguf.tensor("q4_k").ok_or("no such tensor")?.to_f32()?;
//! assert_eq!(values.len(), 4 * 512);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Embed a text in lent memory
//!
//! The same without a heap. The file is a slice here, in flash for example;
//! [`source::stored`] runs models from storage that cannot be borrowed.
//!
//! ```
//! # #[cfg(feature = "embd")] {
//! use nanoembed_core::describe::BertConfig;
//! use nanoembed_core::event::Mode;
//! use nanoembed_core::format::embd::{EmbdDecoder, Embd};
//! use nanoembed_core::kernel;
//! use nanoembed_core::model::{Batch, Encoder, Layer, Run, SliceWeights, Workspace};
//! use nanoembed_core::token::{Entries, HashVocabulary, LengthPrefix, SpecialIds, WordPiece};
//!
//! # let path = "../ffi/tests/data/small_bert.weights";
//! # let file = &std::fs::read(path)?[..];
//! // The model: up to 128 tensors and 8 layers.
//! let embd = Embd::parse_with(EmbdDecoder::<128>::new(Mode::Lenient), file)?;
//! let config = BertConfig::from_metadata(|key| embd.metadata_value(key))?;
//! let weights = SliceWeights::new(file, |name: &str| embd.tensor(name).map(|it| *it.header()));
//! let layers = [Layer::EMPTY; 8];
//! let encoder = Encoder::open(&weights, config.transformer, config.embedding(), layers)?;
//!
//! // The tokenizer: a hash table over the tokens in the file.
//! let entries = embd.token_entries().ok_or("no vocabulary")?;
//! let (mut samples, mut slots) = ([0; 64], [0; 1024]);
//! let prefix = LengthPrefix::U16;
//! let tokens = Entries::sample(entries.bytes, entries.offset, entries.count, prefix, &mut samples)?;
//! let vocabulary = HashVocabulary::build(tokens, &mut slots)?;
//! let special = SpecialIds::find(&vocabulary)?;
//! let tokenizer = WordPiece::new(vocabulary, special, config.normalization())?;
//! let mut ids = [0; 32];
//! let length = tokenizer.encode("How do I reset my password?", &mut ids)?.tokens;
//!
//! // The embedding, with scratch memory for 32 tokens.
//! let plan = encoder.plan(32);
//! let (mut floats, mut bytes) = ([0.0; 16_384], [0; 16_384]);
//! let mut workspace = Workspace::new(&config, &plan, &mut floats, &mut bytes)?;
//! let mut vector = [0.0; 64];
//! let vector = &mut vector[..config.hidden];
//! let kernels = kernel::detect();
//! let lengths = [length];
//! let text = Batch::new(&ids[..length], &lengths);
//! encoder.embed(&Run::new(&weights, &kernels), &text, &mut workspace, &mut [], vector)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! All are additive; all but the last four are on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `alloc` | types that own their memory ([`owned`]) |
//! | `amb`, `embd`, `gguf` | models in files of this format; every build can read and write all formats |
//! | `blocks-ggml`, `blocks-uqff`, `scaled-codes` | running and dequantising this family of quantised weights |
//! | `families` | transformers of all families ([`model::read_config`] has their names); without it BERT's alone |
//! | `pipeline` | tokenizers of every kind that a `tokenizer.json` describes ([`owned::Pipeline`]), and Hugging Face folders ([`owned::folder`]) |
//! | `std` | `owned::IoSink`, which writes files to `std::io::Write` |
//! | `small` | smaller and slower code for microcontrollers |
//! | `unstable` | insides of [`kernel`] and [`quant`] that may change in any version, for this project's benchmarks |
//! | `arm-dsp` | kernels for Cortex-M4, M7 and M33 |

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
// A build without a part leaves code that only that part calls, and what handles its files is never reached.
#![cfg_attr(
    not(all(feature = "amb", feature = "embd", feature = "gguf", feature = "pipeline")),
    allow(
        dead_code,
        unreachable_code,
        unused_imports,
        unused_macros,
        unused_mut,
        unused_variables
    )
)]
// Code that reads hostile bytes can neither panic nor wrap.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod bytes;
mod crc32;
pub mod describe;
pub mod digest;
pub mod error;
pub mod event;
pub mod format;
pub mod kernel;
#[doc(hidden)]
pub mod leaf;
pub mod limit;
pub mod model;
#[cfg(feature = "alloc")]
pub mod owned;
pub mod quant;
pub mod read;
pub mod sink;
pub mod source;
pub mod subword;
pub mod tensor;
pub mod text;
pub mod token;
pub mod top;
pub mod words;

pub use error::{Error, ErrorKind};

/// The examples of README.md.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
struct Readme;
