//! The names of layers that UQFF 0.x numbers, wherever they come from.

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::tensor::Shape;

use super::{Embedder, Llama, NamesFile};
use crate::error::{Error, Result, name_of};

/// The source of the names.
pub enum LayerNumbering {
    Named(NamesFile),
    Decoder(Llama),
    Embedder(Embedder),
}

impl LayerNumbering {
    /// By the `config.json` of a model of which `count` layers are there. Some families are decoders
    /// and embedding models, which have no output layer.
    pub fn from_config(config: &Path, count: usize) -> Result<Self> {
        let embedder = match Embedder::from_config(config) {
            Ok(Some(embedder)) if embedder.numbered() == count as u64 => {
                return Ok(Self::Embedder(embedder));
            }
            other => other,
        };
        match (Llama::from_config(config), embedder) {
            (Err(failure), _) | (_, Err(failure)) if failure.is_no_memory() => Err(failure),
            (Ok(decoder), Ok(None)) => Ok(Self::Decoder(decoder)),
            (Ok(decoder), _) if decoder.numbered() == count as u64 => Ok(Self::Decoder(decoder)),
            (_, Ok(Some(embedder))) => {
                Err(wrong_count(count, embedder.numbered()).at(name_of(config)))
            }
            (_, Err(failure)) => Err(failure),
            (Err(failure), Ok(None)) => Err(failure),
        }
    }

    /// Refuses a number of layers that is not the model's.
    pub fn check_count(&self, count: usize) -> Result<()> {
        let expected = match self {
            Self::Named(_) => return Ok(()),
            Self::Decoder(llama) => llama.numbered(),
            Self::Embedder(embedder) => embedder.numbered(),
        };
        if expected == count as u64 { Ok(()) } else { Err(wrong_count(count, expected)) }
    }

    /// The name of a layer.
    pub fn name(&self, number: u32) -> Option<String> {
        match self {
            Self::Named(names) => names.name(number).map(str::to_owned),
            Self::Decoder(llama) => llama.name(number),
            Self::Embedder(embedder) => embedder.name(number),
        }
    }

    /// Refuses a layer whose shape is not the one that the model has at its number.
    pub fn check_shape(&self, number: u32, shape: &Shape) -> Result<()> {
        match self {
            Self::Named(_) => Ok(()),
            Self::Decoder(llama) => llama.check_shape(number, shape),
            Self::Embedder(embedder) => embedder.check_shape(number, shape),
        }
    }
}

fn wrong_count(count: usize, expected: u64) -> Error {
    let message = format!("there are {count} layers, but such a model has {expected}");
    Error::input(ErrorKind::BadMetadata, message).with_hint("name the layers with `--names FILE`")
}
