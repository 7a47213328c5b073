//! A fingerprint of the space of a model's vectors.

use std::fmt;
use std::sync::Arc;

use super::{Encoder, EncoderOptions, Pooling};
use crate::digest::digest;
use crate::error::Result;
use crate::role::Role;

/// Raised when a release computes other vectors of the same files.
const VERSION: u64 = 1;

/// Texts whose tokens tell tokenizers and prompts apart: several scripts, cases and kinds of words.
const PROBES: [&str; 2] = [
    "The Quick brown fox: naïve café, 1,024 bytes — fn main() { x += 7; }",
    "Über die Straße; где находится ключ? 日本語の文章。 مرحبا 한국어 🙂",
];

/// A fingerprint of the space of a model's vectors: see [`Encoder::fingerprint`]. It is shown as 32
/// hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Its bytes.
    #[must_use]
    pub const fn to_le_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

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
        let mut bytes = VERSION.to_le_bytes().to_vec();
        let mut number = |number: usize| bytes.extend((number as u64).to_le_bytes());
        number(self.dimensions());
        number(self.max_tokens());
        number(usize::from(self.0.normalize));
        number(self.multi_dimensions());
        let Computation { precise, requantize, pooling } = self.0.computation;
        number(usize::from(precise));
        number(usize::from(requantize));
        let pooling = pooling.map_or("", Pooling::name);
        bytes.extend(format!("{} {pooling} ", self.vector_kind().name()).bytes());
        let mut digested = None;
        for role in [Role::Text, Role::Document, Role::Query] {
            let source = &self.for_texts(role)?.0.source;
            if digested.as_ref().is_none_or(|known| !Arc::ptr_eq(known, source)) {
                bytes.extend(source.content_digest()?.to_le_bytes());
                digested = Some(Arc::clone(source));
            }
            for probe in PROBES {
                let tokens = self.tokenize_as(role, probe)?;
                bytes.extend((tokens.ids.len() as u64).to_le_bytes());
                bytes.extend(tokens.ids.iter().flat_map(|id| id.to_le_bytes()));
            }
        }
        Ok(Fingerprint(digest(&bytes)))
    }
}
