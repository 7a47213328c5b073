//! Byte-level BPE, over the tokens of a file or over its own.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::model::llama::BpeSource;
use crate::owned::BpeTokenizer;
use crate::token::SpecialTokens;

/// A byte-level BPE tokenizer, and the bytes that its tokens lie in.
#[derive(Clone, Debug)]
pub struct BytePairs<'f> {
    file: Cow<'f, [u8]>,
    bpe: BpeTokenizer,
}

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

impl<'f> BytePairs<'f> {
    /// The tokenizer that `source` found in `file`.
    ///
    /// # Errors
    ///
    /// As [`BpeTokenizer::new`].
    pub fn new(file: &'f [u8], source: &BpeSource<'f>) -> Result<Self> {
        Ok(Self::over(Cow::Borrowed(file), BpeTokenizer::new(source)?))
    }

    /// A tokenizer whose tokens lie in `file`.
    #[must_use]
    pub const fn over(file: Cow<'f, [u8]>, bpe: BpeTokenizer) -> Self {
        Self { file, bpe }
    }

    /// The tokenizer with the tokens as far as `file` is needed for them: the file itself no longer
    /// is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file has changed.
    pub fn detached(self) -> Result<BytePairs<'static>> {
        let Self { file, bpe } = self;
        let last = match bpe.index().count.checked_sub(1) {
            Some(last) => bpe.token(&file, last)?.as_ptr_range().end.addr(),
            None => file.as_ptr().addr(),
        };
        let head = file.get(..last.saturating_sub(file.as_ptr().addr())).ok_or(BAD)?;
        Ok(BytePairs { file: Cow::Owned(head.to_vec()), bpe })
    }

    /// The tokenizer without its tokens.
    #[must_use]
    pub const fn bpe(&self) -> &BpeTokenizer {
        &self.bpe
    }

    /// How a token is spelled in GPT-2's alphabet.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.bpe.token(&self.file, id).ok()
    }

    /// Merges and tokens as a file that is written borrows them.
    #[must_use]
    pub fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>) {
        // Merges and ids were looked up when the index was made.
        let spelling = |id| self.token(id).and_then(|token| core::str::from_utf8(token).ok());
        let merge = |(left, right)| (spelling(left).unwrap_or(""), spelling(right).unwrap_or(""));
        let merges = self.bpe.merges().iter().map(|it| merge((it.left, it.right)));
        let tokens = (0..self.bpe.index().count).map(|id| self.token(id).unwrap_or_default());
        (merges.collect(), tokens.collect())
    }

    /// The ids of `text`: see [`BpeTokenizer::encode`].
    ///
    /// # Errors
    ///
    /// As [`BpeTokenizer::encode`].
    pub fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        self.bpe.encode(&self.file, text, special)
    }
}
