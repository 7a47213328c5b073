//! The strings of a vocabulary by their ids.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::limit::{Limit, copied, push, reserved, write};
use crate::text::character::utf8;
use crate::text::json::{chars, has_escapes};
use crate::token::vocabulary::{Comparison, Tokens};

/// The strings, one after the other. Ids without a token have an empty one.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenStrings {
    strings: String,
    ends: Vec<u32>,
}

impl TokenStrings {
    /// Memory for so many strings of so many bytes together.
    pub(super) fn with_room(count: usize, bytes: usize) -> Result<Self> {
        Limit::TOKENS.check_len(count)?;
        let mut strings = String::new();
        let none = |_| Error::without_offset(ErrorKind::NoMemory);
        strings.try_reserve_exact(bytes).map_err(none)?;
        Ok(Self { strings, ends: reserved(count)? })
    }

    /// Adds the token of the next id, as JSON spells it.
    pub(super) fn push_spelled(&mut self, spelling: &str) -> Result<()> {
        if has_escapes(spelling) {
            for c in chars(spelling) {
                write(&mut self.strings, utf8(c, &mut [0; 4]))?;
            }
            self.end()
        } else {
            self.push(spelling)
        }
    }

    /// Adds the token of the next id.
    pub(super) fn push(&mut self, token: &str) -> Result<()> {
        write(&mut self.strings, token)?;
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let large = |_| Error::without_offset(ErrorKind::SizeOverflow);
        let end = self.strings.len().try_into().map_err(large)?;
        push(&mut self.ends, end)
    }

    /// One more than the highest id.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all strings.
    pub(super) fn bytes(&self) -> usize {
        self.strings.len()
    }

    /// The token of an id; `None` if it has none.
    #[cfg_attr(target_family = "wasm", inline)]
    pub(super) fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.strings.get(start..end).filter(|token| !token.is_empty())
    }

    /// All tokens with their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..self.ends.len() as u32).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Makes memory that is not needed free. `shrink_to_fit` would end the process where the
    /// allocator moves what stays and has no memory for it.
    pub(super) fn shrink(&mut self) {
        if self.strings.len() < self.strings.capacity()
            && let Ok(strings) = copied(&self.strings)
        {
            self.strings = strings;
        }
    }
}

impl Tokens for &TokenStrings {
    fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    fn compare(&self, id: u32, text: &[u8]) -> Result<Comparison> {
        Ok(Comparison::new(self.get(id).unwrap_or_default().as_bytes(), text))
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn equals(&self, id: u32, text: &[u8]) -> Result<bool> {
        Ok(self.get(id).unwrap_or_default().as_bytes() == text)
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn copy(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        let token = self.get(id).unwrap_or_default().as_bytes();
        let length = token.len().min(out.len());
        out[..length].copy_from_slice(&token[..length]);
        Ok(token.len())
    }

    fn each(&self, visit: &mut dyn FnMut(u32, &[u8]) -> Result<bool>) -> Result<()> {
        for (id, token) in self.iter() {
            if !visit(id, token.as_bytes())? {
                break;
            }
        }
        Ok(())
    }
}
