//! The tokenizer of an encoder, with what its model says of texts and of how many tokens are used.

use alloc::string::String;
use alloc::vec::Vec;

use super::folder::{Described, FolderModel};
use super::tokenized::{Tokenized, TokenizedPair};
use super::tokenizer::WordPieces;
use super::{Pipeline, PipelineSession};
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::leaf;
use crate::limit::Boxed;
use crate::limit::{collected, reserved};
use crate::model::cut;
use crate::token::SpecialTokens;

/// The tokenizer of an encoder.
#[derive(Clone, Debug)]
pub struct TextTokenizer {
    engine: Engine,
    max_tokens: Option<usize>,
    positions: Option<usize>,
}

#[derive(Clone, Debug)]
enum Engine {
    /// BERT's, without a `tokenizer.json`.
    WordPieces(Boxed<WordPieces>),
    /// Any that a `tokenizer.json` can describe.
    Pipeline { pipeline: Boxed<Pipeline>, cuts: Cuts, _built_in: leaf::Pipeline },
}

/// How long texts are cut.
#[derive(Clone, Copy, Debug)]
enum Cuts {
    /// The tokenizer keeps the first tokens and those around a text.
    Tokens,
    /// As static models do.
    Table {
        /// The median number of characters of the vocabulary's tokens, if texts are cut before they
        /// are tokenised and unknown tokens are left out.
        median_characters: Option<usize>,
    },
}

/// Scratch memory of one thread for a [`TextTokenizer`], which grows with the longest text.
#[derive(Debug, Default)]
pub struct TextSession {
    pipeline: PipelineSession,
}

