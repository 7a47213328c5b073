//! Tokens that a text spells and that are taken out of it before anything else happens, and the ids of what is left.

use crate::error::Result;

/// A token that is found in the text before it is cut into words, such as `<|im_start|>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added<'a> {
    /// How the text spells it.
    pub text: &'a str,
    /// Its id.
    pub id: u32,
}

/// How many tokens a text has, and whether all of them were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Tokens in the buffer.
    pub tokens: usize,
    /// Tokens of the whole text.
    pub total: usize,
}

/// Where ids go: into a buffer as far as it reaches.
#[derive(Debug)]
pub(super) struct Ids<'i> {
    ids: &'i mut [u32],
    found: Found,
}

impl<'i> Ids<'i> {
    pub(super) fn new(ids: &'i mut [u32]) -> Self {
        Self { ids, found: Found::default() }
    }

    pub(super) fn push(&mut self, id: u32) {
        if let Some(slot) = self.ids.get_mut(self.found.total) {
            *slot = id;
            self.found.tokens = self.found.tokens.saturating_add(1);
        }
        self.found.total = self.found.total.saturating_add(1);
    }

    pub(super) const fn found(&self) -> Found {
        self.found
    }
}

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Text between added tokens, not empty.
    Plain(&'t str),
    /// An added token's id.
    Added(u32),
}

/// Calls `take` with the parts of `text` in their order.
pub(super) fn parts<'t>(
    added: &[Added<'_>],
    text: &'t str,
    mut take: impl FnMut(Part<'t>) -> Result<()>,
) -> Result<()> {
    let mut rest = text;
    while !rest.is_empty() {
        let next = next_added(added, rest);
        let (plain, behind) = match next {
            Some((at, added)) => {
                let (plain, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
                (plain, behind.strip_prefix(added.text).unwrap_or_default())
            }
            None => (rest, ""),
        };
        if !plain.is_empty() {
            take(Part::Plain(plain))?;
        }
        if let Some((_, added)) = next {
            take(Part::Added(added.id))?;
        }
        rest = behind;
    }
    Ok(())
}

/// The first added token in `text`, the longest of those that begin at the same place.
fn next_added<'a>(added: &[Added<'a>], text: &str) -> Option<(usize, Added<'a>)> {
    if added.is_empty() {
        return None;
    }
    let starts = |c: char| added.iter().any(|added| added.text.starts_with(c));
    let mut from = 0_usize;
    while let Some(at) = text.get(from..)?.find(starts) {
        let at = from.saturating_add(at);
        let here = text.get(at..)?;
        let fitting = added.iter().filter(|it| !it.text.is_empty());
        let longest = fitting
            .filter(|added| here.starts_with(added.text))
            .max_by_key(|added| added.text.len());
        if let Some(added) = longest {
            return Some((at, *added));
        }
        from = at.saturating_add(here.chars().next().map_or(1, char::len_utf8));
    }
    None
}
