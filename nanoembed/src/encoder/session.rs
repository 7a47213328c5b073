//! One text at a time, in memory of one's own.

use std::fmt;

use nanoembed_core::owned;

use super::{Backend, Encoder, Role, behind};
use crate::error::Result;

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
    prompt: String,
    vector: Vec<f32>,
}

impl Session {
    pub(super) fn of(encoder: &Encoder) -> Result<Self> {
        let prompt = encoder.prompt(Role::Text)?;
        let session = match &encoder.0.backend {
            Backend::Bert(bert) => {
                Some(bert.any_session().map_err(|error| encoder.failure(error))?)
            }
            Backend::Causal(_) => None,
        };
        Ok(Self { encoder: encoder.clone(), session, prompt, vector: Vec::new() })
    }

    /// The embedding of a text.
    ///
    /// # Errors
    ///
    /// As [`Encoder::embed`].
    pub fn embed(&mut self, text: &str) -> Result<&[f32]> {
        let Self { encoder, session, prompt, vector } = self;
        let text = &*behind(prompt, text);
        vector.clear();
        vector.resize(encoder.0.backend.dimensions(), 0.0);
        let embedded = match (&encoder.0.backend, session) {
            (Backend::Bert(bert), Some(session)) => bert.embed_in(session, text, vector),
            (Backend::Bert(bert), None) => bert.embed(text, vector),
            (Backend::Causal(causal), _) => causal.embed(text, vector).map(|_| ()),
        };
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
