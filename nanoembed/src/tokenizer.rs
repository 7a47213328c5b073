//! Texts to token ids, whatever the model.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::{self, TextSession};
use nanoembed_core::token::SpecialTokens;

use crate::causal::tokenizer::is_model;
use crate::error::{Error, Result};
use crate::files::literal;
use crate::folder::prompts::{Prefix, Prompts};
use crate::limits::{Limits, max_tokens};
use crate::open::loaded_model::LoadedModel;
use crate::open::reading::{Reading, reading_options};
use crate::open::source::Source;
use crate::pool::Pool;
use crate::role::Role;

/// The token ids of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// With the special tokens around the text.
    pub ids: Vec<u32>,
    /// True if the text has more tokens than the limit.
    pub truncated: bool,
}

impl AsRef<[u32]> for Tokens {
    fn as_ref(&self) -> &[u32] {
        &self.ids
    }
}

/// The tokenizer of a model. Clones share it.
///
/// ```
/// let tokenizer = nanoembed::Tokenizer::open("../ffi/tests/data/small_bert.weights")?;
/// let tokens = tokenizer.encode("How do I reset my password?", None)?;
/// assert_eq!(tokenizer.token(tokens.ids[0]).as_deref(), Some("[CLS]"));
/// assert_eq!(tokenizer.decode(&tokens.ids)?, "how do i reset my password?");
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct Tokenizer(Arc<Inner>);

struct Inner {
    tokenizer: owned::Tokenizer<'static>,
    source: Arc<Source>,
    prompts: Result<Prompts>,
    /// Unused memory for texts.
    sessions: Pool<TextSession>,
}

impl Tokenizer {
    /// Opens the tokenizer of a model as [`Encoder`](crate::Encoder) and
    /// [`Generator`](crate::Generator) open it, or a SentencePiece model alone, called `….model`.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid, or if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Options to open a tokenizer with.
    #[must_use]
    pub fn options() -> TokenizerOptions {
        TokenizerOptions::default()
    }

    fn from_opened(opened: &LoadedModel<'_>, is_sentencepiece: bool) -> Result<Self> {
        let source = Arc::clone(opened.source());
        let tokenizer = if opened.is_causal() {
            opened.causal_tokenizer()?
        } else if let Some(text) = opened.described() {
            text.tokenizer()?.into_all_kinds()
        } else if let Some(bytes) = opened.unknown_bytes().filter(|_| is_sentencepiece) {
            let model = owned::Tokenizer::from_model(bytes.to_vec());
            model.map_err(|error| source.failure(error))?
        } else {
            opened.encoder()?.into_tokenizer().into_all_kinds()
        };
        let (prompts, sessions) = (opened.prompts(), Pool::default());
        Ok(Self(Arc::new(Inner { tokenizer, source, prompts, sessions })))
    }

    /// A warning for each unknown setting that was passed over: see
    /// [`TokenizerOptions::allow_unknown`].
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.0.source.warnings()
    }

    /// The first `limit` tokens of `text`, special tokens included; all with `None`.
    ///
    /// # Errors
    ///
    /// If memory is refused, or the model's file has been changed under it.
    pub fn encode(&self, text: &str, limit: Option<usize>) -> Result<Tokens> {
        let Inner { tokenizer, source, sessions, .. } = &*self.0;
        let encoded = sessions.lend(|session| match limit {
            Some(limit) => tokenizer.encode_start(text, limit, session),
            None => Ok((tokenizer.encode(text, SpecialTokens::AsTokens, session)?, false)),
        });
        let (ids, truncated) = encoded.map_err(|error| source.failure(error))?;
        Ok(Tokens { ids, truncated })
    }

    /// The text of token ids, without special tokens (in byte-level BPE and SentencePiece: without
    /// those that begin and end texts). Where normalisation has changed a text, such as to lower
    /// case, that is what comes back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`] for an id that is no token's;
    /// [`ErrorKind::UnsupportedTokenizer`] if the model has rules for decoded text.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        let Inner { tokenizer, source, .. } = &*self.0;
        tokenizer.decode(ids).map_err(|error| {
            match ids.iter().find(|id| !tokenizer.has_token(**id)) {
                Some(id) => {
                    Error::input(error.kind(), format!("there is no token {id}")).at(source.name())
                }
                None => source.failure(error),
            }
        })
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.0.tokenizer.token(id).map(Into::into)
    }

    /// The number of tokens of a text that the model uses if `asked` are wanted; `None` for a model
    /// that continues texts, which has no usual number.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) for more than an encoder has positions.
    pub fn limit(&self, asked: Option<usize>) -> Result<Option<usize>> {
        let usual = self.0.tokenizer.max_tokens();
        match self.positions() {
            Some(positions) => max_tokens(asked, usual.unwrap_or(positions), positions).map(Some),
            None => Ok(asked.or(usual)),
        }
    }

    /// The most tokens of a text that an encoder can use.
    #[must_use]
    pub fn positions(&self) -> Option<usize> {
        self.0.tokenizer.positions()
    }

    /// The text of a prompt of the model.
    ///
    /// # Errors
    ///
    /// If the model does not have such a prompt, or texts of that role take another route through
    /// its Router.
    pub fn prompt(&self, prompt: &Prefix) -> Result<String> {
        let Inner { prompts, source, .. } = &*self.0;
        let prompts =
            prompts.as_ref().map_err(|error| Error::new(error.kind(), error.to_string()))?;
        let role = Role::from_prompt(prompt);
        match source.route() {
            Some(_) if role != Role::Text => {
                if role != source.role() && source.takes_another_route(role)? {
                    return Err(other_route(role).at(source.name()));
                }
                prompts.choose_for(prompt, &Prefix::Usual)
            }
            _ => prompts.choose(prompt),
        }
    }
}

/// The error for texts of a role that have a tokenizer of their own.
fn other_route(role: Role) -> Error {
    let texts = if role == Role::Query { "queries" } else { "documents" };
    let message =
        format!("{texts} take another route through the model, with a tokenizer of its own");
    Error::input(ErrorKind::UnsupportedSetting, message)
        .with_hint("open the tokenizer for such texts: `Tokenizer::options().role(…)`")
}

/// Options of a tokenizer.
///
/// ```
/// use nanoembed::{Limits, Tokenizer};
///
/// let limits = Limits { file_bytes: 1 << 30, ..Limits::default() };
/// Tokenizer::options().limits(limits).open("../ffi/tests/data/small_bert.weights")?;
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TokenizerOptions {
    limits: Limits,
    reading: Reading,
}

impl TokenizerOptions {
    /// The most bytes of the model's files, instead of the defaults of [`Limits`]. Nothing is
    /// computed, so `session_bytes` does not count.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The role of the texts. A model with a Router may have another tokenizer for each role.
    #[must_use]
    pub const fn role(mut self, role: Role) -> Self {
        self.reading.role = role;
        self
    }

    reading_options!("Tokenizer::warnings");

    /// Opens a tokenizer: see [`Tokenizer::open`].
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Tokenizer> {
        let path = &*literal(path.as_ref());
        self.open_source(Source::open_with(path, &self.reading)?, is_model(path))
    }

    #[doc(hidden)]
    pub fn open_source(&self, source: Source, is_sentencepiece: bool) -> Result<Tokenizer> {
        let source = Arc::new(source);
        Tokenizer::from_opened(&LoadedModel::within(&source, &self.limits)?, is_sentencepiece)
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("model", &self.0.source.name()).finish_non_exhaustive()
    }
}
