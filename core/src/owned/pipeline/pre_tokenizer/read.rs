//! The member `pre_tokenizer` of a `tokenizer.json`.

use alloc::vec::Vec;

use super::split::Behavior;
use super::{ByteLevel, Metaspace, PreTokenizer, SplitAt};
use crate::limit::push;
use crate::owned::pipeline::normalizer::{Pattern, read_pattern};
use crate::owned::pipeline::settings::{at, character, each_step, kind, refused, truth};
use crate::text::json::{Object, Read, Value};
use crate::token::bpe::split::EXPRESSIONS;

/// The steps of a pre-tokeniser.
pub(in crate::owned::pipeline) fn read(value: Option<Value<'_>>) -> Read<'_, Vec<PreTokenizer>> {
    let mut steps = Vec::new();
    each_step(value, "pretokenizers", &mut |step| {
        push(&mut steps, one(step)?).map_err(|error| at(step, "pre_tokenizer", error))
    })?;
    Ok(steps)
}

fn one(value: Value<'_>) -> Read<'_, PreTokenizer> {
    let step = Object::new(value)?;
    let read = match kind(&step)? {
        "BertPreTokenizer" => PreTokenizer::Bert,
        "Whitespace" => PreTokenizer::Whitespace,
        "WhitespaceSplit" => PreTokenizer::WhitespaceSplit,
        "Metaspace" => return Ok(PreTokenizer::Metaspace(Metaspace::read(&step)?)),
        "ByteLevel" => {
            let splits = step.truth("use_regex")?.unwrap_or(true);
            let adds_space = truth(&step, "add_prefix_space")?;
            step.finish(&["trim_offsets"])?;
            return Ok(PreTokenizer::ByteLevel(ByteLevel { adds_space, splits }));
        }
        "Split" => PreTokenizer::Split {
            at: read_pattern(&step, of_regex)?,
            behavior: step.needed("behavior", behavior(&step)?)?,
            inverted: truth(&step, "invert")?,
        },
        "Digits" => PreTokenizer::Digits { alone: truth(&step, "individual_digits")? },
        "Punctuation" => PreTokenizer::Punctuation(behavior(&step)?.unwrap_or(Behavior::Isolated)),
        "CharDelimiterSplit" => PreTokenizer::Delimiter(character(&step, "delimiter")?),
        _ => return Err(refused(value, "no such pre-tokeniser is known")),
    };
    step.finish(&[])?;
    Ok(read)
}

fn behavior<'t>(step: &Object<'t>) -> Read<'t, Option<Behavior>> {
    let Some(name) = step.text("behavior")? else { return Ok(None) };
    let known = Behavior::from_name(name);
    known.map(Some).ok_or_else(|| step.unsupported("behavior", "no such behaviour is known"))
}

fn of_regex(regex: &str) -> Option<SplitAt> {
    let words = EXPRESSIONS.iter().find(|(known, _)| *known == regex);
    words
        .map(|(_, words)| SplitAt::Words(*words))
        .or_else(|| Pattern::of_regex(regex).map(SplitAt::Pattern))
}
