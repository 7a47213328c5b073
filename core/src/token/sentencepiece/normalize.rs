//! Normalisation before pieces are searched: the model's rules, and its handling of spaces.
//!
//! User-defined symbols stay as they are; elsewhere the longest key of the rules is replaced. Then,
//! as the model asks, spaces at both ends are removed, runs of spaces become one, a space is added
//! in front (or at the end), and spaces become `▁`.

use super::rules::Rules;
use super::spec::Spec;
use super::trie::{Kind, Trie};
use crate::error::{Error, ErrorKind, Result};
use crate::token::allowance::Allowance;
use crate::token::byte_set::ByteSet;

/// The replacement of spaces.
pub(super) const SPACE: &[u8] = "\u{2581}".as_bytes();

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// Symbols of a place beyond so many are not seen, as by `sentencepiece`.
const MAX_MATCHES: usize = 64;

/// The bytes of the character that begins with `byte`.
#[inline]
pub(in crate::token) const fn character_bytes(byte: u8) -> usize {
    match byte {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// The symbols that a user defined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols<'m> {
    pub(super) trie: Trie<'m>,
    /// Their first bytes.
    pub(super) first: ByteSet,
}

impl Symbols<'_> {
    /// The bytes of the longest symbol that `text` starts with.
    #[inline]
    pub(super) fn longest(&self, text: &[u8]) -> Option<usize> {
        let (first, rest) = text.split_first()?;
        if !self.first.contains(*first) {
            return None;
        }
        self.walk(self.trie.root(*first)?, rest)
    }

    fn walk(&self, root: u32, rest: &[u8]) -> Option<usize> {
        let is_symbol = |node| self.trie.piece(node).is_some_and(|it| it.kind == Kind::UserDefined);
        let mut longest = is_symbol(root).then_some(1_usize);
        let (mut node, mut matches) = (root, usize::from(longest.is_some()));
        for (byte, length) in rest.iter().zip(2_usize..) {
            let Some(next) = self.trie.next(node, *byte) else { break };
            node = next;
            if is_symbol(node) && matches < MAX_MATCHES {
                matches = matches.saturating_add(1);
                longest = Some(length);
            }
        }
        longest
    }
}

/// Where normalised text goes.
pub(super) trait Output {
    fn push(&mut self, bytes: &[u8]) -> Result<()>;
}

/// Lent memory.
pub(super) struct Buffer<'s> {
    pub(super) bytes: &'s mut [u8],
    pub(super) length: usize,
}

impl Output for Buffer<'_> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.length.saturating_add(bytes.len());
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let room = self.bytes.get_mut(self.length..end).ok_or(small)?;
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.length = end;
        Ok(())
    }
}

/// Only counts.
#[derive(Default)]
pub(super) struct Length(pub(super) usize);

impl Output for Length {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(())
    }
}

/// The way of a model.
pub(super) struct Normalizer<'m> {
    pub(super) spec: &'m Spec,
    pub(super) rules: Option<Rules<'m>>,
    pub(super) symbols: Symbols<'m>,
    /// The first bytes of symbols and keys, and the space: characters that begin otherwise stay as
    /// they are.
    pub(super) special: ByteSet,
}

impl Normalizer<'_> {
    /// Writes what `text` becomes into `buffer` and returns its length.
    pub(super) fn write(&self, text: &str, buffer: &mut [u8]) -> Result<usize> {
        let mut buffer = Buffer { bytes: buffer, length: 0 };
        if !self.run(text, &mut buffer)? {
            return Ok(0);
        }
        if self.spec.remove_extra_whitespaces {
            let written = buffer.bytes.get(..buffer.length).unwrap_or_default();
            let mut kept = written;
            while let Some(shorter) = kept.strip_suffix(self.space()) {
                kept = shorter;
            }
            buffer.length = kept.len();
        }
        if self.spec.add_dummy_prefix && self.spec.whitespace_as_suffix {
            buffer.push(self.space())?;
        }
        Ok(buffer.length)
    }

    /// How much memory [`write`](Self::write) needs.
    pub(super) fn room(&self, text: &str) -> Result<usize> {
        let mut length = Length::default();
        self.run(text, &mut length)?;
        Ok(length.0.saturating_add(SPACE.len()))
    }

    const fn space(&self) -> &'static [u8] {
        if self.spec.escape_whitespaces { SPACE } else { b" " }
    }

    /// All but what happens at the end; answers whether there is more than removed spaces.
    ///
    /// Rules may make as much as they like of a character. What they make of the text is limited,
    /// so that neither time nor memory depends on them; spaces that are removed count too.
    fn run(&self, text: &str, out: &mut impl Output) -> Result<bool> {
        let removes = self.spec.remove_extra_whitespaces;
        let mut rest = text.as_bytes();
        if removes {
            while let Some((b" ", used)) = self.next(rest) {
                rest = rest.get(used..).unwrap_or_default();
            }
        }
        if rest.is_empty() {
            return Ok(false);
        }
        if self.spec.add_dummy_prefix && !self.spec.whitespace_as_suffix {
            out.push(self.space())?;
        }
        let mut after_space = removes;
        let mut allowance = Allowance::for_text(text);
        while let Some((mut becomes, used)) = self.next(rest) {
            rest = rest.get(used..).unwrap_or_default();
            allowance.take(becomes.len())?;
            while let Some(shorter) = becomes.strip_prefix(b" ").filter(|_| after_space) {
                becomes = shorter;
            }
            let Some(last) = becomes.last() else { continue };
            after_space = removes && *last == b' ';
            for (index, word) in becomes.split(|byte| *byte == b' ').enumerate() {
                if index > 0 {
                    out.push(self.space())?;
                }
                out.push(word)?;
            }
        }
        Ok(true)
    }

    /// The replacement of the beginning of `text`, the rest of a `str` from any byte on, and how
    /// many bytes it replaces.
    #[inline]
    fn next<'t>(&'t self, text: &'t [u8]) -> Option<(&'t [u8], usize)> {
        let is_special = |(index, byte): (usize, &u8)| match *byte {
            // Within a character, unless a key has ended there.
            0x80..0xC0 => index == 0,
            byte => self.special.contains(byte),
        };
        match text.iter().enumerate().position(is_special) {
            Some(0) => self.next_special(text),
            Some(length) => Some((text.get(..length)?, length)),
            None if text.is_empty() => None,
            None => Some((text, text.len())),
        }
    }

    fn next_special<'t>(&'t self, text: &'t [u8]) -> Option<(&'t [u8], usize)> {
        let first = text.first()?;
        if let Some(length) = self.symbols.longest(text) {
            return Some((text.get(..length)?, length));
        }
        if let Some((length, becomes)) = self.rules.and_then(|rules| rules.longest(text)) {
            return Some((becomes, length));
        }
        if first & 0xC0 == 0x80 {
            // A key ended within a character.
            return Some((REPLACEMENT, 1));
        }
        let length = character_bytes(*first).min(text.len());
        Some((text.get(..length)?, length))
    }
}
