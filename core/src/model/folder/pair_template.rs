//! The member `post_processor` of a `tokenizer.json`: what it puts around and between two texts.

use super::step::{each_step, kind};
use super::token_id::token_id;
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Object, Read, Value};

const ONLY: &str = "two texts with up to fourteen tokens around them are done without a heap";

/// Parts that there may be.
const MOST: usize = 16;

/// What two texts become.
#[derive(Clone, Debug)]
pub(crate) struct PairTemplate(heapless::Vec<PairItem, MOST>);

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
    /// Reads the post-processor, of which only one step may add tokens. Whether it says more than it
    /// may is seen where it is read for one text.
    pub(crate) fn read(post: Option<Value<'_>>) -> Read<'_, Self> {
        let mut read = None;
        each_step(post, "processors", &mut |step| {
            let step = Object::new(step)?;
            let found = match kind(&step)? {
                "TemplateProcessing" => Some(Self::template(&step)?),
                "BertProcessing" => Some(Self::around(&step, |first, last| {
                    [(first, 0), (PairPart::First, 0), (last, 0), (PairPart::Second, 1), (last, 1)]
                })?),
                "RobertaProcessing" => Some(Self::around(&step, |first, last| {
                    let (a, b) = (PairPart::First, PairPart::Second);
                    [(first, 0), (a, 0), (last, 0), (last, 0), (b, 0), (last, 0)]
                })?),
                "ByteLevel" => None,
                _ => return Err(step.unsupported("type", ONLY)),
            };
            if found.is_some() && read.is_some() {
                return Err(step.unsupported("type", ONLY));
            }
            read = found.or(read.take());
            Ok(())
        })?;
        Ok(read.unwrap_or_else(Self::texts_alone))
    }

    /// Nothing is added.
    fn texts_alone() -> Self {
        let mut items = heapless::Vec::new();
        for (part, kind) in [(PairPart::First, 0), (PairPart::Second, 1)] {
            // There is room for two.
            let _ = items.push(PairItem { part, kind });
        }
        Self(items)
    }

    fn of(parts: impl IntoIterator<Item = (PairPart, u8)>) -> Option<Self> {
        let mut items = heapless::Vec::new();
        for (part, kind) in parts {
            items.push(PairItem { part, kind }).ok()?;
        }
        Some(Self(items))
    }

    /// What a step that knows the tokens `cls` and `sep` alone makes of two texts.
    fn around<'a, const N: usize>(
        step: &Object<'a>,
        parts: impl FnOnce(PairPart, PairPart) -> [(PairPart, u8); N],
    ) -> Read<'a, Self> {
        let (first, last) = (token_id(step, "cls")?, token_id(step, "sep")?);
        let found = Self::of(parts(PairPart::Special(first), PairPart::Special(last)));
        found.ok_or_else(|| step.unsupported("type", ONLY))
    }

    fn template<'a>(step: &Object<'a>) -> Read<'a, Self> {
        let known = step.needed("special_tokens", step.object("special_tokens")?)?;
        let list = step.needed("pair", step.get("pair"))?;
        let mut items = heapless::Vec::new();
        let mut push = |part, kind| {
            let item = PairItem { part, kind };
            items.push(item).map_err(|_| step.unsupported("pair", ONLY))
        };
        for value in list.items() {
            let item = Object::new(value)?;
            let (text, special) = (item.object("Sequence")?, item.object("SpecialToken")?);
            item.finish(&[])?;
            let said = text.as_ref().or(special.as_ref());
            let said = said.ok_or_else(|| step.unsupported("pair", ONLY))?;
            let id = said.needed("id", said.text("id")?)?;
            let kind = said.needed("type_id", said.integer("type_id")?)?;
            let kind = u8::try_from(kind).map_err(|_| said.bad("type_id", "it is too high"))?;
            said.finish(&[])?;
            match (&text, id) {
                (Some(_), "A") => push(PairPart::First, kind)?,
                (Some(_), "B") => push(PairPart::Second, kind)?,
                (Some(_), _) => return Err(said.bad("id", "only A and B are texts")),
                (None, name) => {
                    special_ids(&known, name, &mut |id| push(PairPart::Special(id), kind))?;
                }
            }
        }
        let template = Self(items);
        let has_one = |wanted| {
            let parts = template.items().iter().filter(|item| item.part == wanted);
            parts.count() == 1
        };
        let are_there = has_one(PairPart::First) && has_one(PairPart::Second);
        if are_there { Ok(template) } else { Err(step.unsupported("pair", ONLY)) }
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

/// Calls `push` with the ids of a token that a template names.
fn special_ids<'a>(
    known: &Object<'a>,
    name: &'a str,
    push: &mut dyn FnMut(u32) -> Read<'a, ()>,
) -> Read<'a, ()> {
    let fault =
        |kind| Fault { error: Error::new(known.value().offset(), kind), key: name, only: ONLY };
    let token = known.value().members().find(|(spelling, _)| *spelling == name);
    let (_, token) = token.ok_or(fault(ErrorKind::MissingMetadata))?;
    let ids = token.member("ids").ok_or(fault(ErrorKind::MissingMetadata))?;
    ids.items().try_for_each(|id| {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        push(id.ok_or(fault(ErrorKind::BadMetadata))?)
    })
}
