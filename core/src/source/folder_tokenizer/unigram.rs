//! Opening a Unigram tokenizer, and its texts.

use super::memory::TokenizingNeeds;
use super::normalizer::Normalizer;
use super::pieces::{Cut, Pieces};
use super::unigram_settings::UnigramSettings;
use super::vocabulary::{Tables, TokenList};
use super::{BAD, Give, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::text::base64;
use crate::token::charsmap::Charsmap;
use crate::token::unigram::{Scratch, Segmenter, Step, Unigram};

/// A Unigram tokenizer as its file describes it.
#[derive(Clone, Debug)]
pub(super) struct UnigramSource<'a> {
    pub(super) settings: UnigramSettings<'a>,
    /// The score of every token as a 64-bit float.
    pub(super) scores: &'a [u8],
}

impl<'a> UnigramSource<'a> {
    fn room_for_rules(&self) -> usize {
        self.settings.rules.map_or(0, base64::room_for)
    }

    /// Adds what rules take.
    pub(super) fn add_needs(&self, needs: &mut TokenizerNeeds) {
        needs.text = needs.text.saturating_add(self.room_for_rules());
    }

    /// The memory that suffices for every text of so many of these `tokens`, if they have no more
    /// than four bytes each.
    pub(super) fn tokenizing(list: &TokenList<'_>, tokens: usize) -> TokenizingNeeds {
        let window = Unigram::window_for(list.longest);
        TokenizingNeeds::ways(window.max(tokens.saturating_mul(4)))
    }

    /// Takes the rules out of base64 in what they take of `memory`.
    pub(super) fn rules(&self, memory: &mut TokenizerMemory<'a>) -> Result<Option<Charsmap<'a>>> {
        let text = core::mem::take(&mut memory.text);
        let (blob, rest) = text.split_at_mut_checked(self.room_for_rules()).ok_or(TOO_SMALL)?;
        memory.text = rest;
        let rules = self.settings.rules.map(|rules| {
            let field = Error::without_offset(ErrorKind::BadField);
            let length = base64::decode(rules, blob).ok_or(field)?;
            Charsmap::parse(blob.get(..length).unwrap_or_default())
        });
        rules.transpose()
    }

    pub(super) fn open(
        &self,
        rules: Option<Charsmap<'a>>,
        tables: Tables<'a>,
    ) -> Result<UnigramTokenizer<'a>> {
        let settings = &self.settings;
        let (scores, rest) = self.scores.as_chunks();
        let unigram = Unigram::new(tables.tokens, scores, settings.unknown)?;
        if !rest.is_empty() {
            return Err(BAD);
        }
        let (strips, replaces) = (settings.strips, settings.replaces);
        Ok(UnigramTokenizer {
            unigram,
            normalizer: Normalizer { rules, strips, replaces },
            cut: Cut { at_space: settings.cuts_at_space, metaspace: settings.metaspace },
        })
    }
}

/// A Unigram tokenizer that is ready.
#[derive(Clone, Debug)]
pub(super) struct UnigramTokenizer<'a> {
    unigram: Unigram<'a>,
    normalizer: Normalizer<'a>,
    cut: Cut,
}

impl UnigramTokenizer<'_> {
    pub(super) const fn unknown(&self) -> Option<u32> {
        self.unigram.unknown()
    }

    /// A search for tokens in a window, which may be smaller than the memory lent.
    pub(super) fn segmenter<'s>(
        &'s self,
        window: &'s mut [u8],
        steps: &'s mut [Step],
    ) -> Result<Segmenter<'s, 's>> {
        let bytes = window.len().min(steps.len().saturating_sub(1));
        let window = window.get_mut(..bytes).unwrap_or_default();
        Segmenter::new(&self.unigram, Scratch { text: window, steps })
    }

    /// Calls `give` with the ids of a part without added tokens.
    pub(super) fn part(
        &self,
        part: &str,
        segmenter: &mut Segmenter<'_, '_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        let mut pieces = Pieces::new(self.cut, segmenter);
        self.normalizer.each(part, &mut |c| pieces.push(c, give))?;
        pieces.end(give)
    }
}
