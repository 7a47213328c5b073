//! Compiled rules of SentencePiece, as Hugging Face `tokenizers` applies them: not the longest key
//! from each place on, but for every grapheme cluster of less than six bytes the shortest key that
//! it starts with, which replaces all of it; if there is none, the same for each character.

use super::sentencepiece::Rules;
use super::unicode::Clusters;
use crate::error::{Error, ErrorKind, Result};
use crate::text::character::utf8;

/// Clusters of this many bytes are not replaced as a whole.
const LONG: usize = 6;

/// The rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charsmap<'a> {
    rules: Rules<'a>,
    /// Which characters of ASCII are replaced.
    changes: u128,
}

/// A part of the result for a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mapped<'t> {
    /// A part of it that stays as it is, each character a cluster of its own.
    Plain(&'t str),
    /// The replacement of a cluster, or of a character of it.
    Part(&'t str),
    /// All of a cluster of so many bytes has been mapped.
    End(usize),
}

impl<'a> Charsmap<'a> {
    /// The rules in `blob`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadField`] if there are none; [`ErrorKind::InvalidUtf8`] if what they make of
    /// texts is no text; what is wrong with them.
    pub(crate) fn parse(blob: &'a [u8]) -> Result<Self> {
        let bad = Error::without_offset(ErrorKind::BadField);
        let rules = Rules::parse(blob, 0);
        let rules = rules.map_err(|error| Error::without_offset(error.kind()))?.ok_or(bad)?;
        if !rules.are_text() {
            return Err(Error::without_offset(ErrorKind::InvalidUtf8));
        }
        let changes = (0..128_u8).filter(|byte| rules.shortest(&[*byte]).is_some());
        let changes = changes.fold(0, |changes, byte| changes | 1_u128 << byte);
        Ok(Self { rules, changes })
    }

    /// Takes up again what [`parse`](Self::parse) found in `blob`.
    pub(crate) fn resume(blob: &'a [u8], changes: u128) -> Option<Self> {
        Rules::resume(blob).map(|rules| Self { rules, changes })
    }

    /// The second argument of [`resume`](Self::resume).
    pub(crate) const fn changes(&self) -> u128 {
        self.changes
    }

    fn becomes(&self, part: &str) -> Option<&'a str> {
        core::str::from_utf8(self.rules.shortest(part.as_bytes())?).ok()
    }

    /// Calls `take` with what becomes of `text`, from the first to the last.
    ///
    /// # Errors
    ///
    /// The error of `take`.
    #[inline]
    pub(crate) fn each(
        &self,
        text: &str,
        mut take: impl FnMut(Mapped<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut clusters = Clusters::new(text);
        loop {
            take(Mapped::Plain(clusters.plain(self.changes)))?;
            let Some(cluster) = clusters.next() else { return Ok(()) };
            let is_long = cluster.len() >= LONG;
            match if is_long { None } else { self.becomes(cluster) } {
                Some(whole) => take(Mapped::Part(whole))?,
                None => {
                    let is_one = !is_long && cluster.chars().nth(1).is_none();
                    let mut room = [0; 4];
                    for c in cluster.chars() {
                        let part = utf8(c, &mut room);
                        let part = if is_one { part } else { self.becomes(part).unwrap_or(part) };
                        take(Mapped::Part(part))?;
                    }
                }
            }
            take(Mapped::End(cluster.len()))?;
        }
    }
}
