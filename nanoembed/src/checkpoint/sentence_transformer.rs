//! Modules of sentence-transformers around an encoder, as far as BERT's settings in files can say
//! them.
//!
//! `do_lower_case` of `sentence_bert_config.json` is about another lower-casing, before the
//! tokenizer's own: true there means lower case, false nothing.

use nanoembed_core::ErrorKind;
use nanoembed_core::model::PoolingMode;
use nanoembed_core::owned::folder::{Base, FolderModel, Modules};

use super::settings::Settings;
use super::vocabulary::WordPieceVocabulary;
use crate::error::{Error, Result, name_of};
use crate::folder::prompts::Prompts;
use crate::folder::texts::FolderTexts;

impl Settings {
    /// Takes the settings of the modules around the encoder.
    pub(super) fn sentence_transformer(
        &mut self,
        texts: &FolderTexts,
        vocabulary: &WordPieceVocabulary,
    ) -> Result<()> {
        let model = texts.read(|texts| FolderModel::read(texts))?;
        let refuse = |message: &str| {
            Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(texts.path()))
        };
        self.limit(model.settings.max_tokens);
        if model.settings.lower_case {
            if vocabulary.added.iter().any(|word| !word.normalized) {
                return Err(refuse(
                    "`do_lower_case` of the encoder's module is true; only false is done for a vocabulary with added special tokens",
                ));
            }
            // Accents are the tokenizer's, which knows nothing of this.
            self.strip_accents = Some(self.strip_accents.unwrap_or(self.do_lower_case));
            self.do_lower_case = true;
        }
        if let Some(modules) = &model.modules {
            self.pooling = bert_pooling(modules).map_err(refuse)?.to_owned();
            self.normalize = modules.normalize;
        }
        self.prompts = Prompts::from_folder(texts, &model)?;
        Ok(())
    }
}

/// The name that BERT's settings have for the pooling of these modules, or the module that they
/// have no word for.
pub(crate) fn bert_pooling(modules: &Modules) -> std::result::Result<&'static str, &'static str> {
    if modules.base != Base::Transformer {
        return Err("the model is a table of a vector for each token");
    }
    if !modules.folder.is_empty() {
        return Err("only an encoder that lies beside `modules.json` is read");
    }
    if !modules.head.is_empty() {
        return Err("the model has a module after its pooling, which the file has no place for");
    }
    let ways = modules.pooling.as_ref().map(|pooling| &*pooling.modes).unwrap_or_default();
    match ways {
        [PoolingMode::Mean] => Ok("mean"),
        [PoolingMode::First] => Ok("cls"),
        // Its direction is the mean's.
        [PoolingMode::MeanByRoot] if modules.normalize => Ok("mean"),
        _ => Err("the model's pooling is neither by the mean nor by the first token"),
    }
}
