//! A table of a vector for each token, ready to run.

use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::TokenTable;
use nanoembed_core::owned::folder::TableSettings;
use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::files::EncoderFolder;
use crate::causal::weights::ModelWeights;
use crate::error::{Error, Result};
use crate::pool::Pool;
use crate::tokenizer::Tokens;

/// A static model that borrows from the files of its folder.
pub(crate) struct FolderTable<'f> {
    weights: ModelWeights<'f>,
    table: TokenTable,
    kernels: Kernels,
    tokenizer: Pipeline,
    scratch: Pool<PipelineSession>,
    settings: TableSettings,
    normalize: bool,
    /// Characters that a token of the vocabulary has, more or fewer as often.
    median_characters: usize,
}

impl<'f> FolderTable<'f> {
    /// The table in `folder`.
    pub(crate) fn open(folder: &'f EncoderFolder, settings: TableSettings) -> Result<Self> {
        let modules = folder.modules();
        if modules.is_some_and(|modules| !modules.dense.is_empty()) {
            let message = "a Dense module behind a table of vectors is not done here";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(folder.name()));
        }
        let weights = folder.weights()?;
        let table = TokenTable::open(&|name| weights.header(name));
        let table = table.map_err(|error| folder.failure(error))?;
        let tokenizer = folder.tokenizer()?;
        let normalize = settings.normalize || modules.is_some_and(|modules| modules.normalize);
        Ok(Self {
            weights,
            table,
            kernels: kernel::detect(),
            median_characters: median_characters(&tokenizer),
            tokenizer,
            scratch: Pool::default(),
            settings,
            normalize,
        })
    }

    pub(crate) const fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    pub(crate) const fn tokenizer(&self) -> &Pipeline {
        &self.tokenizer
    }

    /// How many tokens of a text are used; `None` for all.
    pub(crate) fn max_tokens(&self) -> Option<usize> {
        self.settings.max_tokens.and_then(|limit| usize::try_from(limit).ok())
    }

    /// The first `limit` tokens of `text`, without unknown ones where the model leaves them out.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        let (text, mut truncated) = self.cut(text, limit);
        let mut ids = Vec::new();
        let mut session = self.scratch.take().unwrap_or_default();
        let encoded =
            self.tokenizer.encode_alone(text, SpecialTokens::AsTokens, &mut session, &mut ids);
        self.scratch.give(session);
        encoded?;
        truncated |= ids.len() > limit;
        ids.truncate(limit);
        if let Some(unknown) = self.tokenizer.unknown().filter(|_| self.settings.drops_unknown) {
            ids.retain(|id| *id != unknown);
        }
        Ok(Tokens { ids, truncated })
    }

    /// As much of a text as Model2Vec looks at, and whether that is not all.
    fn cut<'t>(&self, text: &'t str, limit: usize) -> (&'t str, bool) {
        if !self.settings.drops_unknown {
            return (text, false);
        }
        let most = limit.saturating_mul(self.median_characters);
        match text.char_indices().nth(most) {
            Some((end, _)) => (text.get(..end).unwrap_or(text), true),
            None => (text, false),
        }
    }

    /// The embedding of tokens into `out`.
    pub(crate) fn embed(&self, ids: &[u32], out: &mut [f32]) -> Result<(), CoreError> {
        let mut row = vec![0.0; self.dimensions()];
        let room = (&mut row[..], &mut [][..]);
        self.table.embed(&self.weights, &self.kernels, ids, self.normalize, room, out)
    }
}

/// The median of the numbers of characters of a vocabulary's tokens, rounded down.
fn median_characters(tokenizer: &Pipeline) -> usize {
    let characters = |id| {
        let token = tokenizer.token(id)?;
        Some(String::from_utf8_lossy(token).chars().count())
    };
    let mut lengths: Vec<usize> = (0..tokenizer.count()).filter_map(characters).collect();
    lengths.sort_unstable();
    let (half, is_odd) = (lengths.len() / 2, lengths.len() % 2 == 1);
    let at = |index: usize| lengths.get(index).copied().unwrap_or(0);
    if is_odd { at(half) } else { usize::midpoint(at(half.saturating_sub(1)), at(half)) }
}
