//! Texts on their way into a model.

use alloc::vec::Vec;

use nanoembed_core::owned::Tokenized;

use super::sessions::{TOKEN_STEP, in_steps};

/// Texts that wait to be embedded together.
#[derive(Default)]
pub(crate) struct TextQueue {
    /// The tokens of all texts.
    pub(crate) ids: Vec<u32>,
    /// How many of them each text has.
    pub(crate) lengths: Vec<usize>,
}

impl TextQueue {
    /// Adds a text; returns how many tokens it has.
    pub(crate) fn add(&mut self, ids: &[u32]) -> usize {
        self.ids.extend_from_slice(ids);
        self.lengths.push(ids.len());
        ids.len()
    }

    /// How many tokens the scratch memory must suffice for: texts that fit together are computed
    /// together.
    pub(crate) fn tokens(&self) -> usize {
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        in_steps(self.ids.len().min(longest.max(4 * TOKEN_STEP)))
    }

    /// Forgets the texts.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.lengths.clear();
    }
}

/// How many tokens a text has in full. What Model2Vec cuts before it is tokenised has more than can
/// be told, and those that it leaves out do not count.
pub(crate) fn full_count(text: &Tokenized) -> usize {
    let used = text.ids.len();
    if text.truncated { text.total.max(used + 1) } else { used }
}
