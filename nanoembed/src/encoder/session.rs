//! One text at a time, in memory that is reused.

use std::fmt;

use nanoembed_core::owned::{self, Prompt};

use super::Encoder;
use super::vector_kind::VectorKind;
use crate::error::Result;
use crate::role::Role;

/// Scratch memory for one text after the other: nothing is allocated for a text but its tokens.
///
/// ```
/// # let encoder = nanoembed::Encoder::open("../ffi/tests/data/small_bert.weights")?;
/// let mut session = encoder.session()?;
/// for text in ["first", "second"] {
///     assert_eq!(session.embed(text)?.len(), encoder.dimensions());
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
pub struct Session {
    encoder: Encoder,
    /// Models that continue texts take memory for each text.
    session: Option<owned::Session>,
    prompt: Prompt,
    vector: Vec<f32>,
}

impl Session {
    pub(super) fn new(encoder: &Encoder) -> Result<Self> {
        encoder.check_kind(VectorKind::Dense)?;
        let prompt = encoder.prompt(Role::Text)?;
        let session = encoder.0.backend.session().map_err(|error| encoder.failure(error))?;
        Ok(Self { encoder: encoder.clone(), session, prompt, vector: Vec::new() })
    }

    /// The embedding of a text.
    ///
    /// # Errors
    ///
    /// As [`Encoder::embed`].
    pub fn embed(&mut self, text: &str) -> Result<&[f32]> {
        let Self { encoder, session, prompt, vector } = self;
        vector.clear();
        vector.resize(encoder.0.backend.dimensions(), 0.0);
        let text = prompt.before(text).map_err(|error| encoder.failure(error))?;
        let embedded = encoder.0.backend.embed(session.as_mut(), &text, prompt.skipped, vector);
        embedded.map_err(|error| encoder.failure(error))?;
        encoder.cut(vector);
        Ok(vector)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("encoder", &self.encoder).finish_non_exhaustive()
    }
}
