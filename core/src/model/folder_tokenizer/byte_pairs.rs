//! Opening a byte-level BPE tokenizer, and its texts.

use super::composed::each_part;
use super::ends::Ends;
use super::memory::{TokenizingMemory, TokenizingNeeds};
use super::merged::{MergedParts, MergedTables};
use super::merges::{WORD, too_long};
use super::pair_settings::PairSettings;
use super::vocabulary::TokenizerParts;
use super::{BAD, Give, each_plain};
use crate::error::Result;
use crate::model::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::text::character::utf8;
use crate::text::json::Read;
use crate::token::added_words::AddedTokens;
use crate::token::bpe::{Bpe, Scratch, alphabet};
use crate::token::spec::AddedToken;
use crate::token::unicode::Form;
use crate::token::{AddedRules, AddedTable, Entries, HashVocabulary, Vocabulary as _};

/// Bytes of a text without spaces that can be composed at least.
const COMPOSED: usize = 1024;

/// What a file says of its byte-level BPE tokenizer.
#[derive(Clone, Debug)]
pub struct PairSource<'a>(MergedParts<'a, PairSettings<'a>>);

impl<'a> PairSource<'a> {
    pub(super) fn new(parts: TokenizerParts<'a, PairSettings<'a>>) -> Read<'a, Self> {
        let PairSettings { merges, added, composes, .. } = parts.settings;
        MergedParts::new(parts, (merges, added), |token| is_kept(token, composes)).map(Self)
    }

    pub(super) fn needs(&self) -> TokenizerNeeds {
        self.0.needs()
    }

    /// What tokenising takes: words of up to four bytes for each token.
    pub(super) fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        let bytes = tokens.saturating_mul(4).max(WORD);
        let text = if self.0.settings().composes { bytes.max(COMPOSED) } else { 0 };
        TokenizingNeeds::words(bytes, text)
    }

    #[inline(never)] // large, and one of several
    pub(super) fn open(&self, memory: TokenizerMemory<'a>) -> Result<PairTokenizer<'a>> {
        let settings = self.0.settings();
        let MergedTables { tokens, merges, added } = self.0.open(settings.ends, memory)?;
        // Otherwise something would be unknown.
        let mut room = [0; 4];
        for byte in 0..=u8::MAX {
            let spelled = utf8(alphabet::character(byte), &mut room);
            tokens.find(spelled.as_bytes())?.ok_or(BAD)?;
        }
        Ok(PairTokenizer {
            bpe: Bpe::new(&tokens, merges, settings.pattern, AddedTable::EMPTY)?,
            whole: settings.ignores_merges.then_some(tokens),
            added,
            composes: settings.composes,
            ends: settings.ends,
        })
    }
}

/// Whether a token that is looked for in composed texts is spelled so that it is found, and so that
/// none is cut where [`each_part`] cuts.
fn is_kept(token: &AddedToken<'_>, composes: bool) -> bool {
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
pub struct PairTokenizer<'a> {
    bpe: Bpe<'a>,
    /// The tokens that words are as a whole.
    whole: Option<HashVocabulary<'a, Entries<'a>>>,
    added: AddedTokens<'a>,
    composes: bool,
    ends: Ends,
}

impl PairTokenizer<'_> {
    pub(super) const fn ends(&self) -> Ends {
        self.ends
    }

    /// Calls `give` with the ids of `texts`, one behind the other.
    pub(super) fn each(
        &self,
        texts: &[&str],
        memory: TokenizingMemory<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        let TokenizingMemory { text: window, symbols, heap, .. } = memory;
        let mut scratch = Scratch::new(symbols, heap);
        for text in texts {
            let plain =
                &mut |part: &str, give: &mut Give<'_>| self.part(part, window, &mut scratch, give);
            each_plain(&self.added.written, text, give, plain)?;
        }
        Ok(())
    }

    /// The ids of a part in which no added tokens are found as they are.
    fn part(
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
        each_plain(&self.added.normalized, text, give, &mut |words, give| {
            self.bpe.each(self.whole.as_ref(), words, scratch, give).map_err(too_long)
        })
    }
}
