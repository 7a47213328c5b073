//! A fingerprint of the space of a model's vectors.

use std::sync::Arc;

use nanoembed_core::owned::fingerprint::{FingerprintParts, PROBES, VectorSettings};

use super::{Encoder, EncoderOptions, Pooling};
use crate::error::Result;
use crate::role::Role;

pub use nanoembed_core::owned::Fingerprint;

/// The options that change a model's vectors, besides those that an encoder keeps itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computation {
    precise: bool,
    requantize: bool,
    pooling: Option<Pooling>,
}

impl Computation {
    pub(super) const fn new(options: &EncoderOptions) -> Self {
        let EncoderOptions { precise, requantize, pooling, .. } = *options;
        Self { precise, requantize, pooling }
    }
}

impl Encoder {
    /// A fingerprint of the space of the model's vectors: vectors may be compared with each other if
    /// their models have the same. It is the same on every machine.
    ///
    /// It covers the model's weights, settings and tokenizer, the prompts of each role, the limit of
    /// tokens, and the options for pooling, precision, dimensions and normalisation. Of files it covers
    /// all bytes that are no weights, and of each tensor its first, its last and some between, 16 KiB or
    /// all of it: models that were trained or quantised in different ways differ there, and no start has
    /// to read all weights. The same weights in a file of another format have another fingerprint.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); fails if the model's files cannot be read.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        if let Some(known) = self.0.fingerprint.get() {
            return Ok(*known);
        }
        let made = self.make_fingerprint()?;
        Ok(*self.0.fingerprint.get_or_init(|| made))
    }

    fn make_fingerprint(&self) -> Result<Fingerprint> {
        let failed = |error| self.failure(error);
        let Computation { precise, requantize, pooling } = self.0.computation;
        let settings = VectorSettings {
            dimensions: self.dimensions(),
            max_tokens: self.max_tokens(),
            normalize: self.0.normalize,
            multi_dimensions: self.multi_dimensions(),
            precise,
            requantize,
            kind: self.vector_kind().name(),
            pooling: pooling.map_or("", Pooling::name),
        };
        let mut parts = FingerprintParts::new(&settings).map_err(failed)?;
        let mut digested = None;
        for role in [Role::Text, Role::Document, Role::Query] {
            let source = &self.for_texts(role)?.0.source;
            if digested.as_ref().is_none_or(|known| !Arc::ptr_eq(known, source)) {
                parts.content(source.content_digest()?).map_err(failed)?;
                digested = Some(Arc::clone(source));
            }
            for probe in PROBES {
                let tokens = self.tokenize_as(role, probe)?;
                parts.tokens(&tokens.ids).map_err(failed)?;
            }
        }
        Ok(parts.finish())
    }
}
