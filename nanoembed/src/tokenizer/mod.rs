//! Texts to token ids, whatever the model.

pub(crate) mod scratch;
mod text;
pub(crate) mod word_pieces;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{Embedder, TokenSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::token::vocabulary::{MAX_TOKEN_BYTES, Vocabulary as _};

use crate::bytes::Bytes;
use crate::causal::tokenizer::{Tokenizer as CausalTokenizer, is_model};
use crate::encoder::text::limit;
use crate::error::{Error, Result};
use crate::files::literal;
use crate::open::opened::Opened;
use crate::open::prompts::{Prefix, Prompts};
use crate::open::source::Source;
use crate::pool::Pool;
use text::TextTokens;

/// The token ids of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// With the special tokens around the text.
    pub ids: Vec<u32>,
    /// Whether the text has more tokens than there was room for.
    pub truncated: bool,
}

/// The tokenizer of a model. Clones share it.
///
/// ```
/// let tokenizer = nanoembed::Tokenizer::open("../ffi/tests/data/small_bert.weights")?;
/// let tokens = tokenizer.encode("How do I reset my password?", None)?;
/// assert_eq!(tokenizer.token(tokens.ids[0]).as_deref(), Some("[CLS]"));
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct Tokenizer(Arc<Inner>);

struct Inner {
    // Declared before `source`, which it borrows from.
    kind: Kind,
    source: Arc<Source>,
    prompts: Result<Prompts>,
}

enum Kind {
    WordPieces(Box<Embedder<Bytes>>),
    /// Byte pairs or SentencePiece, and memory for texts that nobody is using.
    Causal(Box<CausalTokenizer<'static>>, Pool<TokenSession>),
    /// That of a model of texts.
    Text(Box<TextTokens>),
}

impl Tokenizer {
    /// That of a model as [`Encoder`](crate::Encoder) and [`Generator`](crate::Generator) open it,
    /// or a SentencePiece model alone, called `….model`.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it, or that it could not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = &*literal(path.as_ref());
        Self::of(Source::open(path)?, is_model(path))
    }

    #[doc(hidden)]
    pub fn of(source: Source, is_sentencepiece: bool) -> Result<Self> {
        let opened = Opened::of(source)?;
        let source = Arc::clone(opened.source());
        let causal = |tokenizer| Kind::Causal(Box::new(tokenizer), Pool::default());
        let kind = if opened.is_causal() {
            causal(opened.causal_tokenizer()?)
        } else if let Some(text) = opened.text() {
            Kind::Text(Box::new(TextTokens::of(text.tokenizer()?)))
        } else if let Some(bytes) = opened.unknown_bytes().filter(|_| is_sentencepiece) {
            let model = CausalTokenizer::from_model(bytes.to_vec());
            causal(model.map_err(|error| source.failure(error))?)
        } else {
            let model = opened.embedder()?;
            model.tokenizer().map_err(|error| source.failure(error))?;
            Kind::WordPieces(Box::new(model))
        };
        let prompts = opened.prompts();
        Ok(Self(Arc::new(Inner { kind, source, prompts })))
    }

    /// The first `limit` tokens of `text`, special tokens included; all with `None`.
    ///
    /// # Errors
    ///
    /// If memory is refused, or the model's file has been changed under it.
    pub fn encode(&self, text: &str, limit: Option<usize>) -> Result<Tokens> {
        self.encode_in_core(text, limit).map_err(|error| self.0.source.failure(error))
    }

    fn encode_in_core(&self, text: &str, limit: Option<usize>) -> Result<Tokens, CoreError> {
        match &self.0.kind {
            Kind::WordPieces(model) => word_pieces::encode(&model.tokenizer()?, text, limit),
            Kind::Causal(tokenizer, sessions) => {
                let new = || Ok(TokenSession::default());
                let mut ids = sessions.borrow(new, |session| {
                    tokenizer.encode(text, SpecialTokens::AsTokens, session)
                })?;
                let truncated = tokenizer.truncate(&mut ids, limit.unwrap_or(usize::MAX));
                Ok(Tokens { ids, truncated })
            }
            Kind::Text(tokens) => tokens.encode(text, limit.unwrap_or(usize::MAX)),
        }
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.0.kind {
            Kind::WordPieces(model) => {
                let mut buffer = [0; MAX_TOKEN_BYTES];
                let bytes = model.tokenizer().ok()?.vocabulary().token(id, &mut buffer).ok()?;
                let token = buffer.get(..bytes).unwrap_or_default();
                Some(String::from_utf8_lossy(token).into_owned())
            }
            Kind::Causal(tokenizer, _) => tokenizer.token(id).map(Cow::into_owned),
            Kind::Text(text) => {
                let token = text.tokenizer().token(id)?;
                Some(String::from_utf8_lossy(token).into_owned())
            }
        }
    }

    /// How many tokens of a text the model uses if `asked` are wanted; `None` for a model that
    /// continues texts, which has no usual number.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) for more than an encoder has positions.
    pub fn limit(&self, asked: Option<usize>) -> Result<Option<usize>> {
        match &self.0.kind {
            Kind::WordPieces(model) => {
                let config = model.config();
                limit(asked, config.max_tokens, config.positions).map(Some)
            }
            Kind::Causal(..) => Ok(asked),
            Kind::Text(text) => text.limit(asked),
        }
    }

    /// The most tokens of a text that an encoder can use.
    #[must_use]
    pub fn positions(&self) -> Option<usize> {
        match &self.0.kind {
            Kind::WordPieces(model) => Some(model.config().positions),
            Kind::Causal(..) => None,
            Kind::Text(text) => text.positions(),
        }
    }

    /// What the model wants before texts.
    ///
    /// # Errors
    ///
    /// If the model does not have such a prompt.
    pub fn prompt(&self, prompt: &Prefix) -> Result<String> {
        match &self.0.prompts {
            Ok(prompts) => prompts.choose(prompt),
            Err(error) => Err(Error::new(error.kind(), error.to_string())),
        }
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("model", &self.0.source.name()).finish_non_exhaustive()
    }
}
