//! The ids that stay, and what becomes of them.

use nanoembed_core::{Error, limit};

/// The ids that stay, in their order: each gets the number of its place.
#[derive(Clone, Debug)]
pub(super) struct Numbering(Vec<u32>);

impl Numbering {
    /// Of the ids those that are `kept`.
    pub(super) fn new(kept: &[bool]) -> Result<Self, Error> {
        let ids = (0..).zip(kept).filter(|(_, kept)| **kept);
        limit::collected(ids.map(|(id, _)| id)).map(Self)
    }

    /// The old ids, by new id.
    pub(super) fn kept(&self) -> &[u32] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The new id of `id`; `None` if it is removed.
    pub(super) fn now(&self, id: u32) -> Option<u32> {
        self.0.binary_search(&id).ok().and_then(|place| u32::try_from(place).ok())
    }
}
