//! A fingerprint of the space of a model's vectors.

use super::Encoder;
use super::vector_kind::VectorKind;
use crate::digest::digest;
use crate::error::Result;
use crate::role::Role;

/// Texts whose tokens and vectors tell models apart: several scripts, cases and kinds of words.
const PROBES: [&str; 2] = [
    "The Quick brown fox: naïve café, 1,024 bytes — fn main() { x += 7; }",
    "Über die Straße; где находится ключ? 日本語の文章。 مرحبا 한국어 🙂",
];

impl Encoder {
    /// A fingerprint of the space of the model's vectors: vectors may be compared with each other if
    /// their models have the same.
    ///
    /// It is a digest of what the model makes of some texts as documents and as queries: token ids and
    /// the bits of vectors, so weights, tokenizer, prompts, precision and options count; and of the
    /// size of the model's file. Models that differ in nothing but vectors of tokens that are not in
    /// those texts have the same one if their files have as many bytes. The first call takes the time
    /// of embedding four sentences.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn fingerprint(&self) -> Result<u128> {
        if let Some(known) = self.0.fingerprint.get() {
            return Ok(*known);
        }
        let made = self.make_fingerprint()?;
        Ok(*self.0.fingerprint.get_or_init(|| made))
    }

    fn make_fingerprint(&self) -> Result<u128> {
        let mut bytes = Vec::new();
        let mut number = |number: usize| bytes.extend((number as u64).to_le_bytes());
        number(self.dimensions());
        number(self.max_tokens());
        bytes.extend(self.0.source.bytes().to_le_bytes());
        bytes.extend(format!("{:?} {:?}", self.vector_kind(), self.similarity()).bytes());
        for role in [Role::Document, Role::Query] {
            for probe in PROBES {
                let tokens = self.tokenize_as(role, probe)?;
                bytes.extend(tokens.ids.iter().flat_map(|id| id.to_le_bytes()));
            }
            if self.makes(VectorKind::Dense) {
                let (vectors, _) = self.embed_all_as(role, &PROBES)?;
                bytes.extend(vectors.as_slice().iter().flat_map(|x| x.to_bits().to_le_bytes()));
            }
        }
        Ok(digest(&bytes))
    }
}
