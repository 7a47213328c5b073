//! Pre-tokenisers: steps that cut a text into pieces; some rewrite it.

mod metaspace;
mod split;

use alloc::string::String;

use super::text::Text;
use crate::error::Result;
use crate::limit::Growing;
use crate::token::bpe::alphabet;
use crate::token::bpe::split::{self as words, first_word};
use crate::token::spec::{Behavior, PreTokenizerOf, SplitAtOf};
use crate::token::{is_punctuation_character, is_word_character};
use split::Cuts;

/// A step.
pub(super) type PreTokenizer = PreTokenizerOf<String>;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Pieces that steps add to.
pub(super) type PieceList = Growing<Piece>;

/// The pieces of a text on its way through the steps.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The text that the pieces are parts of, once a step has rewritten it.
    rewritten: Text,
    is_rewritten: bool,
    pieces: PieceList,
    next_text: Text,
    next: PieceList,
    /// A piece after a space.
    spaced: Text,
}

impl Pieces {
    /// Cuts `piece` of `text` as `steps` have it, which make at most so many bytes of it. Answers
    /// how many there were at most.
    ///
    /// # Errors
    ///
    /// As [`Text::check`].
    pub(super) fn cut(
        &mut self,
        steps: &[PreTokenizer],
        text: &Text,
        piece: Piece,
        most: usize,
    ) -> Result<usize> {
        self.is_rewritten = false;
        self.pieces.clear();
        self.pieces.push(piece);
        let mut longest = piece.end - piece.start;
        for step in steps {
            self.pieces.check()?;
            self.next.clear();
            let from = if self.is_rewritten { &self.rewritten } else { text };
            if step.rewrites() {
                self.next_text.clear(most);
                let (spaced, to) = (&mut self.spaced, &mut self.next_text);
                step.rewrite(from, &self.pieces, spaced, to, &mut self.next)?;
                longest = longest.max(self.next_text.len());
                core::mem::swap(&mut self.rewritten, &mut self.next_text);
                self.is_rewritten = true;
            } else {
                for piece in self.pieces.iter() {
                    step.split(from.as_str(), *piece, &mut self.next);
                }
            }
            core::mem::swap(&mut self.pieces, &mut self.next);
        }
        self.pieces.check()?;
        Ok(longest)
    }

    /// The pieces, which are not empty, of what `text` has become.
    pub(super) fn iter<'p>(&'p self, text: &'p Text) -> impl Iterator<Item = &'p str> {
        let text = if self.is_rewritten { &self.rewritten } else { text };
        let pieces = self.pieces.iter().map(|piece| &text.as_str()[piece.start..piece.end]);
        pieces.filter(|piece| !piece.is_empty())
    }
}

impl PreTokenizer {
    const fn rewrites(&self) -> bool {
        matches!(self, Self::Metaspace(_) | Self::ByteLevel { .. })
    }

    /// Cuts one piece of a text.
    fn split(&self, text: &str, piece: Piece, out: &mut PieceList) {
        let part = &text[piece.start..piece.end];
        match self {
            Self::Bert => bert(part, piece.start, out),
            Self::Whitespace => words_and_symbols(part, piece.start, out),
            Self::WhitespaceSplit => {
                Cuts::new(piece, Behavior::Removed, out).at_characters(part, char::is_whitespace);
            }
            Self::Digits { alone } => {
                let behavior = if *alone { Behavior::Isolated } else { Behavior::Contiguous };
                Cuts::new(piece, behavior, out).at_characters(part, char::is_numeric);
            }
            Self::Punctuation(behavior) => {
                Cuts::new(piece, *behavior, out).at_characters(part, is_punctuation);
            }
            Self::Delimiter(delimiter) => {
                Cuts::new(piece, Behavior::Removed, out).at_characters(part, |c| c == *delimiter);
            }
            Self::Split { at: SplitAtOf::Words(pattern), behavior, inverted } => {
                let mut cuts = Cuts::new(piece, *behavior, out);
                each_word(*pattern, part, |start, end| cuts.part(start, end, !inverted));
                cuts.finish();
            }
            Self::Split { at: SplitAtOf::Pattern(pattern), behavior, inverted } => {
                let mut cuts = Cuts::new(piece, *behavior, out);
                let mut from = 0;
                while let Some((start, end)) = pattern.find(part, from) {
                    cuts.part(from, start, *inverted);
                    cuts.part(start, end, !inverted);
                    from = end;
                }
                cuts.part(from, part.len(), *inverted);
                cuts.finish();
            }
            // These rewrite the text.
            Self::Metaspace(_) | Self::ByteLevel { .. } => out.push(piece),
        }
    }

