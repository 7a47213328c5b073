//! Compiled rules of SentencePiece, as Hugging Face `tokenizers` applies them: not the longest key
//! from each place on, but for every grapheme cluster of less than six bytes the shortest key that
//! it starts with, which replaces all of it; if there is none, the same for each character.

use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::owned::base64;
use crate::owned::pipeline::text::{Allowance, Text};
use crate::owned::pipeline::unicode::Clusters;
use crate::token::sentencepiece::Rules;

/// Clusters of this many bytes are not replaced as a whole.
const LONG: usize = 6;

/// The rules.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct Charsmap {
    blob: Vec<u8>,
    /// Which characters of ASCII are replaced.
    changes: u128,
}

impl Charsmap {
    /// The rules that a text in base64 has.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadField`] if it is no base64; what is wrong with the rules.
    pub(super) fn decode(text: &str) -> Result<Self> {
        let bad = Error::without_offset(ErrorKind::BadField);
        let blob = base64::decode(text).ok_or(bad)?;
        let rules = Rules::parse(&blob, 0);
        let rules = rules.map_err(|error| Error::without_offset(error.kind()))?.ok_or(bad)?;
        if !rules.are_text() {
            return Err(Error::without_offset(ErrorKind::InvalidUtf8));
        }
        let changes = (0..128_u8).filter(|byte| rules.shortest(&[*byte]).is_some());
        let changes = changes.fold(0, |changes, byte| changes | 1_u128 << byte);
        Ok(Self { blob, changes })
    }

    pub(super) fn run(&self, text: &Text, out: &mut Text) -> Result<()> {
        let Some(rules) = Rules::resume(&self.blob) else { return Ok(()) };
        let allowance = Allowance::of(&text.string);
        let becomes = |part: &str| {
            let bytes = rules.shortest(part.as_bytes())?;
            core::str::from_utf8(bytes).ok()
        };
        let mut clusters = Clusters::of(&text.string);
        let mut at = 0;
        loop {
            let plain = clusters.plain(self.changes);
            if at < text.first {
                out.first = out.string.len() + plain.len().min(text.first - at);
            }
            out.string.push_str(plain);
            at += plain.len();
            let Some(cluster) = clusters.next() else { break };
            let whole = if cluster.len() < LONG { becomes(cluster) } else { None };
            match whole {
                Some(whole) => out.string.push_str(whole),
                None => {
                    let is_one = cluster.len() < LONG && cluster.chars().nth(1).is_none();
                    for (start, c) in cluster.char_indices() {
                        let part = &cluster[start..start + c.len_utf8()];
                        let part = if is_one { part } else { becomes(part).unwrap_or(part) };
                        out.string.push_str(part);
                    }
                }
            }
            // Something that is removed at the very start moves the alignment of what follows.
            if at < text.first || text.first > 0 && out.first == 0 {
                out.first = out.string.len();
            }
            allowance.check(&out.string)?;
            at += cluster.len();
        }
        Ok(())
    }
}
