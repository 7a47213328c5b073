//! The member `normalizer` of a `tokenizer.json`.

use super::pattern::replace;
use super::settings::{kind, needed_spelling, refused, steps, truth};
use super::{HAS_ALL, HAS_ALL_STEPS, NEEDS_HEAP};
use crate::text::json::{Object, Read, Value};
use crate::token::spec::{Form, Normalizer, Rules, Steps};

/// Adds the steps of a normaliser.
pub(super) fn read<'t>(
    value: Option<Value<'t>>,
    all: &mut Steps<'t, Normalizer<'t>>,
) -> Read<'t, ()> {
    steps(value, "normalizers", &one, all)
}

fn one(value: Value<'_>) -> Read<'_, Normalizer<'_>> {
    let step = Object::new(value)?;
    let read = match kind(&step)? {
        "BertNormalizer" => bert(&step)?,
        _ if !HAS_ALL => return Err(refused(value, "only BERT's normaliser is in this build")),
        "NFC" => Normalizer::Form(Form::Nfc),
        "Strip" => Normalizer::Strip {
            left: truth(&step, "strip_left")?,
            right: truth(&step, "strip_right")?,
        },
        "Replace" => Normalizer::Replace(replace(&step)?),
        "Precompiled" => {
            let rules = needed_spelling(&step, "precompiled_charsmap")?;
            Normalizer::Precompiled(Rules::Base64(rules))
        }
        _ if !HAS_ALL_STEPS => return Err(refused(value, NEEDS_HEAP)),
        "NFD" => Normalizer::Form(Form::Nfd),
        "NFKC" => Normalizer::Form(Form::Nfkc),
        "NFKD" => Normalizer::Form(Form::Nfkd),
        "Lowercase" => Normalizer::Lowercase,
        "StripAccents" => Normalizer::StripAccents,
        "Prepend" => match needed_spelling(&step, "prepend")? {
            // `tokenizers` doubles the first character of a text where `ByteLevel` follows.
            text if text.is_empty() => {
                return Err(step.unsupported("prepend", "only texts that are not empty"));
            }
            text => Normalizer::Prepend(text),
        },
        "Nmt" => Normalizer::Nmt,
        "ByteLevel" => Normalizer::ByteLevel,
        _ => return Err(refused(value, "no such normaliser is known")),
    };
    step.finish(&[])?;
    Ok(read)
}

fn bert<'t>(step: &Object<'t>) -> Read<'t, Normalizer<'t>> {
    Ok(Normalizer::Bert {
        lowercases: truth(step, "lowercase")?,
        strips_accents: step.truth("strip_accents")?,
        cleans_text: truth(step, "clean_text")?,
        splits_ideographs: truth(step, "handle_chinese_chars")?,
    })
}
