//! What is put around one text, or around and between two.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::collected;
use crate::token::spec::{self, Template, TemplatePart};

/// What is written for one text, and for two.
#[derive(Clone, Debug)]
pub(super) struct PostProcessor {
    pub(super) single: Vec<Item>,
    pub(super) pair: Vec<Item>,
}

/// A part of what is written, with the type of its tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) content: Content,
    pub(super) kind: u8,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    First,
    Second,
    Special(u32),
}

/// How many tokens are added.
pub(super) fn added(items: &[Item]) -> usize {
    items.iter().filter(|item| matches!(item.content, Content::Special(_))).count()
}

impl PostProcessor {
    /// What a description says.
    pub(super) fn from_spec(spec: &spec::PostProcessor<'_>) -> Result<Self> {
        let items = |template: &Template| {
            let items = template.iter().filter_map(|item| {
                let content = match item.part {
                    TemplatePart::First => Content::First,
                    TemplatePart::Second => Content::Second,
                    TemplatePart::Special(_) => Content::Special(spec.token(item.part)?.id),
                };
                Some(Item { content, kind: item.kind })
            });
            collected(items)
        };
        Ok(Self { single: items(&spec.single)?, pair: items(&spec.pair)? })
    }

    /// Whether all ids that are added are below `count`.
    pub(super) fn is_within(&self, count: u32) -> bool {
        let is_known = |item: &Item| match item.content {
            Content::Special(id) => id < count,
            _ => true,
        };
        self.single.iter().chain(&self.pair).all(is_known)
    }
}