impl TextTokenizer {
    /// The tokenizer of a BERT encoder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn from_bert(config: &BertConfig, pieces: WordPieces) -> Result<Self> {
        let engine = Engine::WordPieces(Boxed::new(pieces)?);
        let (max_tokens, positions) = (Some(config.max_tokens), Some(config.positions));
        Ok(Self { engine, max_tokens, positions })
    }

    /// The tokenizer of a model that the texts of a folder describe.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`]; as [`Pipeline::with_lower_case`], if the model asks for that.
    pub fn new(model: &FolderModel, pipeline: Pipeline) -> Result<Self> {
        let (pipeline, cuts, max_tokens, positions) = match &model.described {
            Described::Transformer(family) => {
                let pipeline = match model.settings.lower_case {
                    true => pipeline.with_lower_case()?,
                    false => pipeline,
                };
                let positions = family.config.positions;
                let limit = model.settings.token_limit(model.tokenizer_limit, positions);
                (pipeline, Cuts::Tokens, Some(limit), Some(positions))
            }
            Described::Table(settings) => {
                let settings = settings.with_truncation(pipeline.truncation());
                let median_characters = match settings.drops_unknown {
                    true => Some(median_characters(&pipeline)?),
                    false => None,
                };
                let limit = settings.max_tokens.and_then(|limit| usize::try_from(limit).ok());
                (pipeline, Cuts::Table { median_characters }, limit, None)
            }
        };
        let _built_in = leaf::Pipeline::built_in()?;
        let engine = Engine::Pipeline { pipeline: Boxed::new(pipeline)?, cuts, _built_in };
        Ok(Self { engine, max_tokens, positions })
    }

    /// The tokenizer that a `tokenizer.json` can describe; `None` for BERT's without such a file.
    #[cfg(feature = "pipeline")]
    #[must_use]
    pub fn into_pipeline(self) -> Option<Pipeline> {
        match self.engine {
            Engine::WordPieces(_) => None,
            Engine::Pipeline { pipeline, .. } => Some(pipeline.into_inner()),
        }
    }

    /// The number of tokens that the vocabulary has.
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.engine {
            Engine::WordPieces(pieces) => pieces.count(),
            Engine::Pipeline { pipeline, .. } => pipeline.count(),
        }
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        let lossy = |token: &[u8]| String::from_utf8_lossy(token).into_owned();
        match &self.engine {
            Engine::WordPieces(pieces) => pieces.token(id).map(|token| lossy(&token)),
            Engine::Pipeline { pipeline, .. } => pipeline.token(id).map(lossy),
        }
    }

    /// The number of tokens of a text that are used; `None` for all.
    #[must_use]
    pub const fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    /// The most tokens of a text that the model can use; `None` if there is no such number.
    #[must_use]
    pub const fn positions(&self) -> Option<usize> {
        self.positions
    }

    /// The first `limit` tokens of `text`, those around it included, without unknown ones where the
    /// model leaves them out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the limit leaves no room for the tokens around a text;
    /// [`ErrorKind::OverLimit`] if normalisation makes far more of the text than it was;
    /// [`ErrorKind::NoMemory`].
    pub fn encode(&self, text: &str, limit: usize, session: &mut TextSession) -> Result<Tokenized> {
        match &self.engine {
            Engine::WordPieces(pieces) => pieces.encode_first(text, limit),
            Engine::Pipeline { pipeline, cuts: Cuts::Tokens, .. } => {
                pipeline.encode(text, limit, SpecialTokens::AsTokens, &mut session.pipeline)
            }
            Engine::Pipeline { pipeline, cuts: Cuts::Table { median_characters }, .. } => {
                encode_for_table(pipeline, (text, limit), *median_characters, session)
            }
        }
    }

    /// The first `limit` tokens of `text` and whether it has more, which is cheaper for a long text
    /// than to [count](Self::encode) all.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_start(
        &self,
        text: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<(Vec<u32>, bool)> {
        match &self.engine {
            Engine::WordPieces(pieces) => pieces.encode_start(text, limit),
            Engine::Pipeline { .. } => {
                let found = self.encode(text, limit, session)?;
                Ok((found.ids, found.truncated))
            }
        }
    }

    /// Two texts, of which the longer one is cut first.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`ErrorKind::OtherModel`] for BERT in the layout that readers of
    /// BERT alone know, which compares nothing.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<TokenizedPair> {
        match &self.engine {
            Engine::Pipeline { pipeline, .. } => {
                pipeline.encode_pair(first, second, limit, &mut session.pipeline)
            }
            Engine::WordPieces(_) => Err(Error::without_offset(ErrorKind::OtherModel)),
        }
    }

    /// The number of tokens of `prompt` and of what comes before it, without those that follow a
    /// text.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`ErrorKind::UnsupportedSetting`] for BERT in the layout that
    /// readers of BERT alone know, whose prompts count in pooling.
    pub fn tokens_of_prompt(&self, prompt: &str, session: &mut TextSession) -> Result<usize> {
        if matches!(self.engine, Engine::WordPieces(_)) {
            return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
        }
        let with = self.encode(prompt, usize::MAX, session)?.ids;
        let nothing = self.encode("", usize::MAX, session)?.ids;
        let has_end =
            nothing.len() > 1 || nothing.last().is_some_and(|end| with.last() == Some(end));
        Ok(with.len() - usize::from(has_end && nothing.last() == with.last()))
    }
}

/// The tokens of the first characters of a text that count for a table.
fn encode_for_table(
    pipeline: &Pipeline,
    (text, limit): (&str, usize),
    median_characters: Option<usize>,
    session: &mut TextSession,
) -> Result<Tokenized> {
    let (text, is_cut) = cut(text, limit, median_characters);
    // Few texts have more.
    let mut ids = reserved((text.len() / 4).min(limit))?;
    pipeline.encode_alone(text, SpecialTokens::AsTokens, &mut session.pipeline, &mut ids)?;
    let total = ids.len();
    ids.truncate(limit);
    if let Some(unknown) = pipeline.unknown().filter(|_| median_characters.is_some()) {
        ids.retain(|id| *id != unknown);
    }
    Ok(Tokenized { ids, total, truncated: is_cut || total > limit })
}

/// The median of the numbers of characters of a vocabulary's tokens, rounded down.
fn median_characters(tokenizer: &Pipeline) -> Result<usize> {
    let characters = |id| {
        tokenizer
            .token(id)
            .map(|token| token.utf8_chunks().map(|it| it.valid().chars().count()).sum())
    };
    let mut lengths: Vec<usize> = collected((0..tokenizer.count()).filter_map(characters))?;
    lengths.sort_unstable();
    let (half, is_odd) = (lengths.len() / 2, lengths.len() % 2 == 1);
    let at = |index: usize| lengths.get(index).copied().unwrap_or(0);
    Ok(if is_odd { at(half) } else { usize::midpoint(at(half.saturating_sub(1)), at(half)) })
}
