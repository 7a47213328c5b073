//! The handle of an opened model, and what it is.

use core::mem::size_of;

#[cfg(feature = "std")]
use std::boxed::Box;

use crate::encoder_model::EncoderModel;
#[cfg(feature = "std")]
use crate::hosted::HostedModel;
use crate::leaf::{self, Part};
use crate::memory::number;
use crate::model_tokenizer::Tokenizer;
use crate::pointer;
use crate::scratch::Sizes;
use crate::source::Bytes;
use crate::status::{Outcome, answer, nanoembed_status};
use crate::table_model::TableModel;
use crate::versioned;

/// The sizes and the tokenizer of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_model_info {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Elements of an embedding.
    pub dimensions: u32,
    /// Transformer layers.
    pub layers: u32,
    /// Attention heads.
    pub heads: u32,
    /// Elements of the feed-forward layer.
    pub intermediate: u32,
    /// Positions that the model knows.
    pub positions: u32,
    /// Tokens of a text that it was made to use.
    pub max_tokens: u32,
    /// Tokens in the vocabulary.
    pub vocabulary: u32,
    /// 1 if texts can be tokenised, else 0.
    pub has_tokenizer: u32,
    /// Tokens that a workspace has room for.
    pub workspace_tokens: u32,
    /// 1 if activations are quantised, else 0.
    pub quantized: u32,
}

crate::versioned!(nanoembed_model_info);

/// A sentence embedder. Immutable: several threads may use it at once, each with a workspace of its
/// own.
#[derive(Debug)]
pub struct nanoembed_model {
    pub(crate) source: Bytes,
    pub(crate) kind: Kind,
    pub(crate) tokenizer: Tokenizer,
    /// Bytes that the heap gave for this model; 0 if the caller lent them.
    pub(crate) owned_bytes: usize,
}

/// The kinds of models.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // in the caller's memory
pub(crate) enum Kind {
    Encoder(Part<leaf::Encoders, EncoderModel>),
    Table(Part<leaf::Tables, TableModel>),
    /// Any other, in memory from the heap.
    #[cfg(feature = "std")]
    Hosted(Box<HostedModel>),
}

impl Kind {
    /// Elements of an embedding.
    pub(crate) fn dimensions(&self) -> usize {
        match self {
            Self::Encoder(encoder) => encoder.network.dimensions(),
            Self::Table(table) => table.dimensions(),
            #[cfg(feature = "std")]
            Self::Hosted(hosted) => hosted.dimensions(),
        }
    }

    /// The memory of a workspace.
    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        match self {
            Self::Encoder(encoder) => encoder.sizes(),
            Self::Table(table) => table.sizes(),
            #[cfg(feature = "std")]
            Self::Hosted(_) => Ok(Sizes::NONE),
        }
    }

    fn info(&self) -> nanoembed_model_info {
        match self {
            Self::Encoder(encoder) => {
                let EncoderModel { network, plan, max_tokens, .. } = &**encoder;
                let config = network.config();
                nanoembed_model_info {
                    dimensions: number(network.dimensions()),
                    max_tokens: number(*max_tokens),
                    layers: number(config.layers),
                    heads: number(config.heads.query),
                    intermediate: number(config.intermediate),
                    positions: number(config.positions),
                    vocabulary: number(config.vocabulary),
                    workspace_tokens: number(plan.tokens),
                    quantized: plan.quantized.into(),
                    ..nanoembed_model_info::default()
                }
            }
            Self::Table(table) => nanoembed_model_info {
                dimensions: number(table.dimensions()),
                max_tokens: number(table.max_tokens().unwrap_or(usize::MAX)),
                vocabulary: number(table.tokens()),
                workspace_tokens: number(table.limit()),
                ..nanoembed_model_info::default()
            },
            #[cfg(feature = "std")]
            Self::Hosted(hosted) => nanoembed_model_info {
                dimensions: number(hosted.dimensions()),
                positions: number(hosted.positions()),
                max_tokens: number(hosted.max_tokens()),
                has_tokenizer: hosted.tokenizes().into(),
                workspace_tokens: number(hosted.limit()),
                quantized: hosted.quantized().into(),
                ..nanoembed_model_info::default()
            },
        }
    }
}

/// Writes the model's sizes to `info`.
///
/// # Safety
///
/// `model` is NULL or a model, `info` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_get_info(
    model: *const nanoembed_model,
    info: *mut nanoembed_model_info,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, out) = unsafe { (pointer::get(model)?, versioned::room(info)?) };
        let info = model.kind.info();
        let has_tokenizer = u32::from(!matches!(model.tokenizer, Tokenizer::None));
        out.write(nanoembed_model_info {
            has_tokenizer: info.has_tokenizer | has_tokenizer,
            ..info
        });
        Ok(())
    };
    answer(make())
}
