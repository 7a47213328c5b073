//! Compiled rules of SentencePiece, in memory of their own.

use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::limit::collected;
use crate::owned::base64;
use crate::owned::pipeline::text::{Text, owned};
use crate::token::charsmap::{self, Mapped};
use crate::token::spec::Rules;

/// The rules.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct Charsmap {
    blob: Vec<u8>,
    /// Which characters of ASCII are replaced.
    changes: u128,
}

impl Charsmap {
    /// The rules of a description.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadField`] if they are no base64; what is wrong with the rules.
    pub(super) fn from_spec(rules: Rules<'_>) -> Result<Self> {
        let blob = match rules {
            // Base64 has no escapes but `\/`.
            Rules::Base64(text) => match text.as_plain() {
                Some(text) => base64::decode(text)?,
                None => base64::decode(&owned(text)?)?,
            },
            Rules::Bytes(bytes) => Some(collected(bytes.iter().copied())?),
        };
        let blob = blob.ok_or(Error::without_offset(ErrorKind::BadField))?;
        let changes = charsmap::Charsmap::parse(&blob)?.changes();
        Ok(Self { blob, changes })
    }

    pub(super) fn run(&self, text: &Text, out: &mut Text) -> Result<()> {
        let Some(rules) = charsmap::Charsmap::resume(&self.blob, self.changes) else {
            return Ok(());
        };
        let mut at = 0;
        rules.each(text.as_str(), |mapped| {
            match mapped {
                Mapped::Plain(plain) => {
                    if at < text.first {
                        out.first = out.len() + plain.len().min(text.first - at);
                    }
                    out.push_str(plain);
                    at += plain.len();
                }
                Mapped::Part(part) => out.push_str(part),
                Mapped::End(bytes) => {
                    // Something that is removed at the very start moves the alignment of what
                    // follows.
                    if at < text.first || text.first > 0 && out.first == 0 {
                        out.first = out.len();
                    }
                    at += bytes;
                    out.check()?;
                }
            }
            Ok(())
        })
    }
}
