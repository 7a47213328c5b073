//! The tokenizer of a model of whole words.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::text_loader::{no_memory, read_within};
use super::{Base, FolderModel, FolderResult, Texts};
use crate::describe::folder::{TextFault, WordList};
use crate::error::Result;
use crate::limit::{exactly, gathered, spelled};
use crate::owned::Pipeline;
use crate::text::json::{Fault, chars, has_escapes};
use crate::token::spec::{JsonPlace, Model, ModelKind, TokenizerSpec, VocabularySpec};

impl FolderModel {
    /// Returns true for a table with a vector for each word.
    #[must_use]
    pub fn has_words(&self) -> bool {
        let base = self.modules.as_ref().map(|modules| modules.base);
        matches!(base, Some(Base::Words { .. }))
    }

    /// The tokenizer of a model of whole words in `folder`, which ends with `/` or is empty.
    ///
    /// # Errors
    ///
    /// The fault of its file.
    pub fn word_tokenizer(texts: Texts<'_, '_>, folder: &str) -> FolderResult<Pipeline> {
        read_within(texts, folder, &|texts| {
            let list = WordList::read(texts, "")?;
            let words = words(&list).map_err(no_memory)?;
            let tokens = exactly(words.iter().map(|word| &**word)).map_err(no_memory)?;
            let count = tokens.len() as u64;
            let model = Model {
                kind: ModelKind::Words(list.settings),
                vocabulary: VocabularySpec::Apart { ids: count, count },
                place: JsonPlace::NONE,
            };
            let spec = TokenizerSpec { model, ..TokenizerSpec::default() };
            let opened = Pipeline::from_spec(&spec, &tokens, None, &[]);
            opened.map_err(|fault| TextFault {
                path: list.path,
                fault: Fault { error: fault.error, key: "vocab", only: fault.only },
            })
        })
    }
}

/// The words as JSON means them.
fn words<'a>(list: &WordList<'a>) -> Result<Vec<Cow<'a, str>>> {
    gathered(list.words.items().map(|word| {
        let spelling = word.as_text().unwrap_or_default();
        Ok(match has_escapes(spelling) {
            true => Cow::Owned(spelled(chars(spelling))?),
            false => Cow::Borrowed(spelling),
        })
    }))
}
