//! Opening a Unigram tokenizer, and its texts.

use super::added::AddedList;
use super::ends::Ends;
use super::memory::{TokenizingMemory, TokenizingNeeds};
use super::normalizer::Normalizer;
use super::pieces::{Cut, Pieces};
use super::unigram_settings::UnigramSettings;
use super::vocabulary::{TokenizerParts, check_ids, check_longest, index};
use super::{BAD, Give, TOO_SMALL, each_plain};
use crate::error::{Error, ErrorKind, Result};
use crate::model::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::text::base64;
use crate::text::json::Read;
use crate::token::charsmap::Charsmap;
use crate::token::unigram::{Scratch, Segmenter, Unigram};
use crate::token::{AddedTable, Entries, HashVocabulary};

/// What a file says of its Unigram tokenizer.
#[derive(Clone, Debug)]
pub struct UnigramSource<'a> {
    parts: TokenizerParts<'a, UnigramSettings<'a>>,
    rules: Option<&'a str>,
    added: AddedList<'a>,
}

impl<'a> UnigramSource<'a> {
    pub(super) fn new(parts: TokenizerParts<'a, UnigramSettings<'a>>) -> Read<'a, Self> {
        let TokenizerParts { settings, longest, entries, .. } = &parts;
        check_longest(entries, *longest)?;
        let rules = settings.rules;
        let added = AddedList::read(settings.added, |_| false)?;
        Ok(Self { rules, added, parts })
    }

    pub(super) fn needs(&self) -> TokenizerNeeds {
        let count = self.parts.entries.count;
        let mut needs = TokenizerNeeds {
            text: self.rules.map_or(0, base64::room_for),
            samples: Entries::samples_needed(count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(count),
            ..TokenizerNeeds::default()
        };
        self.added.add_needs(&mut needs);
        needs
    }

    /// What tokenising takes so that every text of so many tokens has room, if these have no more
    /// than four bytes each.
    pub(super) fn tokenizing(&self, tokens: usize) -> TokenizingNeeds {
        let window = Unigram::window_for(self.parts.longest);
        TokenizingNeeds::ways(window.max(tokens.saturating_mul(4)))
    }

    #[inline(never)] // large, and one of several
    pub(super) fn open(&self, memory: TokenizerMemory<'a>) -> Result<UnigramTokenizer<'a>> {
        let TokenizerMemory { text, samples, slots, added, added_ids, .. } = memory;
        let TokenizerParts { settings, entries, beside: scores, vocabulary: most, .. } =
            &self.parts;
        let room = self.rules.map_or(0, base64::room_for);
        let (blob, spellings) = text.split_at_mut_checked(room).ok_or(TOO_SMALL)?;
        let rules = self.rules.map(|rules| {
            let field = Error::without_offset(ErrorKind::BadField);
            let length = base64::decode(rules, blob).ok_or(field)?;
            Charsmap::parse(blob.get(..length).unwrap_or_default())
        });
        let vocabulary = index(entries, samples, slots)?;
        let tables =
            self.added.index(&vocabulary, *most, (&mut *spellings, &mut *added, added_ids))?;
        check_ids(entries, settings.ends, *most)?;
        let (scores, rest) = scores.as_chunks();
        let unigram = Unigram::new(vocabulary, scores, settings.unknown)?;
        if !rest.is_empty() {
            return Err(BAD);
        }
        let (strips, replaces) = (settings.strips, settings.replaces);
        Ok(UnigramTokenizer {
            unigram,
            added: tables.resume(spellings, added).written,
            normalizer: Normalizer { rules: rules.transpose()?, strips, replaces },
            cut: Cut { at_space: settings.cuts_at_space, metaspace: settings.metaspace },
            ends: settings.ends,
        })
    }
}

/// A Unigram tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct UnigramTokenizer<'a> {
    unigram: Unigram<'a>,
    added: AddedTable<'a>,
    normalizer: Normalizer<'a>,
    cut: Cut,
    ends: Ends,
}

impl UnigramTokenizer<'_> {
    pub(super) const fn ends(&self) -> Ends {
        self.ends
    }

    pub(super) const fn unknown(&self) -> Option<u32> {
        self.unigram.unknown()
    }

    /// Calls `give` with the ids of `texts`, one behind the other.
    pub(super) fn each(
        &self,
        texts: &[&str],
        memory: TokenizingMemory<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        let TokenizingMemory { text: window, steps, .. } = memory;
        let bytes = window.len().min(steps.len().saturating_sub(1));
        let window = window.get_mut(..bytes).unwrap_or_default();
        let mut segmenter = Segmenter::new(&self.unigram, Scratch { text: window, steps })?;
        for text in texts {
            each_plain(&self.added, text, give, &mut |part, give| {
                let mut pieces = Pieces::new(self.cut, &mut segmenter);
                self.normalizer.each(part, &mut |c| pieces.push(c, give))?;
                pieces.end(give)
            })?;
        }
        Ok(())
    }
}
