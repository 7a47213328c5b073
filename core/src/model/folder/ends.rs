//! The member `post_processor` of a `tokenizer.json` that puts at most one token before a text and
//! one behind it.

use super::step::{each_step, kind};
use super::token_id::token_id;
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Object, Read, Value};

pub(super) const ONLY: &str = "one token before texts and one behind them are done without a heap";

/// The ids of the tokens around texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) before: Option<u32>,
    pub(crate) behind: Option<u32>,
}

impl Ends {
    /// Reads the post-processor, of which only one step may add tokens.
    pub(crate) fn read(post: Option<Value<'_>>) -> Read<'_, Self> {
        let mut read = None;
        each_step(post, "processors", &mut |step| {
            let step = Object::new(step)?;
            // What is irrelevant says which part of a text is a token's, and nothing of which tokens
            // there are.
            let (ends, irrelevant): (_, &[&str]) = match kind(&step)? {
                "TemplateProcessing" => (Some(template(&step)?), &["pair"]),
                "BertProcessing" | "RobertaProcessing" => {
                    let (before, behind) = (token_id(&step, "cls")?, token_id(&step, "sep")?);
                    let ends = Self { before: Some(before), behind: Some(behind) };
                    (Some(ends), &["trim_offsets", "add_prefix_space"])
                }
                "ByteLevel" => (None, &["trim_offsets", "add_prefix_space", "use_regex"]),
                _ => return Err(step.unsupported("type", ONLY)),
            };
            if ends.is_some() && read.is_some() {
                return Err(step.unsupported("type", ONLY));
            }
            read = ends.or(read);
            step.finish(irrelevant)
        })?;
        Ok(read.unwrap_or_default())
    }
}

fn template<'a>(step: &Object<'a>) -> Read<'a, Ends> {
    let known = step.needed("special_tokens", step.object("special_tokens")?)?;
    let single = step.needed("single", step.get("single"))?;
    let (mut ends, mut has_text) = (Ends::default(), false);
    for part in single.items() {
        if let Some(text) = part.member("Sequence") {
            if has_text || !text.member("id").is_some_and(|id| id.is_text("A")) {
                return Err(step.unsupported("single", ONLY));
            }
            has_text = true;
            continue;
        }
        let name = part.member("SpecialToken").and_then(|token| token.member("id"));
        let name = name.and_then(|name| name.as_text());
        let name = name.ok_or_else(|| step.unsupported("single", ONLY))?;
        let place = if has_text { &mut ends.behind } else { &mut ends.before };
        if place.replace(special_id(known.value(), name)?).is_some() {
            return Err(step.unsupported("single", ONLY));
        }
    }
    if has_text { Ok(ends) } else { Err(step.unsupported("single", ONLY)) }
}

/// The only id of a token that a template names.
fn special_id<'a>(known: Value<'a>, name: &'a str) -> Read<'a, u32> {
    let fault = |kind| Fault { error: Error::new(known.offset(), kind), key: name, only: ONLY };
    let token = known.members().find(|(spelling, _)| *spelling == name);
    let (_, token) = token.ok_or(fault(ErrorKind::MissingMetadata))?;
    let ids = token.member("ids").ok_or(fault(ErrorKind::MissingMetadata))?;
    let mut ids = ids.items();
    match (ids.next().and_then(|id| id.as_u64()), ids.next()) {
        (Some(id), None) => u32::try_from(id).map_err(|_| fault(ErrorKind::BadMetadata)),
        _ => Err(fault(ErrorKind::UnsupportedSetting)),
    }
}
