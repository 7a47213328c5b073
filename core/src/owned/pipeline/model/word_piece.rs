//! WordPiece: a piece becomes the longest token that it starts with, then the longest that its rest
//! starts with, written with a prefix before it, and so on; or the unknown token.

use alloc::vec::Vec;

use super::no_unknown;
use crate::error::Result;
use crate::limit::push;
use crate::owned::pipeline::tokens::TokenStrings;
use crate::owned::pipeline::trie::{Node, ROOT, Trie};
use crate::token::spec;

/// A WordPiece model.
#[derive(Clone, Debug)]
pub(in crate::owned::pipeline) struct WordPiece {
    pub(super) trie: Trie,
    pub(super) unknown: Option<u32>,
    /// Where tokens within a word begin: after their prefix. `None` if there are none.
    continuing: Option<Node>,
    most_characters: usize,
}

impl WordPiece {
    pub(super) fn new(tokens: &TokenStrings, settings: &spec::WordPieceSpec<'_>) -> Result<Self> {
        let trie = Trie::build(tokens)?;
        let unknown = trie.walk(ROOT, settings.unknown.chars()).and_then(Node::value);
        let continuing = trie.walk(ROOT, settings.prefix.chars());
        let most_characters = usize::try_from(settings.most_characters).unwrap_or(usize::MAX);
        Ok(Self { trie, unknown, continuing, most_characters })
    }

    pub(super) fn encode(&self, piece: &str, ids: &mut Vec<u32>) -> Result<()> {
        let before = ids.len();
        let is_short =
            piece.len() <= self.most_characters || piece.chars().count() <= self.most_characters;
        if is_short && self.spell(piece, ids)? {
            return Ok(());
        }
        ids.truncate(before);
        push(ids, self.unknown.ok_or(no_unknown())?)
    }

    /// Writes the tokens that spell `piece`; answers whether it can be spelt.
    fn spell(&self, piece: &str, ids: &mut Vec<u32>) -> Result<bool> {
        let mut rest = piece;
        let mut start = Some(ROOT);
        while !rest.is_empty() {
            let longest = start.and_then(|start| self.longest(start, rest));
            let Some((id, left)) = longest else { return Ok(false) };
            push(ids, id)?;
            rest = left;
            start = self.continuing;
        }
        Ok(true)
    }

    /// The longest token from `node` on that `text` starts with, and what is left of it.
    fn longest<'t>(&self, mut node: Node, text: &'t str) -> Option<(u32, &'t str)> {
        let mut longest = None;
        let mut left = text.chars();
        while let Some(next) = left.next().and_then(|c| self.trie.child(node, c)) {
            node = next;
            if let Some(id) = node.value() {
                longest = Some((id, left.as_str()));
            }
        }
        longest
    }
}
