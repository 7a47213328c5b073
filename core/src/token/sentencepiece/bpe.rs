//! Byte-pair encoding by scores: of neighbours that are a piece together those with the highest
//! score are merged first, of several the leftmost. R. Sennrich et al., "Neural Machine Translation
//! of Rare Words with Subword Units", 2016, and `bpe_model.cc` of sentencepiece, whose ids these
//! are.

use super::normalize::{Symbols, character_bytes};
use super::pieces::Piece;
use super::trie::{Hit, Kind, Node, Trie};
use crate::token::bpe::merge::Join;

/// Bytes of the text that are one symbol.
#[derive(Clone, Copy, Debug, Default)]
pub struct PiecePart {
    pub(super) start: u32,
    pub(super) bytes: u32,
    /// Where the trie of pieces is after them; [`NOWHERE`] if no piece begins with them, or
    /// [`APART`].
    node: Node,
}

/// Stands for a node that is not there.
const NOWHERE: Node = u32::MAX;

/// Stands for the node of a symbol that the user defined: it is not merged.
const APART: Node = u32::MAX - 1;

impl PiecePart {
    /// The bytes of the part in its text.
    pub(super) fn bytes_in<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let start = self.start as usize;
        text.get(start..start.saturating_add(self.bytes as usize)).unwrap_or_default()
    }
}

/// The pieces of a model over one text.
pub(super) struct Merging<'m, 's> {
    pub(super) trie: Trie<'m>,
    pub(super) pieces: &'m [Piece],
    pub(super) text: &'s [u8],
    /// For each piece that is not to be given out, the length of the left one of the two it was
    /// last made of; 0 if none.
    pub(super) splits: &'s mut [u16],
}

impl Join for Merging<'_, '_> {
    type Part = PiecePart;

    fn join(&mut self, left: PiecePart, right: PiecePart) -> Option<(u32, PiecePart)> {
        if left.node == NOWHERE || left.node == APART || right.node == APART {
            return None;
        }
        let node = self.trie.walk_on(left.node, right.bytes_in(self.text))?;
        let hit = self.trie.piece(node)?;
        if hit.kind == Kind::Unused
            && let Some(split) = self.splits.get_mut(hit.id as usize)
        {
            *split = u16::try_from(left.bytes).unwrap_or(0);
        }
        let score = self.pieces.get(hit.id as usize)?.score;
        let bytes = left.bytes.saturating_add(right.bytes);
        Some((rank(score), PiecePart { start: left.start, bytes, node }))
    }
}

/// Least for the highest score; as in sentencepiece 0 is above -0.
const fn rank(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 0 { bits ^ 0x7FFF_FFFF } else { bits }
}

/// Iterates over what words are made of at first: characters, and symbols that the user defined.
pub(super) struct Parts<'m, 's> {
    pub(super) text: &'s [u8],
    pub(super) symbols: Symbols<'m>,
    pub(super) at: usize,
    pub(super) end: usize,
}

impl Iterator for Parts<'_, '_> {
    type Item = PiecePart;

    fn next(&mut self) -> Option<PiecePart> {
        let rest = self.text.get(self.at..self.end)?;
        let symbol = self.symbols.longest(rest);
        let bytes = symbol.unwrap_or(character_bytes(*rest.first()?)).min(rest.len());
        let node = match symbol {
            Some(_) => APART,
            None => self.symbols.trie.walk(rest.get(..bytes)?).unwrap_or(NOWHERE),
        };
        let part = PiecePart {
            start: u32::try_from(self.at).ok()?,
            bytes: u32::try_from(bytes).ok()?,
            node,
        };
        self.at = self.at.saturating_add(bytes);
        Some(part)
    }
}

impl Merging<'_, '_> {
    /// The piece that `part` is.
    pub(super) fn piece(&self, part: &PiecePart) -> Option<Hit> {
        let node = match part.node {
            NOWHERE => return None,
            APART => self.trie.walk(part.bytes_in(self.text))?,
            node => node,
        };
        self.trie.piece(node)
    }

    /// The two parts that a piece which is not to be given out was made of.
    pub(super) fn split(&self, part: &PiecePart, hit: Hit) -> Option<(PiecePart, PiecePart)> {
        let bytes = u32::from(*self.splits.get(hit.id as usize)?);
        let make = |start: u32, bytes: u32| {
            let part = PiecePart { start, bytes, node: NOWHERE };
            PiecePart { node: self.trie.walk(part.bytes_in(self.text)).unwrap_or(NOWHERE), ..part }
        };
        let rest = part.bytes.checked_sub(bytes).filter(|rest| *rest > 0 && bytes > 0)?;
        Some((make(part.start, bytes), make(part.start.saturating_add(bytes), rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_scores_rank_first() {
        let scores = [f32::MAX, 3.0, 0.0, -0.0, -1e-30, -1.0, -31_740.0, f32::MIN];
        assert!(scores.map(rank).is_sorted());
        assert_ne!(rank(0.0), rank(-0.0));
    }
}
