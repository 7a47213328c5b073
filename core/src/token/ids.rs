//! The ids that a tokenizer finds.

/// How many tokens a text has, and whether all of them were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCount {
    /// Tokens in the buffer.
    pub tokens: usize,
    /// Tokens of the whole text.
    pub total: usize,
}

/// Where ids go: into a buffer as far as it reaches.
#[derive(Debug)]
pub(super) struct Ids<'i> {
    ids: &'i mut [u32],
    found: TokenCount,
}

impl<'i> Ids<'i> {
    pub(super) fn new(ids: &'i mut [u32]) -> Self {
        Self { ids, found: TokenCount::default() }
    }

    pub(super) fn push(&mut self, id: u32) {
        if let Some(slot) = self.ids.get_mut(self.found.total) {
            *slot = id;
            self.found.tokens = self.found.tokens.saturating_add(1);
        }
        self.found.total = self.found.total.saturating_add(1);
    }

    pub(super) const fn found(&self) -> TokenCount {
        self.found
    }
}
