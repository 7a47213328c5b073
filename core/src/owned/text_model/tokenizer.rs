//! A tokenizer with what a model's settings say of texts and of how many tokens are used.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::{collected, reserved};
use crate::model::cut;
use crate::owned::folder::{Described, FolderModel};
use crate::owned::{Pipeline, PipelineSession, Tokenized, TokenizedPair};
use crate::token::SpecialTokens;

/// The tokenizer of a model of texts.
#[derive(Clone, Debug)]
pub struct TextTokenizer {
    pipeline: Pipeline,
    kind: Kind,
    max_tokens: Option<usize>,
    positions: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Transformer,
    Table {
        /// Whether texts are cut before they are tokenised and unknown tokens are left out; then
        /// the characters that a token of the vocabulary has, more or fewer as often.
        median_characters: Option<usize>,
    },
}

impl TextTokenizer {
    /// The tokenizer of a model that the texts of a folder describe.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory); as [`Pipeline::with_lower_case`], if the model asks for that.
    pub fn new(model: &FolderModel, pipeline: Pipeline) -> Result<Self> {
        Ok(match &model.described {
            Described::Transformer(family) => {
                let pipeline = match model.settings.lower_case {
                    true => pipeline.with_lower_case()?,
                    false => pipeline,
                };
                let kind = Kind::Transformer;
                let positions = family.config.positions;
                let limit = model.settings.token_limit(model.tokenizer_limit, positions);
                Self { pipeline, kind, max_tokens: Some(limit), positions: Some(positions) }
            }
            Described::Table(settings) => {
                let settings = settings.with_truncation(pipeline.truncation());
                let median = match settings.drops_unknown {
                    true => Some(median_characters(&pipeline)?),
                    false => None,
                };
                let kind = Kind::Table { median_characters: median };
                let limit = settings.max_tokens.and_then(|limit| usize::try_from(limit).ok());
                Self { pipeline, kind, max_tokens: limit, positions: None }
            }
        })
    }

    /// The tokenizer alone.
    #[must_use]
    pub const fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.pipeline.token(id).map(|token| String::from_utf8_lossy(token).into_owned())
    }

    /// How many tokens of a text are used; `None` for all.
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
    /// As [`Pipeline::encode`].
    pub fn encode(
        &self,
        text: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<Tokenized> {
        let special = SpecialTokens::AsTokens;
        let Kind::Table { median_characters } = self.kind else {
            return self.pipeline.encode(text, limit, special, session);
        };
        let (text, is_cut) = cut(text, limit, median_characters);
        // Few texts have more.
        let mut ids = reserved((text.len() / 4).min(limit))?;
        self.pipeline.encode_alone(text, special, session, &mut ids)?;
        let total = ids.len();
        ids.truncate(limit);
        if let Some(unknown) = self.pipeline.unknown().filter(|_| median_characters.is_some()) {
            ids.retain(|id| *id != unknown);
        }
        Ok(Tokenized { ids, total, truncated: is_cut || total > limit })
    }

    /// Two texts, of which the longer one is cut first.
    ///
    /// # Errors
    ///
    /// As [`Pipeline::encode_pair`].
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<TokenizedPair> {
        self.pipeline.encode_pair(first, second, limit, session)
    }

    /// Tokens of `prompt` with what stands before it, without what would stand behind it.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn tokens_of_prompt(&self, prompt: &str, session: &mut PipelineSession) -> Result<usize> {
        let with = self.encode(prompt, usize::MAX, session)?.ids;
        let nothing = self.encode("", usize::MAX, session)?.ids;
        let has_end =
            nothing.len() > 1 || nothing.last().is_some_and(|end| with.last() == Some(end));
        Ok(with.len() - usize::from(has_end && nothing.last() == with.last()))
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
