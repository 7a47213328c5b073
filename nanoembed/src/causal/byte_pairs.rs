//! Byte-level BPE, over the tokens of a file or over its own.

use std::borrow::Cow;

use nanoembed_core::model::llama::{BpeParts, BpeSource};
use nanoembed_core::owned::BpeTokenizer;
use nanoembed_core::token::bpe::Pattern;
use nanoembed_core::token::{LengthPrefix, SpecialTokens, TextEnds};
use nanoembed_core::{Error as CoreError, ErrorKind};

/// A tokenizer, and the bytes that its tokens lie in.
pub struct BytePairs<'f> {
    file: Cow<'f, [u8]>,
    bpe: BpeTokenizer,
}

pub(super) const BAD: CoreError = CoreError::without_offset(ErrorKind::BadVocabulary);

impl<'f> BytePairs<'f> {
    /// The tokenizer that `source` found in `file`.
    pub(super) fn of_file(file: &'f [u8], source: &BpeSource<'f>) -> Result<Self, CoreError> {
        Ok(Self { file: Cow::Borrowed(file), bpe: BpeTokenizer::new(source)? })
    }

    /// The tokenizer with the tokens as far as `file` is needed for them: the file itself no longer
    /// is.
    pub(super) fn detached(self) -> Result<BytePairs<'static>, CoreError> {
        let Self { file, bpe } = self;
        let last = match bpe.count().checked_sub(1) {
            Some(last) => bpe.token(&file, last)?.as_ptr_range().end.addr(),
            None => file.as_ptr().addr(),
        };
        let head = file.get(..last.saturating_sub(file.as_ptr().addr())).ok_or(BAD)?;
        Ok(BytePairs { file: Cow::Owned(head.to_vec()), bpe })
    }

    /// The number of tokens.
    pub(super) const fn count(&self) -> u32 {
        self.bpe.count()
    }

    /// How texts are cut into words.
    pub(super) const fn pattern(&self) -> Pattern {
        self.bpe.pattern()
    }

    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    pub(super) const fn ignores_merges(&self) -> bool {
        self.bpe.ignores_merges()
    }

    /// Whether texts are brought into Unicode's form NFC first.
    pub(super) const fn composes(&self) -> bool {
        self.bpe.composes()
    }

    /// The tokens around texts.
    pub(super) const fn ends(&self) -> &TextEnds {
        self.bpe.ends()
    }

    /// The ids of the tokens that are found in a text as they are.
    pub(super) fn added(&self) -> &[u32] {
        self.bpe.added()
    }

    /// How a token is spelled in GPT-2's alphabet.
    pub(super) fn token(&self, id: u32) -> Option<&[u8]> {
        self.bpe.token(&self.file, id).ok()
    }

    /// Merges and tokens as a file that is written borrows them.
    pub(super) fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>) {
        // Merges and ids were looked up when the index was made.
        let spelling = |id| self.token(id).and_then(|token| str::from_utf8(token).ok());
        let merge = |(left, right)| (spelling(left).unwrap_or(""), spelling(right).unwrap_or(""));
        let merges = self.bpe.merges().iter().map(|it| merge((it.left, it.right)));
        let tokens = (0..self.bpe.count()).map(|id| self.token(id).unwrap_or_default());
        (merges.collect(), tokens.collect())
    }

    /// The ids of `text`, between the tokens that are put around every text if there are any.
    pub(super) fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>, CoreError> {
        self.bpe.encode(&self.file, text, special)
    }
}

/// What byte-level BPE is made of that lies in no file as it is used.
pub(super) struct Parts {
    pub(super) pattern: Pattern,
    pub(super) tokens: Vec<Vec<u8>>,
    pub(super) merges: Vec<(String, String)>,
    /// Ids of the tokens that are found in a text as they are.
    pub(super) added: Vec<u32>,
    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    pub(super) ignores_merges: bool,
    /// Whether texts are brought into Unicode's form NFC first.
    pub(super) composes: bool,
    pub(super) ends: TextEnds,
}

impl Parts {
    /// The tokenizer.
    pub(super) fn build(self) -> Result<BytePairs<'static>, CoreError> {
        let Self { pattern, tokens, merges, added, ignores_merges, composes, ends } = self;
        let mut entries = Vec::new();
        for token in &tokens {
            entries.extend(u32::try_from(token.len()).map_err(|_| BAD)?.to_le_bytes());
            entries.extend(token);
        }
        let merges: String =
            merges.iter().map(|(left, right)| format!("{left} {right}\n")).collect();
        let added: Vec<String> = added.iter().map(ToString::to_string).collect();
        let added = added.join(" ");
        let source = BpeSource::parts(&BpeParts {
            pattern,
            tokens: &entries,
            offset: 0,
            count: u32::try_from(tokens.len()).map_err(|_| BAD)?,
            prefix: LengthPrefix::U32,
            merges: &merges,
            added: &added,
            ignores_merges,
            composes,
            ends,
        });
        let bpe = BpeTokenizer::new(&source)?;
        Ok(BytePairs { file: Cow::Owned(entries), bpe })
    }
}
