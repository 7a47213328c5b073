//! A fingerprint of the space of a model's vectors.

use alloc::vec::Vec;
use core::fmt;

use super::content_digest::ContentDigest;
use super::folder::Prefix;
use super::{Encoder, TextSession};
use crate::digest::digest;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::append;
use crate::model::Weights;

/// Raised when a release computes other vectors of the same files.
const VERSION: u64 = 1;

/// Texts whose tokens tell tokenizers and prompts apart: several scripts, cases and kinds of words.
pub const PROBES: [&str; 2] = [
    "The Quick brown fox: naïve café, 1,024 bytes — fn main() { x += 7; }",
    "Über die Straße; где находится ключ? 日本語の文章。 مرحبا 한국어 🙂",
];

/// A fingerprint of the space of a model's vectors: vectors may be compared with each other if their
/// models have the same. It is shown as 32 hexadecimal digits.
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

/// Everything but files and tokens that decides about a model's vectors.
#[derive(Clone, Copy, Debug, Default)]
pub struct VectorSettings<'s> {
    /// Elements of an embedding; 0 if the model makes none.
    pub dimensions: usize,
    /// The number of tokens of a text that are used.
    pub max_tokens: usize,
    /// True if every vector is scaled to length 1 at the end.
    pub normalize: bool,
    /// Elements of a token's vector; 0 if the model does not make one for each.
    pub multi_dimensions: usize,
    /// True if activations are not quantised where they usually are.
    pub precise: bool,
    /// True if weights are quantised on load.
    pub requantize: bool,
    /// The kind of vectors that the model is made for: `dense`, `sparse` or `multi`.
    pub kind: &'s str,
    /// The pooling mode that replaces the model's own, or nothing.
    pub pooling: &'s str,
}

/// A fingerprint in the making: settings, then for each role of texts the digest of the model's files,
/// if it has other ones for the role, and the tokens of [`PROBES`].
#[derive(Clone, Debug)]
pub struct FingerprintParts(Vec<u8>);

impl FingerprintParts {
    /// With these settings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn new(settings: &VectorSettings<'_>) -> Result<Self> {
        let VectorSettings { dimensions, max_tokens, multi_dimensions, .. } = *settings;
        let VectorSettings { normalize, precise, requantize, kind, pooling, .. } = *settings;
        let mut parts = Self(Vec::new());
        let [normalize, precise, requantize] = [normalize, precise, requantize].map(u64::from);
        let [dimensions, max_tokens, multi_dimensions] =
            [dimensions, max_tokens, multi_dimensions].map(|number| number as u64);
        parts.numbers([VERSION, dimensions, max_tokens, normalize])?;
        parts.numbers([multi_dimensions, precise, requantize])?;
        for word in [kind, " ", pooling, " "] {
            append(&mut parts.0, word.as_bytes())?;
        }
        Ok(parts)
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) -> Result<()> {
        numbers.iter().try_for_each(|number| append(&mut self.0, &number.to_le_bytes()))
    }

    /// Adds the digest of the model's files: see [`ContentDigest`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn content(&mut self, digest: u128) -> Result<()> {
        append(&mut self.0, &digest.to_le_bytes())
    }

    /// Adds the token ids of a text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn tokens(&mut self, ids: &[u32]) -> Result<()> {
        self.numbers([ids.len() as u64])?;
        ids.iter().try_for_each(|id| append(&mut self.0, &id.to_le_bytes()))
    }

    /// The fingerprint.
    #[must_use]
    pub fn finish(&self) -> Fingerprint {
        Fingerprint(digest(&self.0))
    }
}

impl<W: Weights + Sync> Encoder<W> {
    /// The fingerprint of the model, which is in `file`, as it is used without options.
    ///
    /// # Errors
    ///
    /// As [`ContentDigest::of_file`], [`prompt`](Self::prompt) and [`encode`](Self::encode);
    /// [`ErrorKind::OtherModel`] if the model compares texts and embeds none.
    pub fn fingerprint(&self, file: &[u8]) -> Result<Fingerprint> {
        if self.compares() {
            return Err(Error::without_offset(ErrorKind::OtherModel));
        }
        let max_tokens = self.usual_tokens();
        let mut parts = FingerprintParts::new(&VectorSettings {
            dimensions: self.dimensions(),
            max_tokens,
            multi_dimensions: self.multi_dimensions(),
            kind: self.kind_of_vectors(),
            ..VectorSettings::default()
        })?;
        parts.content(ContentDigest::of_file(file)?)?;
        let mut session = TextSession::default();
        for role in [Prefix::Usual, Prefix::Document, Prefix::Query] {
            // Without a role it is a default prompt that the model may lack.
            let missing = |_| Error::without_offset(ErrorKind::BadMetadata);
            let prompt = self.prompts().choose_for(&role, &Prefix::Usual).map_err(missing)?;
            let prompt = self.prompt(prompt, &mut session)?;
            for probe in PROBES {
                let text = prompt.before(probe)?;
                parts.tokens(&self.encode(&text, max_tokens, &mut session)?.ids)?;
            }
        }
        Ok(parts.finish())
    }

    /// The name of the kind of vectors that the model is made for.
    fn kind_of_vectors(&self) -> &'static str {
        match (self.dimensions(), self.makes_sparse()) {
            (0, true) => "sparse",
            (0, false) => "multi",
            _ => "dense",
        }
    }
}
