//! The tokens around and between two texts.

use crate::text::json::Read;
use crate::token::spec::{MOST_ITEMS, TemplatePart, TokenizerSpec};

const ONLY: &str = "each of two texts is to be there once";

/// What two texts become.
#[derive(Clone, Debug)]
pub(crate) struct PairTemplate(heapless::Vec<PairItem, MOST_ITEMS>);

/// A part of it, with the type of its tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairItem {
    pub(crate) part: PairPart,
    pub(crate) kind: u8,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairPart {
    First,
    Second,
    Special(u32),
}

impl PairTemplate {
    /// That of a description.
    pub(crate) fn from_spec<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, Self> {
        let post = &spec.post_processor;
        let mut template = Self(heapless::Vec::new());
        for item in &post.pair {
            let part = match item.part {
                TemplatePart::First => PairPart::First,
                TemplatePart::Second => PairPart::Second,
                TemplatePart::Special(_) => match post.token(item.part) {
                    Some(token) => PairPart::Special(token.id),
                    None => continue,
                },
            };
            // There is room for as many as the description has.
            let _ = template.0.push(PairItem { part, kind: item.kind });
        }
        let has_one = |wanted| {
            let parts = template.items().iter().filter(|item| item.part == wanted);
            parts.count() == 1
        };
        match has_one(PairPart::First) && has_one(PairPart::Second) {
            true => Ok(template),
            false => Err(spec.place.unsupported(&["post_processor", "pair"], ONLY)),
        }
    }

    pub(crate) fn items(&self) -> &[PairItem] {
        &self.0
    }

    /// How many tokens are added.
    pub(crate) fn added(&self) -> usize {
        self.ids().count()
    }

    /// The tokens that are added.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|item| match item.part {
            PairPart::Special(id) => Some(id),
            _ => None,
        })
    }
}
