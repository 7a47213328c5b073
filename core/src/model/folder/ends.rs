//! The member `post_processor` of a `tokenizer.json` that puts one token before a text and one
//! behind it, as BERT's tokenizers do.

use super::token_id::token_id;
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Object, Read, Value};

const ONLY: &str = "one token before texts and one behind them are done without a heap";

/// The ids of both tokens.
pub(super) fn read<'a>(post: Value<'a>) -> Read<'a, [u32; 2]> {
    let step = Object::new(post)?;
    let kind = step.needed("type", step.text("type")?)?;
    let ends = match kind {
        "TemplateProcessing" => template(&step)?,
        "BertProcessing" | "RobertaProcessing" => {
            [token_id(&step, "cls")?, token_id(&step, "sep")?]
        }
        _ => return Err(step.unsupported("type", ONLY)),
    };
    // They say which part of a text is a token's, and nothing of which tokens there are.
    step.finish(&["pair", "trim_offsets", "add_prefix_space"])?;
    Ok(ends)
}

fn template<'a>(step: &Object<'a>) -> Read<'a, [u32; 2]> {
    let known = step.needed("special_tokens", step.object("special_tokens")?)?;
    let single = step.needed("single", step.get("single"))?;
    let mut items = single.items();
    let parts = (items.next(), items.next(), items.next(), items.next());
    let (Some(first), Some(text), Some(last), None) = parts else {
        return Err(step.unsupported("single", ONLY));
    };
    let is_text = text.member("Sequence").and_then(|text| text.member("id"));
    if !is_text.is_some_and(|id| id.is_text("A")) {
        return Err(step.unsupported("single", ONLY));
    }
    let id = |part: Value<'a>| {
        let name = part.member("SpecialToken").and_then(|token| token.member("id"));
        let name = name.and_then(|name| name.as_text());
        let name = name.ok_or_else(|| step.unsupported("single", ONLY))?;
        special_id(known.value(), name)
    };
    Ok([id(first)?, id(last)?])
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
