//! Texts to ids.

use super::byte_pairs::PairTokenizer;
use super::ends::Ends;
use super::fallback::FallbackTokenizer;
use super::memory::TokenizingMemory;
use super::prompt_text::join;
use super::unigram::UnigramTokenizer;
use super::{Give, each_plain};
use crate::error::Result;
use crate::token::added_words::AddedTokens;
use crate::token::bpe::MergeScratch;
use crate::token::spec::IdTemplate;
use crate::token::{Encoded, Entries, HashVocabulary, WordPiece};

/// WordPiece over the tokens of a file.
type Words<'a> = WordPiece<HashVocabulary<'a, Entries<'a>>>;

/// A tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct FolderTokenizer<'a> {
    pub(super) kind: Kind<'a>,
    /// The tokens that are taken out of texts before, but for WordPiece's.
    pub(super) added: AddedTokens<'a>,
    pub(super) ends: Ends,
    /// True if texts may be cut before spaces.
    pub(super) may_cut: bool,
    /// The tokens around and between two texts, if the model compares texts.
    pub(super) pair: Option<IdTemplate>,
}

/// Which one it is.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nothing to put the large ones in a box of
pub(super) enum Kind<'a> {
    WordPiece(Words<'a>),
    Unigram(UnigramTokenizer<'a>),
    BytePairs(PairTokenizer<'a>),
    Fallback(FallbackTokenizer<'a>),
}

impl Kind<'_> {
    /// Returns true if no token goes across a space that follows a letter.
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
        self.ends.surround(ids, |give| self.each(&[text], memory, give))
    }

    /// The same of `prompt` with `text` after it.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`OverLimit`](crate::ErrorKind::OverLimit) if the text does not
    /// fit the memory, and has no space after a letter or a digit of ASCII in what fits.
    pub fn encode_after(
        &self,
        prompt: &str,
        text: &str,
        ids: &mut [u32],
        mut memory: TokenizingMemory<'_>,
    ) -> Result<Encoded> {
        if prompt.is_empty() {
            return self.encode(text, ids, memory);
        }
        let room = core::mem::take(&mut memory.after);
        let texts = join(prompt, text, self.may_cut, room)?;
        self.ends.surround(ids, |give| self.each(&texts, memory, give))
    }

    /// How many tokens `prompt` has with what stands before it, without what would stand after it.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn tokens_of_prompt(&self, prompt: &str, memory: TokenizingMemory<'_>) -> Result<usize> {
        let Ends { before, after } = self.ends;
        let (mut tokens, mut last) = (usize::from(before.is_some()), before);
        self.each(&[prompt], memory, &mut |id| {
            tokens = tokens.saturating_add(usize::from(id.is_some()));
            last = id.or(last);
        })?;
        // As `owned::Tokenizer` tells what would stand after it: by the last token of nothing.
        let is_end = after.is_none() && before.is_some() && last == before;
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

    pub(super) fn each(
        &self,
        texts: &[&str],
        memory: TokenizingMemory<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        let TokenizingMemory { text: window, steps, symbols, heap, .. } = memory;
        let mut scratch = MergeScratch::new(symbols, heap);
        match &self.kind {
            Kind::WordPiece(words) => {
                texts.iter().try_for_each(|text| each_word(words, text, give))
            }
            Kind::Unigram(unigram) => {
                let mut segmenter = unigram.segmenter(window, steps)?;
                self.each_plain(texts, give, &mut |part, give| {
                    unigram.part(part, &mut segmenter, give)
                })
            }
            Kind::BytePairs(pairs) => self.each_plain(texts, give, &mut |part, give| {
                pairs.part(part, window, &mut scratch, give)
            }),
            Kind::Fallback(pairs) => {
                self.each_plain(texts, give, &mut |part, give| pairs.part(part, &mut scratch, give))
            }
        }
    }

    /// Gives the ids of the added tokens of `texts`, and calls `plain` with what is between them.
    fn each_plain(
        &self,
        texts: &[&str],
        give: &mut Give<'_>,
        plain: &mut dyn FnMut(&str, &mut Give<'_>) -> Result<()>,
    ) -> Result<()> {
        texts.iter().try_for_each(|text| each_plain(&self.added.written, text, give, plain))
    }
}

/// Gives the ids of a text by WordPiece.
fn each_word(words: &Words<'_>, text: &str, give: &mut Give<'_>) -> Result<()> {
    let mut pieces = words.pieces(text);
    while let Some((ids, is_piece)) = pieces.next_piece()? {
        ids.iter().for_each(|id| give(Some(*id)));
        if is_piece {
            give(None);
        }
    }
    Ok(())
}
