//! The member `normalizer` of a `tokenizer.json`.

use alloc::vec::Vec;

use super::{Bert, Charsmap, Normalizer, Pattern, Replace};
use crate::limit::push;
use crate::owned::pipeline::settings::{at, each_step, kind, refused, string, truth, unescaped};
use crate::text::json::{Object, Read, Value, has_escapes};
use crate::token::unicode::Form;

/// The steps of a normaliser.
pub(in crate::owned::pipeline) fn read(value: Option<Value<'_>>) -> Read<'_, Vec<Normalizer>> {
    let mut steps = Vec::new();
    each_step(value, "normalizers", &mut |step| one(step, &mut steps))?;
    Ok(steps)
}

fn one<'t>(value: Value<'t>, steps: &mut Vec<Normalizer>) -> Read<'t, ()> {
    let mut add = |step| push(steps, step).map_err(|error| at(value, "normalizer", error));
    let step = Object::new(value)?;
    let read = match kind(&step)? {
        "BertNormalizer" => {
            bert(&step, &mut add)?;
            return step.finish(&[]);
        }
        "NFC" => Normalizer::Form(Form::NFC),
        "NFD" => Normalizer::Form(Form::NFD),
        "NFKC" => Normalizer::Form(Form::NFKC),
        "NFKD" => Normalizer::Form(Form::NFKD),
        "Lowercase" => Normalizer::Lowercase,
        "StripAccents" => Normalizer::StripAccents,
        "Strip" => Normalizer::Strip {
            left: truth(&step, "strip_left")?,
            right: truth(&step, "strip_right")?,
        },
        "Replace" => Normalizer::Replace(read_replace(&step)?),
        "Prepend" => Normalizer::Prepend(step.needed("prepend", string(&step, "prepend")?)?),
        "Precompiled" => Normalizer::Precompiled(precompiled(&step)?),
        "Nmt" => Normalizer::Nmt,
        "ByteLevel" => Normalizer::ByteLevel,
        _ => return Err(refused(value, "no such normaliser is known")),
    };
    step.finish(&[])?;
    add(read)
}

fn bert<'t>(step: &Object<'t>, add: &mut dyn FnMut(Normalizer) -> Read<'t, ()>) -> Read<'t, ()> {
    let lowercases = truth(step, "lowercase")?;
    let strips_accents = step.truth("strip_accents")?.unwrap_or(lowercases);
    add(Normalizer::Bert(Bert {
        cleans: truth(step, "clean_text")?,
        sets_ideographs_apart: truth(step, "handle_chinese_chars")?,
    }))?;
    if strips_accents {
        add(Normalizer::WithoutAccents)?;
    }
    if lowercases { add(Normalizer::Lowercase) } else { Ok(()) }
}

fn precompiled<'t>(step: &Object<'t>) -> Read<'t, Charsmap> {
    const NAME: &str = "precompiled_charsmap";
    let value = step.needed(NAME, step.get(NAME))?;
    let spelling = step.needed(NAME, step.text(NAME)?)?;
    // Base64 has no escapes but `\/`.
    let decoded = match has_escapes(spelling) {
        false => Charsmap::decode(spelling),
        true => unescaped(spelling).and_then(|text| Charsmap::decode(&text)),
    };
    decoded.map_err(|error| at(value, NAME, error))
}

/// What is replaced by what.
pub(in crate::owned::pipeline) fn read_replace<'t>(step: &Object<'t>) -> Read<'t, Replace> {
    let pattern = read_pattern(step, Pattern::of_regex)?;
    Ok(Replace { pattern, content: step.needed("content", string(step, "content")?)? })
}

/// The member `pattern`: a string, or a regular expression that `of_regex` has to know.
pub(in crate::owned::pipeline) fn read_pattern<'t, P: From<Pattern>>(
    step: &Object<'t>,
    of_regex: impl Fn(&str) -> Option<P>,
) -> Read<'t, P> {
    let pattern = step.needed("pattern", step.object("pattern")?)?;
    let text = string(&pattern, "String")?;
    let regex = string(&pattern, "Regex")?;
    pattern.finish(&[])?;
    match (text, regex) {
        (Some(text), None) if !text.is_empty() => Ok(Pattern::Text(text).into()),
        (None, Some(regex)) => of_regex(&regex)
            .ok_or_else(|| pattern.unsupported("Regex", "no such expression is known")),
        _ => Err(step.unsupported("pattern", "only a string or an expression is honoured")),
    }
}
