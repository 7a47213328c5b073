//! WordPiece, over the tokens of a file.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::filled;
use crate::model::WordPieceSource;
use crate::owned::vocabulary::VocabularyIndex;
use crate::token::{Entries, HashVocabulary, SpecialTokens, TextEnds, Vocabulary as _, WordPiece};

/// A WordPiece tokenizer, and the bytes that its tokens lie in.
#[derive(Clone, Debug)]
pub struct WordPieces<'f> {
    file: Cow<'f, [u8]>,
    vocabulary: VocabularyIndex,
}

impl<'f> WordPieces<'f> {
    /// The tokenizer that `source` found in `file`.
    ///
    /// # Errors
    ///
    /// As [`WordPieceSource::index`].
    pub fn new(file: &'f [u8], source: &WordPieceSource<'f>) -> Result<Self> {
        Ok(Self { file: Cow::Borrowed(file), vocabulary: VocabularyIndex::new(source)? })
    }

    /// The tokenizer with a copy of the file.
    #[must_use]
    pub fn detached(self) -> WordPieces<'static> {
        let Self { file, vocabulary } = self;
        WordPieces { file: Cow::Owned(file.into_owned()), vocabulary }
    }

    fn tokenizer(&self) -> Result<WordPiece<HashVocabulary<'_, Entries<'_>>>> {
        self.vocabulary.tokenizer(&self.file)
    }

    pub(super) fn count(&self) -> u32 {
        self.tokenizer().map_or(0, |tokenizer| tokenizer.vocabulary().count())
    }

    pub(super) fn ends(&self) -> Result<TextEnds> {
        let special = *self.tokenizer()?.special();
        let (begin, append) = (Some(special.classify), Some(special.separate));
        let mut ends = TextEnds { begin, append, ..TextEnds::default() };
        ends.end.push(special.separate)?;
        Ok(ends)
    }

    /// A token as the vocabulary spells it.
    pub(super) fn token(&self, id: u32) -> Option<Vec<u8>> {
        let tokenizer = self.tokenizer().ok()?;
        let length = tokenizer.vocabulary().token(id, &mut []).ok()?;
        let mut token = filled(length, 0).ok()?;
        tokenizer.vocabulary().token(id, &mut token).ok()?;
        Some(token)
    }

    /// The ids of `text` between the two special tokens.
    pub(super) fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        let mut tokenizer = self.tokenizer()?;
        if special == SpecialTokens::AsText {
            let vocabulary = tokenizer.vocabulary().clone().with_added(<_>::default());
            tokenizer = tokenizer.without_spellings(vocabulary);
        }
        let mut ids = filled(text.len().saturating_add(2), 0)?;
        loop {
            let encoded = tokenizer.encode(text, &mut ids)?;
            if !encoded.truncated {
                ids.truncate(encoded.tokens);
                return Ok(ids);
            }
            // Rare: normalisation made several tokens of one byte's worth of text.
            ids = filled(encoded.total, 0)?;
        }
    }
}
