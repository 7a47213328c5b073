//! Opening a byte-level BPE tokenizer, and its texts.

use super::composed::each_part;
use super::memory::TokenizingNeeds;
use super::merges::{WORD, too_long};
use super::pair_settings::PairSettings;
use super::vocabulary::Tables;
use super::{BAD, Give, each_plain};
use crate::error::Result;
use crate::text::character::utf8;
use crate::token::bpe::{Bpe, MergeTable, Scratch, alphabet};
use crate::token::spec::AddedToken;
use crate::token::unicode::Form;
use crate::token::{AddedRules, AddedTable, Entries, HashVocabulary, Vocabulary as _};

/// Bytes of a text without spaces that can be composed at least.
const COMPOSED: usize = 1024;

impl PairSettings<'_> {
    /// What tokenising takes: words of up to four bytes for each token.
    pub(super) fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        let bytes = tokens.saturating_mul(4).max(WORD);
        let text = if self.composes { bytes.max(COMPOSED) } else { 0 };
        TokenizingNeeds::words(bytes, text)
    }

    pub(super) fn open<'a>(
        &self,
        merges: MergeTable<'a>,
        tables: Tables<'a>,
    ) -> Result<PairTokenizer<'a>> {
        let tokens = tables.tokens;
        // Otherwise something would be unknown.
        let mut room = [0; 4];
        for byte in 0..=u8::MAX {
            let spelled = utf8(alphabet::character(byte), &mut room);
            tokens.find(spelled.as_bytes())?.ok_or(BAD)?;
        }
        Ok(PairTokenizer {
            bpe: Bpe::new(&tokens, merges, self.pattern, AddedTable::EMPTY)?,
            whole: self.ignores_merges.then_some(tokens),
            normalized: tables.added.normalized,
            composes: self.composes,
        })
    }
}

/// Whether a token that is looked for in composed texts is spelled so that it is found, and so that
/// none is cut where [`each_part`] cuts.
pub(super) fn is_kept(token: &AddedToken<'_>, composes: bool) -> bool {
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

impl PairTokenizer<'_> {
    /// The ids of a part in which no added tokens are found as they are.
    pub(super) fn part(
        &self,
        part: &str,
        window: &mut [u8],
        scratch: &mut Scratch<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        if !self.composes || Form::NFC.has(part) {
            return self.composed(part, scratch, give);
        }
        each_part(part, window, &mut |part| self.composed(part, scratch, give))
    }

    fn composed(&self, text: &str, scratch: &mut Scratch<'_>, give: &mut Give<'_>) -> Result<()> {
        each_plain(&self.normalized, text, give, &mut |words, give| {
            self.bpe.each(self.whole.as_ref(), words, scratch, give).map_err(too_long)
        })
    }
}
