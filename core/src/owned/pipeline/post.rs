//! Post-processors: what is put around one text, or around and between two.

use alloc::vec::Vec;

use super::settings::{at, each_step, kind, one_of, refused, string, unescaped};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{collected, extend, push};
use crate::model::token_id;
use crate::text::json::{Fault, Kind, Object, Read, Value};

/// What is written for one text, and for two.
#[derive(Clone, Debug)]
pub(super) struct PostProcessor {
    pub(super) single: Vec<Item>,
    pub(super) pair: Vec<Item>,
}

/// A part of what is written, with the type of its tokens.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) content: Content,
    pub(super) kind: u8,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    First,
    Second,
    Special(Vec<u32>),
}

const fn item(content: Content, kind: u8) -> Item {
    Item { content, kind }
}

impl PostProcessor {
    /// Nothing is added.
    fn none() -> Result<Self> {
        Ok(Self {
            single: one_of(item(Content::First, 0))?,
            pair: collected([item(Content::First, 0), item(Content::Second, 1)])?,
        })
    }

    /// `[CLS] A [SEP] B [SEP]`, as BERT's.
    fn bert(start: u32, end: u32) -> Result<Self> {
        let mut pair = around(start, end, Content::First)?;
        let behind = [item(Content::Second, 1), item(Content::Special(one_of(end)?), 1)];
        extend(&mut pair, behind)?;
        Ok(Self { single: around(start, end, Content::First)?, pair })
    }

    /// `<s> A </s></s> B </s>`, as RoBERTa's.
    fn roberta(start: u32, end: u32) -> Result<Self> {
        let mut pair = around(start, end, Content::First)?;
        extend(&mut pair, around(end, end, Content::Second)?)?;
        Ok(Self { single: around(start, end, Content::First)?, pair })
    }
}

/// How many tokens are added.
pub(super) fn added(items: &[Item]) -> usize {
    let of = |item: &Item| match &item.content {
        Content::Special(ids) => ids.len(),
        _ => 0,
    };
    items.iter().map(of).sum()
}

/// Reads the member `post_processor`.
pub(super) fn read(value: Option<Value<'_>>) -> Read<'_, PostProcessor> {
    let mut read = None;
    each_step(value, "processors", &mut |step| {
        let processor = one(step)?;
        if processor.is_some() && read.is_some() {
            return Err(refused(step, "only one of those that add tokens is honoured"));
        }
        read = processor.or(read.take());
        Ok(())
    })?;
    match (read, value) {
        (Some(read), _) => Ok(read),
        (None, value) => PostProcessor::none().map_err(|error| match value {
            Some(value) => at(value, "post_processor", error),
            None => Fault::of(error),
        }),
    }
}

/// One processor; `None` if it adds no tokens.
fn one(value: Value<'_>) -> Read<'_, Option<PostProcessor>> {
    let step = Object::new(value)?;
    let of = |error| at(value, "post_processor", error);
    let read = match kind(&step)? {
        "TemplateProcessing" => template(&step)?,
        "BertProcessing" => {
            let (start, end) = (token_id(&step, "cls")?, token_id(&step, "sep")?);
            PostProcessor::bert(start, end).map_err(of)?
        }
        "RobertaProcessing" => {
            let (start, end) = (token_id(&step, "cls")?, token_id(&step, "sep")?);
            step.finish(&["trim_offsets", "add_prefix_space"])?;
            return PostProcessor::roberta(start, end).map(Some).map_err(of);
        }
        "ByteLevel" => {
            step.finish(&["add_prefix_space", "trim_offsets", "use_regex"])?;
            return Ok(None);
        }
        _ => return Err(refused(value, "no such post-processor is known")),
    };
    step.finish(&[])?;
    Ok(Some(read))
}

fn around(start: u32, end: u32, content: Content) -> Result<Vec<Item>> {
    let special = |id| Ok(item(Content::Special(one_of(id)?), 0));
    collected([special(start)?, item(content, 0), special(end)?])
}

fn template<'t>(step: &Object<'t>) -> Read<'t, PostProcessor> {
    let special = step.needed("special_tokens", step.get("special_tokens"))?;
    let single = items(step, "single", special)?;
    if single.iter().any(|item| item.content == Content::Second) {
        return Err(step.unsupported("single", "there is no second text"));
    }
    Ok(PostProcessor { single, pair: items(step, "pair", special)? })
}

/// The parts of a template.
fn items<'t>(step: &Object<'t>, name: &'static str, special: Value<'t>) -> Read<'t, Vec<Item>> {
    let list = step.needed(name, step.get(name))?;
    if list.kind() != Kind::BeginArray {
        return Err(step.bad(name, "a list is needed"));
    }
    let mut items = Vec::new();
    for value in list.items() {
        let item = one_item(name, value, special)?;
        push(&mut items, item).map_err(|error| at(value, name, error))?;
    }
    Ok(items)
}

fn one_item<'t>(name: &'static str, value: Value<'t>, special: Value<'t>) -> Read<'t, Item> {
    let part = Object::new(value)?;
    let (sequence, token) = (part.object("Sequence")?, part.object("SpecialToken")?);
    part.finish(&[])?;
    let bad = |value: Value<'t>, kind| at(value, name, Error::new(value.offset(), kind));
    let (said, is_token) = match (sequence, token) {
        (Some(said), None) => (said, false),
        (None, Some(said)) => (said, true),
        _ => return Err(bad(value, ErrorKind::BadMetadata)),
    };
    let number = said.needed("type_id", said.integer("type_id")?)?;
    let kind = u8::try_from(number).map_err(|_| bad(value, ErrorKind::OverLimit))?;
    let id = said.needed("id", said.text("id")?)?;
    said.finish(&[])?;
    let content = match (is_token, id) {
        (false, "A") => Content::First,
        (false, "B") => Content::Second,
        (false, _) => return Err(said.bad("id", "only A and B are texts")),
        (true, id) => Content::Special(special_ids(id, special, value)?),
    };
    Ok(item(content, kind))
}

/// The ids of a token that a template names.
fn special_ids<'t>(id: &str, special: Value<'t>, place: Value<'t>) -> Read<'t, Vec<u32>> {
    let missing = Error::new(place.offset(), ErrorKind::MissingMetadata);
    let id = unescaped(id).map_err(|error| at(place, "id", error))?;
    let token = special.member(&id).ok_or_else(|| at(place, "id", missing))?;
    let token = Object::new(token)?;
    string(&token, "id")?;
    let list = token.needed("ids", token.get("ids"))?;
    let mut ids = Vec::new();
    for id in list.items() {
        let number = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let number = number.ok_or_else(|| at(id, "ids", id.bad()))?;
        push(&mut ids, number).map_err(|error| at(id, "ids", error))?;
    }
    if list.kind() != Kind::BeginArray {
        return Err(token.bad("ids", "a list is needed"));
    }
    token.finish(&["tokens"])?;
    Ok(ids)
}

impl PostProcessor {
    /// Whether all ids that are added are below `count`.
    pub(super) fn is_within(&self, count: u32) -> bool {
        let is_known = |item: &Item| match &item.content {
            Content::Special(ids) => ids.iter().all(|id| *id < count),
            _ => true,
        };
        self.single.iter().chain(&self.pair).all(is_known)
    }
}
