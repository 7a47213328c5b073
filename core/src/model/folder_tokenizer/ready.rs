//! Texts to ids.

use super::Give;
use super::around::around;
use super::behind::behind;
use super::byte_pairs::PairTokenizer;
use super::ends::Ends;
use super::fallback::FallbackTokenizer;
use super::memory::TokenizingMemory;
use super::pair_template::PairTemplate;
use super::unigram::UnigramTokenizer;
use crate::error::Result;
use crate::token::{Encoded, Entries, HashVocabulary, WordPiece};

/// A tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct FolderTokenizer<'a> {
    pub(super) kind: Kind<'a>,
    /// Whether texts may be cut before spaces.
    pub(super) may_cut: bool,
    /// What is put around and between two texts, if it is made for that.
    pub(super) pair: Option<PairTemplate>,
}

/// Which one it is.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub(super) enum Kind<'a> {
    WordPiece(WordPiece<HashVocabulary<'a, Entries<'a>>>),
    Unigram(UnigramTokenizer<'a>),
    BytePairs(PairTokenizer<'a>),
    Fallback(FallbackTokenizer<'a>),
}

impl Kind<'_> {
    /// Whether no token goes across a space behind a letter.
    pub(super) const fn has_words(&self) -> bool {
        match self {
            Self::WordPiece(_) | Self::Unigram(_) | Self::BytePairs(_) => true,
            Self::Fallback(pairs) => pairs.has_words(),
        }
    }
}

impl FolderTokenizer<'_> {
    /// The ids of `text` with what is put around it; the last ones of the text are left out so that
    /// all fit `ids`.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is no room for what is put
    /// around texts, or less memory than
    /// [`FolderTokenizerSource::tokenizing`](super::FolderTokenizerSource::tokenizing) says;
    /// [`OverLimit`](crate::ErrorKind::OverLimit) if a word does not fit that memory, or the rules
    /// of normalisation make far more of the text than it was;
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if there is no token for what is unknown.
    pub fn encode(
        &self,
        text: &str,
        ids: &mut [u32],
        memory: TokenizingMemory<'_>,
    ) -> Result<Encoded> {
        around(self.ends(), ids, |give| self.each(&[text], memory, give))
    }

    /// The same of `prompt` with `text` behind it.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`OverLimit`](crate::ErrorKind::OverLimit) if the text does not
    /// fit the memory, and has no space behind a letter or a digit of ASCII in what fits.
    pub fn encode_behind(
        &self,
        prompt: &str,
        text: &str,
        ids: &mut [u32],
        mut memory: TokenizingMemory<'_>,
    ) -> Result<Encoded> {
        if prompt.is_empty() {
            return self.encode(text, ids, memory);
        }
        let room = core::mem::take(&mut memory.behind);
        let texts = behind(prompt, text, self.may_cut, room)?;
        around(self.ends(), ids, |give| self.each(&texts, memory, give))
    }

    /// How many tokens `prompt` has with what stands before it, without what would stand behind it.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn tokens_of_prompt(&self, prompt: &str, memory: TokenizingMemory<'_>) -> Result<usize> {
        let Ends { before, behind } = self.ends();
        let (mut tokens, mut last) = (usize::from(before.is_some()), before);
        self.each(&[prompt], memory, &mut |id| {
            tokens = tokens.saturating_add(usize::from(id.is_some()));
            last = id.or(last);
        })?;
        // As `owned::TextTokenizer` tells what would stand behind it: by the last token of nothing.
        let is_end = behind.is_none() && before.is_some() && last == before;
        Ok(tokens.saturating_sub(usize::from(is_end)))
    }

    /// The token for what is unknown, if there is one.
    #[must_use]
    pub const fn unknown(&self) -> Option<u32> {
        match &self.kind {
            Kind::WordPiece(words) => Some(words.special().unknown),
            Kind::Unigram(unigram) => unigram.unknown(),
            // Every byte has a token.
            Kind::BytePairs(_) | Kind::Fallback(_) => None,
        }
    }

    /// Calls `give` with the ids of `text` alone.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_alone(
        &self,
        text: &str,
        memory: TokenizingMemory<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()> {
        self.each(&[text], memory, &mut |id| {
            if let Some(id) = id {
                give(id);
            }
        })
    }

    fn ends(&self) -> Ends {
        match &self.kind {
            Kind::WordPiece(words) => {
                let special = words.special();
                Ends { before: Some(special.classify), behind: Some(special.separate) }
            }
            Kind::Unigram(unigram) => unigram.ends(),
            Kind::BytePairs(pairs) => pairs.ends(),
            Kind::Fallback(pairs) => pairs.ends(),
        }
    }

    pub(super) fn each(
        &self,
        texts: &[&str],
        memory: TokenizingMemory<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        match &self.kind {
            Kind::WordPiece(words) => texts.iter().try_for_each(|text| {
                let mut pieces = words.pieces(text);
                while let Some((ids, is_piece)) = pieces.next_piece()? {
                    ids.iter().for_each(|id| give(Some(*id)));
                    if is_piece {
                        give(None);
                    }
                }
                Ok(())
            }),
            Kind::Unigram(unigram) => unigram.each(texts, memory, give),
            Kind::BytePairs(pairs) => pairs.each(texts, memory, give),
            Kind::Fallback(pairs) => pairs.each(texts, memory, give),
        }
    }
}
