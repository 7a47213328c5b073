//! Templates whose tokens are ids: all that texts need of them.

use super::{MOST_ITEMS, PostProcessor, Template, TemplatePart};

/// The tokens around one text, or around and between two.
#[derive(Clone, Debug, Default)]
pub struct IdTemplate(heapless::Vec<IdItem, MOST_ITEMS>);

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdItem {
    /// The content.
    pub part: IdPart,
    /// The type of its tokens.
    pub kind: u8,
}

/// The content of a place of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdPart {
    /// The tokens of the first text.
    First,
    /// The tokens of the second text.
    Second,
    /// This token.
    Special(u32),
}

impl IdTemplate {
    /// The ids of a `template` of `post`.
    #[must_use]
    pub fn new(post: &PostProcessor<'_>, template: &Template) -> Self {
        let mut items = heapless::Vec::new();
        for item in template {
            let part = match item.part {
                TemplatePart::First => IdPart::First,
                TemplatePart::Second => IdPart::Second,
                TemplatePart::Special(_) => match post.token(item.part) {
                    Some(token) => IdPart::Special(token.id),
                    None => continue,
                },
            };
            // There is room for as many as the description has.
            let _ = items.push(IdItem { part, kind: item.kind });
        }
        Self(items)
    }

    /// The parts.
    #[must_use]
    pub fn items(&self) -> &[IdItem] {
        &self.0
    }

    /// The number of tokens that are added.
    #[must_use]
    pub fn added(&self) -> usize {
        self.ids().count()
    }

    /// The tokens that are added.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|item| match item.part {
            IdPart::Special(id) => Some(id),
            _ => None,
        })
    }

    /// Returns true if each of two texts is there once.
    #[must_use]
    pub fn has_both_once(&self) -> bool {
        let has_one = |wanted| self.0.iter().filter(|item| item.part == wanted).count() == 1;
        has_one(IdPart::First) && has_one(IdPart::Second)
    }
}
