//! The member `post_processor` of a `tokenizer.json`.

use super::settings::{each_step, kind, refused, spelling};
use super::token_id::token_id;
use crate::error::{Error, ErrorKind};
use crate::text::json::{LexemeKind, Object, Read, Value};
use crate::token::spec::{
    JsonPlace, MOST_SPECIAL, PostProcessor, SpecialToken, SpelledText, Template, TemplateItem,
    TemplatePart,
};

/// Reads a post-processor, in which at most one step may add tokens.
pub(super) fn read(value: Option<Value<'_>>) -> Read<'_, PostProcessor<'_>> {
    let mut read = None;
    each_step(value, "processors", &mut |step| {
        let processor = one(step)?;
        if processor.is_some() && read.is_some() {
            return Err(refused(step, "only one of those that add tokens is honoured"));
        }
        read = processor.or(read.take());
        Ok(())
    })?;
    Ok(read.unwrap_or_default())
}

/// One processor; `None` if it adds no tokens.
fn one(value: Value<'_>) -> Read<'_, Option<PostProcessor<'_>>> {
    let step = Object::new(value)?;
    let ends = || Ok([Some(token_id(&step, "cls")?), Some(token_id(&step, "sep")?)]);
    let read = match kind(&step)? {
        "TemplateProcessing" => template(&step)?,
        "BertProcessing" => {
            let [first, last] = ends()?;
            PostProcessor::around(first, last, true)
        }
        "RobertaProcessing" => {
            let [first, last] = ends()?;
            step.finish(&["trim_offsets", "add_prefix_space"])?;
            return Ok(Some(PostProcessor::around(first, last, false)));
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

fn template<'t>(step: &Object<'t>) -> Read<'t, PostProcessor<'t>> {
    let known = step.needed("special_tokens", step.get("special_tokens"))?;
    let mut templates = Templates { step, known, special: heapless::Vec::new() };
    let single = templates.items("single")?;
    if single.iter().any(|item| item.part == TemplatePart::Second) {
        return Err(step.unsupported("single", "there is no second text"));
    }
    let pair = templates.items("pair")?;
    Ok(PostProcessor { special: templates.special, single, pair })
}

/// The templates of a step.
struct Templates<'s, 't> {
    step: &'s Object<'t>,
    /// The tokens to which templates may refer.
    known: Value<'t>,
    /// Those to which they refer so far.
    special: heapless::Vec<SpecialToken<'t>, MOST_SPECIAL>,
}

impl<'t> Templates<'_, 't> {
    /// The parts of the template `name`.
    fn items(&mut self, name: &'static str) -> Read<'t, Template> {
        let list = self.step.needed(name, self.step.get(name))?;
        if list.kind() != LexemeKind::BeginArray {
            return Err(self.step.bad(name, "a list is needed"));
        }
        let mut template = Template::new();
        list.items().try_for_each(|value| self.item(name, value, &mut template))?;
        Ok(template)
    }

    fn item(
        &mut self,
        name: &'static str,
        value: Value<'t>,
        template: &mut Template,
    ) -> Read<'t, ()> {
        let part = Object::new(value)?;
        let (sequence, token) = (part.object("Sequence")?, part.object("SpecialToken")?);
        part.finish(&[])?;
        let fault = |kind, only| {
            let mut fault = JsonPlace::new(value).fault(&[], kind, only);
            fault.key = name;
            fault
        };
        let (said, is_token) = match (sequence, token) {
            (Some(said), None) => (said, false),
            (None, Some(said)) => (said, true),
            _ => return Err(fault(ErrorKind::BadMetadata, "")),
        };
        let number = said.needed("type_id", said.integer("type_id")?)?;
        let kind = u8::try_from(number).map_err(|_| fault(ErrorKind::OverLimit, ""))?;
        let id = said.needed("id", said.text("id")?)?;
        said.finish(&[])?;
        let mut push = |part| {
            let many = "templates of up to sixteen parts are done";
            let pushed = template.push(TemplateItem { part, kind });
            pushed.map_err(|_| fault(ErrorKind::OverLimit, many))
        };
        match (is_token, id) {
            (false, "A") => push(TemplatePart::First),
            (false, "B") => push(TemplatePart::Second),
            (false, _) => Err(said.bad("id", "only A and B are texts")),
            (true, id) => self.special(SpelledText::from_json(id), value, &mut push),
        }
    }

    /// Calls `push` with the ids of the token at `value` in a template.
    fn special(
        &mut self,
        name: SpelledText<'t>,
        value: Value<'t>,
        push: &mut dyn FnMut(TemplatePart) -> Read<'t, ()>,
    ) -> Read<'t, ()> {
        let missing = Error::new(value.offset(), ErrorKind::MissingMetadata);
        let known = self.known.members().filter(|(known, _)| SpelledText::from_json(known) == name);
        let token = known.last().ok_or_else(|| JsonPlace::new(value).met("id", missing))?;
        let token = Object::new(token.1)?;
        spelling(&token, "id")?;
        let list = token.needed("ids", token.get("ids"))?;
        for value in list.items() {
            let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
            let id = id.ok_or_else(|| JsonPlace::new(value).met("ids", value.bad()))?;
            push(self.place(SpecialToken { id, name }).ok_or_else(|| {
                let many = "templates of fewer tokens are done";
                JsonPlace::new(token.value()).fault(&["ids"], ErrorKind::OverLimit, many)
            })?)?;
        }
        if list.kind() != LexemeKind::BeginArray {
            return Err(token.bad("ids", "a list is needed"));
        }
        token.finish(&["tokens"])
    }

    /// The part for a token, which is added to the list unless it is there.
    fn place(&mut self, token: SpecialToken<'t>) -> Option<TemplatePart> {
        let known = self.special.iter().position(|known| *known == token);
        let place = match known {
            Some(place) => place,
            None => {
                self.special.push(token).ok()?;
                self.special.len().checked_sub(1)?
            }
        };
        u8::try_from(place).ok().map(TemplatePart::Special)
    }
}
