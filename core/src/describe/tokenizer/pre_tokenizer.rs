//! The member `pre_tokenizer` of a `tokenizer.json`.

use super::metaspace;
use super::pattern::{pattern, run};
use super::settings::{character, kind, refused, steps, truth};
use super::{HAS_ALL, HAS_ALL_STEPS, NEEDS_HEAP};
use crate::text::json::{Object, Read, Value};
use crate::token::bpe::split::EXPRESSIONS;
use crate::token::spec::{Behavior, PreTokenizer, SpelledText, SplitAt, Steps};

/// Adds the steps of a pre-tokeniser.
pub(super) fn read<'t>(
    value: Option<Value<'t>>,
    all: &mut Steps<'t, PreTokenizer<'t>>,
) -> Read<'t, ()> {
    steps(value, "pretokenizers", &one, all)
}

fn one(value: Value<'_>) -> Read<'_, PreTokenizer<'_>> {
    let step = Object::new(value)?;
    let read = match kind(&step)? {
        "BertPreTokenizer" => PreTokenizer::Bert,
        _ if !HAS_ALL => return Err(refused(value, "only BERT's words are in this build")),
        "WhitespaceSplit" => PreTokenizer::WhitespaceSplit,
        "Metaspace" => return metaspace::read(&step).map(PreTokenizer::Metaspace),
        "ByteLevel" => {
            let splits = step.truth("use_regex")?.unwrap_or(true);
            let adds_space = truth(&step, "add_prefix_space")?;
            step.finish(&["trim_offsets"])?;
            return Ok(PreTokenizer::ByteLevel { adds_space, splits });
        }
        "Split" => PreTokenizer::Split {
            at: pattern(&step, &SplitAt::Pattern, &from_regex)?,
            behavior: step.needed("behavior", behavior(&step)?)?,
            inverted: truth(&step, "invert")?,
        },
        _ if !HAS_ALL_STEPS => return Err(refused(value, NEEDS_HEAP)),
        "Whitespace" => PreTokenizer::Whitespace,
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

fn from_regex(regex: SpelledText<'_>) -> Option<SplitAt<'_>> {
    let words = EXPRESSIONS.iter().find(|(known, _)| regex.is(known));
    words.map(|(_, words)| SplitAt::Words(*words)).or_else(|| run(regex).map(SplitAt::Pattern))
}
