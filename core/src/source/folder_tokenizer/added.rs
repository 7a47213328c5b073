//! The tokens that were added to a vocabulary, in lent memory.

use super::TOO_SMALL;
use crate::error::Result;
use crate::source::memory::TokenizerNeeds;
use crate::source::word_pieces::added::{AddedTables, Gathered, Kind, check_id, sorted_ids};
use crate::text::json::Read;
use crate::token::spec;
use crate::token::{AddedToken, Vocabulary};

/// Added tokens of a description.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddedList<'a>(spec::AddedTokenSpecs<'a>);

impl<'a> AddedList<'a> {
    /// The list, of which every token is found in texts as they are, or spelled so that
    /// normalisation `keeps` it.
    pub(super) fn read(
        list: spec::AddedTokenSpecs<'a>,
        keeps: impl Fn(&spec::AddedTokenSpec<'a>) -> bool,
    ) -> Read<'a, Self> {
        for token in list.iter() {
            let token = token?;
            if token.normalized && !keeps(&token) {
                let mut fault = token.place.unsupported(&[], "only false is done without a heap");
                fault.key = "normalized";
                return Err(fault);
            }
        }
        Ok(Self(list))
    }

    /// The list, which has been checked before.
    pub(super) const fn checked(list: spec::AddedTokenSpecs<'a>) -> Self {
        Self(list)
    }

    /// The list.
    pub(super) const fn listed(&self) -> spec::AddedTokenSpecs<'a> {
        self.0
    }

    fn tokens(&self) -> impl Iterator<Item = Result<spec::AddedTokenSpec<'a>>> {
        self.0.iter().map(|token| token.map_err(|fault| fault.error))
    }

    /// Adds what the tokens take.
    pub(super) fn add_needs(&self, needs: &mut TokenizerNeeds) {
        // What is damaged was refused before.
        for token in self.tokens().flatten() {
            needs.added = needs.added.saturating_add(1);
            needs.added_ids = needs.added_ids.saturating_add(1);
            let bytes = token.content.chars().map(char::len_utf8);
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
            check_id(&token, vocabulary, &mut next)?;
            *places.next().ok_or(TOO_SMALL)? = token.id;
            let spec::AddedTokenSpec { id, rules, normalized, .. } = token;
            let kind = Kind { id, rules, is_normalized: normalized, normalization: None };
            gathered.push(kind, &mut token.content.chars().map(Ok))?;
        }
        let unused = places.len();
        let used = ids.len().saturating_sub(unused);
        sorted_ids(ids.get_mut(..used).unwrap_or_default(), most)?;
        gathered.finish()
    }
}