    /// Rewrites the pieces of a text.
    fn rewrite(
        &self,
        text: &Text,
        pieces: &[Piece],
        spaced: &mut Text,
        to: &mut Text,
        out: &mut PieceList,
    ) -> Result<()> {
        for piece in pieces {
            match self {
                Self::Metaspace(metaspace) => metaspace.write(text, *piece, to, out),
                Self::ByteLevel { adds_space, splits } => {
                    byte_level((*adds_space, *splits), (text, *piece), spaced, to, out)?;
                }
                _ => {}
            }
        }
        to.check()
    }
}

/// Cuts at white space, which is removed, and makes each punctuation character a piece.
fn bert(part: &str, offset: usize, out: &mut PieceList) {
    let mut start = 0;
    let mut push = |start: usize, end: usize| {
        if start < end {
            out.push(Piece { start: offset + start, end: offset + end });
        }
    };
    for (at, c) in part.char_indices() {
        let is_word = c.is_ascii_alphanumeric();
        let is_space = !is_word && c.is_whitespace();
        if is_space || !is_word && is_punctuation(c) {
            push(start, at);
            start = at + c.len_utf8();
            if !is_space {
                push(at, start);
            }
        }
    }
    push(start, part.len());
}

/// The matches of `\w+|[^\w\s]+`.
fn words_and_symbols(part: &str, offset: usize, out: &mut PieceList) {
    let class = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 0,
        c if !c.is_ascii() && is_word_character(c) => 1,
        _ => 2,
    };
    let (mut start, mut before) = (0, 0);
    for (at, c) in part.char_indices() {
        let here = class(c);
        if here != before {
            if before != 0 {
                out.push(Piece { start: offset + start, end: offset + at });
            }
            (start, before) = (at, here);
        }
    }
    if before != 0 {
        out.push(Piece { start: offset + start, end: offset + part.len() });
    }
}

/// Calls `take` with the places of all words.
fn each_word(pattern: words::Pattern, part: &str, mut take: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < part.len() {
        let length = first_word(pattern, &part[at..]);
        let end = if length == 0 { part.len() } else { at + length };
        take(at, end);
        at = end;
    }
}

/// Writes a piece in GPT-2's alphabet, after a space if it `adds_space` to texts without one, cut
/// into GPT-2's words if it `splits`.
fn byte_level(
    (adds_space, splits): (bool, bool),
    (text, piece): (&Text, Piece),
    spaced: &mut Text,
    to: &mut Text,
    out: &mut PieceList,
) -> Result<()> {
    let part = &text.as_str()[piece.start..piece.end];
    let added = usize::from(adds_space && !part.starts_with(' '));
    spaced.clear(part.len() + 1);
    if added == 1 {
        spaced.push(' ');
        spaced.push_str(part);
        spaced.check()?;
    }
    let whole = if added == 1 { spaced.as_str() } else { part };
    let mut write = |start: usize, end: usize| {
        let from = to.len();
        for (at, byte) in (start..).zip(whole[start..end].bytes()) {
            to.push(alphabet::character(byte));
            to.comes_from(text, piece.start + at.saturating_sub(added));
        }
        out.push(Piece { start: from, end: to.len() });
    };
    if splits {
        each_word(words::Pattern::Gpt2, whole, write);
    } else {
        write(0, whole.len());
    }
    Ok(())
}

/// Returns true for punctuation: that of ASCII, which counts symbols, and the category.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { is_punctuation_character(c) }
}
