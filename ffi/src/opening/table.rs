//! Opening a static model.

use core::mem::MaybeUninit;

use nanoembed_core::format::embd::Embd;
use nanoembed_core::source::folder_tokenizer::FolderTokenizerSource;
use nanoembed_core::source::{StaticModel, TableSource};
use nanoembed_core::text::json::Fault;
use nanoembed_core::token::WordPiece;
use nanoembed_core::{Error, ErrorKind};

use super::scratch::PassMemory;
use super::{Opened, vocabulary};
use crate::folder_tokenizer;
use crate::leaf::{self, Part};
use crate::memory::{Lent, Sum, number};
use crate::model_handle::{Kind, nanoembed_model};
use crate::model_options::{
    NANOEMBED_ACTIVATIONS_FLOAT, NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_INDEXED,
    NANOEMBED_VOCABULARY_NONE, nanoembed_model_options, nanoembed_plan, nanoembed_vocabulary,
};
use crate::model_tokenizer::Tokenizer;
use crate::source::Bytes;
use crate::status::{Failure, Outcome, invalid};
use crate::table_model::TableModel;
use crate::tokenizer_index;
use crate::workspace;

/// Tokens of a text for whose segmentation there is room at a time, where it is not settled before.
const WINDOW_TOKENS: usize = 64;

/// A static model in memory.
pub(crate) struct TableOpening {
    source: Bytes,
    file: TableSource<'static>,
    model: StaticModel,
    limit: usize,
    vocabulary: nanoembed_vocabulary,
    /// Unless it is BERT's.
    tokenizer: Option<Part<leaf::Families, FolderTokenizerSource<'static>>>,
}

impl TableOpening {
    /// The static model in a file.
    #[inline(never)] // so that reading the file has its stack to itself
    pub(super) fn new(
        source: &Bytes,
        embd: Embd<'static>,
        options: &nanoembed_model_options,
        memory: &mut PassMemory,
    ) -> Outcome<&'static mut Self> {
        if options.activations > NANOEMBED_ACTIVATIONS_FLOAT {
            return Err(invalid("activations"));
        }
        let file = match leaf::Families::built_in() {
            Ok(_) => TableSource::read_any(embd),
            Err(_) => TableSource::read(embd),
        };
        let file = file.map_err(fault)?;
        let model = file.model().map_err(fault)?;
        let most = model.max_tokens().unwrap_or(usize::MAX);
        let limit = if options.tokens == 0 { most } else { most.min(options.tokens as usize) };
        let vocabulary = vocabulary::chosen(options.vocabulary, source);
        if vocabulary == NANOEMBED_VOCABULARY_IN_FILE && file.token_index().is_none() {
            return Err(Error::new(file.tokens().offset, ErrorKind::IndexRequired).into());
        }
        let opening = Self { source: *source, file, model, limit, vocabulary, tokenizer: None };
        memory.rest.put(opening)
    }

    /// Reads the tokenizer, if it is asked for and not BERT's: the second step, as both together
    /// take more stack.
    #[inline(never)]
    pub(super) fn read_tokenizer(&mut self) -> Outcome {
        if let Ok(leaf) = leaf::Families::built_in()
            && self.vocabulary != NANOEMBED_VOCABULARY_NONE
        {
            let tokenizer = self.file.tokenizer().map_err(fault)?;
            self.tokenizer = tokenizer.map(|tokenizer| Part::new(leaf, tokenizer));
        }
        Ok(())
    }

    pub(super) fn plan(&self) -> Outcome<nanoembed_plan> {
        Ok(nanoembed_plan {
            model_bytes: self.model_bytes()?,
            workspace_bytes: workspace::bytes(&self.table().sizes()?)?,
            dimensions: number(self.model.table().dimensions()),
            tokens: number(self.limit),
            ..nanoembed_plan::default()
        })
    }

    pub(super) fn model_bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_model>(1)?;
        if let Some(tokenizer) = &self.tokenizer {
            tokenizer_index::add_bytes(&tokenizer.needs(), &mut sum)?;
            return Ok(sum.bytes());
        }
        if self.vocabulary == NANOEMBED_VOCABULARY_INDEXED {
            vocabulary::add_bytes(self.file.tokens().count, &mut sum)?;
        }
        Ok(sum.bytes())
    }

    #[inline(never)] // large, and one of several
    pub(super) fn open(&self, lent: &mut Lent, opened: Opened<'_>) -> Outcome {
        let leaf = leaf::Tables::built_in()?;
        opened.kind.write(Kind::Table(Part::new(leaf, self.table())));
        if let Some(tokenizer) = &self.tokenizer {
            return folder_tokenizer::open(tokenizer, lent, opened.tokenizer);
        }
        self.put_words(lent, opened.tokenizer)
    }

    fn table(&self) -> TableModel {
        let tokenizing = self.tokenizer.as_ref().zip(leaf::Families::built_in().ok());
        let tokenizing = tokenizing.map(|(tokenizer, leaf)| {
            let mut needs = tokenizer.tokenizing(self.limit.min(WINDOW_TOKENS));
            // No prompt stands before texts.
            needs.after = 0;
            Part::new(leaf, needs)
        });
        TableModel::new(self.model, self.limit, tokenizing)
    }

    #[inline(never)] // so that it has its stack to itself
    fn put_words(&self, lent: &mut Lent, place: &mut MaybeUninit<Tokenizer>) -> Outcome {
        place.write(self.tokenizer(lent)?);
        Ok(())
    }

    /// BERT's, if there is one.
    fn tokenizer(&self, lent: &mut Lent) -> Outcome<Tokenizer> {
        let Self { file, source, .. } = self;
        let (tokens, normalization) = (file.tokens(), file.normalization());
        if self.vocabulary == NANOEMBED_VOCABULARY_NONE {
            return Ok(Tokenizer::None);
        }
        if let (NANOEMBED_VOCABULARY_IN_FILE, Some(index)) = (self.vocabulary, file.token_index()) {
            let vocabulary = vocabulary::in_file(source, tokens, index)?;
            let special = file.special(&vocabulary).map_err(fault)?;
            return Ok(Tokenizer::InFile(WordPiece::new(vocabulary, special, normalization)?));
        }
        let vocabulary = vocabulary::indexed(file.token_bytes(), tokens, lent)?;
        let special = file.special(&vocabulary).map_err(fault)?;
        Ok(Tokenizer::Indexed(WordPiece::new(vocabulary, special, normalization)?))
    }
}

fn fault(fault: Fault<'static>) -> Failure {
    Failure::core(fault.error).about(fault.key)
}
