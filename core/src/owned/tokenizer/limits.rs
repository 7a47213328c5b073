//! The number of tokens of a text that an encoder uses.

use alloc::vec::Vec;

use super::{Kinds, Spelling, TextKinds, Tokenizer, WordPieces};
use crate::describe::BertConfig;
use crate::error::Result;
use crate::leaf::{self, Part};
use crate::limit::{Boxed, collected, reserved};
use crate::model::cut;
use crate::owned::folder::{Described, FolderModel};
use crate::owned::{Pipeline, TextSession, Tokenized};
use crate::token::{SpecialTokens, TextEnds};

/// The numbers of tokens of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenLimits {
    max_tokens: Option<usize>,
    positions: Option<usize>,
}

impl TokenLimits {
    /// Those of models that continue texts.
    pub(super) const NONE: Self = Self { max_tokens: None, positions: None };
}

/// How an encoder with a `tokenizer.json` shortens texts.
#[derive(Clone, Copy, Debug)]
pub struct Cuts(CutsBy);

#[derive(Clone, Copy, Debug)]
enum CutsBy {
    /// The tokenizer keeps the first tokens and those around a text.
    Tokens,
    /// As static models do.
    Table {
        /// The median number of characters of the vocabulary's tokens, if texts are cut before they
        /// are tokenised and unknown tokens are left out.
        median_characters: Option<usize>,
    },
}

impl Tokenizer<'static, TextKinds> {
    /// The tokenizer of a BERT encoder.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn from_bert(config: &BertConfig, pieces: WordPieces) -> Result<Self> {
        let (max_tokens, positions) = (Some(config.max_tokens), Some(config.positions));
        Self::from_word_pieces(pieces, TokenLimits { max_tokens, positions })
    }

    /// The tokenizer of a model that the texts of a folder describe.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory); as [`Pipeline::with_lower_case`], if the model asks
    /// for that.
    pub fn from_folder(model: &FolderModel, pipeline: Pipeline) -> Result<Self> {
        let (pipeline, by, limits) = match &model.described {
            Described::Transformer(family) => {
                let pipeline = match model.settings.lower_case {
                    true => pipeline.with_lower_case()?,
                    false => pipeline,
                };
                let positions = family.config.positions;
                let limit = model.token_limit(positions);
                let limits = TokenLimits { max_tokens: Some(limit), positions: Some(positions) };
                (pipeline, CutsBy::Tokens, limits)
            }
            Described::Table(settings) => {
                let settings = settings.with_truncation(pipeline.truncation());
                let median_characters = match settings.drops_unknown {
                    true => Some(median_characters(&pipeline)?),
                    false => None,
                };
                let limit = settings.max_tokens.and_then(|limit| usize::try_from(limit).ok());
                let limits = TokenLimits { max_tokens: limit, positions: None };
                (pipeline, CutsBy::Table { median_characters }, limits)
            }
        };
        let pipeline = (Boxed::new(pipeline)?, Cuts(by));
        let spelling = Spelling::Pipeline(Part::new(leaf::Pipeline::built_in()?, pipeline));
        Ok(Self { spelling, begin: None, ends: TextEnds::default(), limits })
    }
}

impl<K: Kinds> Tokenizer<'_, K> {
    /// The tokenizer that a `tokenizer.json` can describe, if it is one.
    #[must_use]
    pub fn into_pipeline(self) -> Option<Pipeline> {
        match self.spelling {
            Spelling::Pipeline(pipeline) => Some(pipeline.into_inner().0.into_inner()),
            _ => None,
        }
    }

    /// The number of tokens of a text that an encoder uses; `None` for all.
    #[must_use]
    pub const fn max_tokens(&self) -> Option<usize> {
        self.limits.max_tokens
    }

    /// The most tokens of a text that an encoder can use; `None` if there is no such number.
    #[must_use]
    pub const fn positions(&self) -> Option<usize> {
        self.limits.positions
    }
}

impl Cuts {
    /// The first `limit` tokens of `text`, those around it included, without unknown ones where the
    /// model leaves them out.
    pub(super) fn first(
        self,
        pipeline: &Pipeline,
        text: &str,
        (limit, special): (usize, SpecialTokens),
        session: &mut TextSession,
    ) -> Result<Tokenized> {
        let CutsBy::Table { median_characters } = self.0 else {
            return pipeline.encode(text, limit, special, session.pipeline()?);
        };
        let (text, is_cut) = cut(text, limit, median_characters);
        // Few texts have more.
        let mut ids = reserved((text.len() / 4).min(limit))?;
        pipeline.encode_alone(text, special, session.pipeline()?, &mut ids)?;
        let total = ids.len();
        ids.truncate(limit);
        if let Some(unknown) = pipeline.unknown().filter(|_| median_characters.is_some()) {
            ids.retain(|id| *id != unknown);
        }
        Ok(Tokenized { ids, total, truncated: is_cut || total > limit })
    }
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
