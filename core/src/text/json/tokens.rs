//! The lexemes of a text in memory.

use super::lexer::{Lexeme, LexemeKind, Lexer};
use crate::error::{Error, ErrorKind, Result};

/// A lexeme with its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token<'a> {
    /// Its kind.
    pub kind: LexemeKind,
    /// The text's spelling; that of keys and strings excludes the quotes.
    pub spelling: &'a str,
    /// Absolute offset of the spelling's first byte.
    pub offset: u64,
}

/// Iterates over the tokens of a text in memory; after an error it ends.
///
/// ```
/// use nanoembed_core::text::json::JsonTokens;
///
/// let tokens = JsonTokens::new(br#"{"hidden_size": 384}"#, 0);
/// let spellings: Vec<_> = tokens.filter_map(Result::ok).map(|token| token.spelling).collect();
/// assert_eq!(spellings, ["{", "hidden_size", "384", "}"]);
/// ```
#[derive(Clone)]
pub struct JsonTokens<'a> {
    lexer: Lexer,
    bytes: &'a [u8],
    /// Absolute offset of `bytes`.
    base: u64,
    ended: bool,
}

/// Omits the text, which may be long.
impl core::fmt::Debug for JsonTokens<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tokens").field("lexer", &self.lexer).finish_non_exhaustive()
    }
}

impl<'a> JsonTokens<'a> {
    /// The tokens of `bytes`, a whole text at the absolute `offset`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { lexer: Lexer::new(offset), bytes, base: offset, ended: false }
    }

    /// The tokens of an object's members; `bytes` begins at a key.
    #[must_use]
    pub const fn at_key(bytes: &'a [u8], offset: u64) -> Self {
        Self { lexer: Lexer::at_key(offset), bytes, base: offset, ended: false }
    }

    /// The number of open arrays and objects.
    #[must_use]
    pub const fn depth(&self) -> u8 {
        self.lexer.depth()
    }

    /// Skips the next value of any kind; `None` if there is none.
    pub fn skip_value(&mut self) -> Option<Result<()>> {
        let depth = self.depth();
        loop {
            match self.next()? {
                Err(error) => return Some(Err(error)),
                Ok(token) if self.depth() == depth && token.kind != LexemeKind::Key => {
                    return Some(Ok(()));
                }
                Ok(_) => {}
            }
        }
    }

    fn token(&self, lexeme: Lexeme) -> Result<Token<'a>> {
        let at = |offset: u64| usize::try_from(offset.saturating_sub(self.base)).ok();
        let spelling = match (at(lexeme.start), at(lexeme.end)) {
            (Some(start), Some(end)) => self.bytes.get(start..end),
            _ => None,
        };
        let spelling = spelling.and_then(|bytes| core::str::from_utf8(bytes).ok());
        let error = Error::new(lexeme.start, ErrorKind::InvalidUtf8);
        let spelling = spelling.ok_or(error)?;
        Ok(Token { kind: lexeme.kind, spelling, offset: lexeme.start })
    }
}

impl<'a> Iterator for JsonTokens<'a> {
    type Item = Result<Token<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let seen = usize::try_from(self.lexer.offset().saturating_sub(self.base)).ok()?;
        let rest = self.bytes.get(seen..).unwrap_or(&[]);
        let lexeme = match self.lexer.next(rest) {
            Ok((_, Some(lexeme))) => Ok(Some(lexeme)),
            Ok((_, None)) => {
                self.ended = true;
                self.lexer.finish()
            }
            Err(error) => Err(error),
        };
        self.ended |= lexeme.is_err();
        match lexeme {
            Ok(lexeme) => lexeme.map(|lexeme| self.token(lexeme)),
            Err(error) => Some(Err(error)),
        }
    }
}
