//! The tokenizer of a folder: `tokenizer.json`, and what `tokenizer_config.json` says beside it.
//!
//! Where transformers would do otherwise than `tokenizer.json` says, the folder is refused.

mod added;
mod bert;
mod config;
mod general;
mod members;

use super::{FolderFault, FolderModel, FolderResult, Texts, vocabulary};
use crate::error::{Error, ErrorKind};
use crate::limit::joined;
use crate::owned::Pipeline;
use crate::text::json::Fault;

pub use config::TokenizerConfig;

const FILE: &str = "tokenizer.json";

impl FolderModel {
    /// The tokenizer that `tokenizer.json` describes, or without it BERT's over `vocab.txt`.
    ///
    /// # Errors
    ///
    /// The fault of a file; [`ErrorKind::MissingVocabulary`] without `tokenizer.json` where
    /// that is needed; [`ErrorKind::UnsupportedSetting`] where transformers would not do what it
    /// says.
    pub fn tokenizer(&self, texts: Texts<'_, '_>) -> FolderResult<Pipeline> {
        if self.has_words() {
            return Self::word_tokenizer(texts, self.folder());
        }
        let path = joined(&[self.folder(), FILE])?;
        let fault = |fault: Fault<'_>| FolderFault::new(&path, fault);
        let text = texts(&path).map_err(|error| fault(Fault::from_error(error)))?;
        let config = || TokenizerConfig::read(texts, self.folder());
        let (pipeline, config) = match text {
            Some(text) => {
                let pipeline = match self.is_table() {
                    true => Pipeline::read_alone(&text),
                    false => Pipeline::read(&text),
                };
                let (pipeline, config) = (pipeline.map_err(fault)?, config()?);
                match config.is_bert(self.family()) && TokenizerConfig::has_word_pieces(&text) {
                    true => config.check_bert(texts, &pipeline)?,
                    false => config.check(texts, &pipeline)?,
                }
                (pipeline, config)
            }
            None => {
                let config = config()?;
                let missing = Error::without_offset(ErrorKind::MissingVocabulary);
                let pipeline = self.word_pieces(texts, &config)?;
                (pipeline.ok_or_else(|| fault(Fault::from_error(missing)))?, config)
            }
        };
        if self.compares_by_types() {
            config.check_pairs(&pipeline)?;
        }
        Ok(pipeline)
    }

    /// BERT's tokenizer over `vocab.txt`, if the model has that and it is there.
    fn word_pieces(
        &self,
        texts: Texts<'_, '_>,
        config: &TokenizerConfig,
    ) -> FolderResult<Option<Pipeline>> {
        if !config.is_bert(self.family()) {
            return Ok(None);
        }
        let pipeline = vocabulary::tokenizer(texts, self.folder(), &config.word_settings()?)?;
        if let Some(pipeline) = &pipeline {
            config.check_bert(texts, pipeline)?;
        }
        Ok(pipeline)
    }
}
