//! The tokens that were added to a vocabulary, in lent memory.

use super::TOO_SMALL;
use super::memory::FolderTokenizerNeeds;
use crate::error::{Error, ErrorKind, Result};
use crate::model::source::word_pieces::added::{AddedTables, Gathered, Kind, sorted_ids};
use crate::model::source::word_pieces::in_json::TokenInJson;
use crate::text::json::{Fault, Read, Value};
use crate::token::{AddedToken, Vocabulary};

/// The member `added_tokens` of a `tokenizer.json`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddedList<'a>(Value<'a>);

impl<'a> AddedList<'a> {
    /// The list, of which every token is found in texts as they are, or spelled so that
    /// normalisation `keeps` it.
    pub(super) fn read(
        list: Value<'a>,
        keeps: impl Fn(&TokenInJson<'a>) -> bool,
    ) -> Read<'a, Self> {
        for value in list.items() {
            let token = TokenInJson::read(value)?;
            if token.normalized && !keeps(&token) {
                let error = Error::new(value.offset(), ErrorKind::UnsupportedSetting);
                let only = "only false is done without a heap";
                return Err(Fault { error, key: "normalized", only });
            }
        }
        Ok(Self(list))
    }

    fn tokens(&self) -> impl Iterator<Item = Result<TokenInJson<'a>>> {
        self.0.items().map(|token| TokenInJson::read(token).map_err(|fault| fault.error))
    }

    /// Adds what the tokens take.
    pub(super) fn add_needs(&self, needs: &mut FolderTokenizerNeeds) {
        // What is damaged was refused before.
        for token in self.tokens().flatten() {
            needs.added = needs.added.saturating_add(1);
            needs.added_ids = needs.added_ids.saturating_add(1);
            let bytes = token.spelling().flatten().map(char::len_utf8);
            needs.text = bytes.fold(needs.text, usize::saturating_add);
        }
    }

    /// Sorts the tokens in the memory lent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] for a token of another id than `vocabulary` or the order of
    /// the list gives it, or of one beyond `most`.
    pub(super) fn index(
        &self,
        vocabulary: &impl Vocabulary,
        most: usize,
        (spellings, added, ids): (&mut [u8], &mut [AddedToken], &mut [u32]),
    ) -> Result<AddedTables> {
        let mut gathered = Gathered::new(spellings, added);
        let mut next = vocabulary.count();
        let mut places = ids.iter_mut();
        for token in self.tokens() {
            let token = token?;
            token.check(vocabulary, &mut next)?;
            *places.next().ok_or(TOO_SMALL)? = token.id;
            let TokenInJson { id, rules, normalized, .. } = token;
            let kind = Kind { id, rules, is_normalized: normalized, normalization: None };
            gathered.push(kind, &mut token.spelling())?;
        }
        let unused = places.len();
        let used = ids.len().saturating_sub(unused);
        sorted_ids(ids.get_mut(..used).unwrap_or_default(), most)?;
        gathered.finish()
    }
}
