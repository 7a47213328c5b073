//! A JSON section in a stream: validated byte by byte, and passed on in pieces that end at
//! character boundaries.

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Step};
use crate::text::json::Lexer;

/// Checks one JSON object.
#[derive(Clone, Debug)]
pub(super) struct Document {
    lexer: Lexer,
    until: u64,
    begun: bool,
    failed: Option<Error>,
}

impl Document {
    /// A document from `start` to the absolute offset `until`.
    pub(super) const fn new(start: u64, until: u64) -> Self {
        Self { lexer: Lexer::new(start), until, begun: false, failed: None }
    }

    /// The next piece of `input`, which is at `offset`; a silent step that uses nothing at the end
    /// of the document.
    pub(super) fn next<'a>(&mut self, input: &'a [u8], offset: u64) -> Result<Option<Step<'a>>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if offset >= self.until {
            return self.lexer.finish().map(|_| None);
        }
        let room = usize::try_from(self.until.saturating_sub(offset)).unwrap_or(usize::MAX);
        let window = input.get(..room).unwrap_or(input);
        let text = match core::str::from_utf8(window) {
            Ok("") => return Ok(Some(Step::need_more(1))),
            Ok(text) => text,
            Err(error) => {
                let valid = window.get(..error.valid_up_to()).unwrap_or_default();
                let text = core::str::from_utf8(valid).unwrap_or_default();
                let may_go_on = error.error_len().is_none() && window.len() < room;
                if text.is_empty() {
                    return match may_go_on {
                        true => Ok(Some(Step::need_more(window.len().saturating_add(1)))),
                        false => Err(Error::new(offset, ErrorKind::InvalidUtf8)),
                    };
                }
                text
            }
        };
        let sound = match self.check(text.as_bytes(), offset) {
            Ok(()) => text,
            // The text before the error is passed on first, so that events do not depend on how the
            // input is cut.
            Err(error) => {
                self.failed = Some(error);
                let length =
                    usize::try_from(error.offset().unwrap_or(offset).saturating_sub(offset));
                text.get(..length.unwrap_or(0)).filter(|sound| !sound.is_empty()).ok_or(error)?
            }
        };
        Ok(Some(Step::new(sound.len(), Event::Document { offset, text: sound })))
    }

    fn check(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        if !self.begun {
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            match bytes.iter().position(|byte| !blank(byte)) {
                Some(at) if bytes.get(at) != Some(&b'{') => {
                    return Err(Error::new(offset.saturating_add(at as u64), ErrorKind::BadJson));
                }
                at => self.begun = at.is_some(),
            }
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (used, _) = self.lexer.next(rest)?;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(())
    }
}
