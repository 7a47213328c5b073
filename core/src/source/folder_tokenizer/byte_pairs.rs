//! Opening a byte-level BPE tokenizer, and its texts.

use super::merges::too_long;
use super::nfc_window::each_part;
use super::vocabulary::Tables;
use super::{BAD, Give, each_plain};
use crate::error::Result;
use crate::text::character::utf8;
use crate::token::bpe::{Bpe, MergeScratch, MergeTable, Pattern};
use crate::token::spec::AddedTokenSpec;
use crate::token::unicode::Form;
use crate::token::{AddedRules, AddedTable, Entries, HashVocabulary};

/// Returns true if a token that is looked for in composed texts is spelled so that it is found, and
/// so that none is cut where [`each_part`] cuts.
pub(super) fn is_kept(token: &AddedTokenSpec<'_>, composes: bool) -> bool {
    let mut before = ' ';
    let mut is_cut = false;
    for c in token.content.chars() {
        is_cut |= c == ' ' && !before.is_whitespace();
        before = c;
    }
    let has_rules = token.rules != AddedRules::default();
    let mut room = [0; 4];
    let is_composed = token.content.chars().all(|c| Form::NFC.has(utf8(c, &mut room)));
    !composes || !is_cut && !has_rules && is_composed
}

/// A byte-level BPE tokenizer that is ready.
#[derive(Clone, Debug)]
pub(super) struct PairTokenizer<'a> {
    bpe: Bpe<'a>,
    /// The tokens that words are as a whole.
    whole: Option<HashVocabulary<'a, Entries<'a>>>,
    /// The added tokens that are found in composed texts.
    normalized: AddedTable<'a>,
    composes: bool,
}

impl<'a> PairTokenizer<'a> {
    /// A tokenizer over `tables` that cuts by `pattern`. Words are whole tokens where the vocabulary
    /// has them if it `ignores_merges`.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if a byte has no token.
    #[inline(never)] // with its stack to itself
    pub(super) fn new(
        (pattern, ignores_merges, composes): (Pattern, bool, bool),
        merges: MergeTable<'a>,
        tables: Tables<'a>,
    ) -> Result<Self> {
        let tokens = tables.tokens;
        let bpe = Bpe::new(&tokens, merges, pattern, AddedTable::EMPTY)?;
        // Otherwise something would be unknown.
        if !bpe.has_all_bytes() {
            return Err(BAD);
        }
        let whole = ignores_merges.then_some(tokens);
        Ok(Self { bpe, whole, normalized: tables.added.normalized, composes })
    }

    /// The ids of a part in which no added tokens are found as they are.
    pub(super) fn part(
        &self,
        part: &str,
        window: &mut [u8],
        scratch: &mut MergeScratch<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        if !self.composes || Form::NFC.has(part) {
            return self.composed(part, scratch, give);
        }
        each_part(part, window, &mut |part| self.composed(part, scratch, give))
    }

    fn composed(
        &self,
        text: &str,
        scratch: &mut MergeScratch<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        each_plain(&self.normalized, text, give, &mut |words, give| {
            self.bpe.each(self.whole.as_ref(), words, scratch, give).map_err(too_long)
        })
    }
}
