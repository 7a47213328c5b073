//! The member `decoder` of a `tokenizer.json`.

use super::metaspace;
use super::pattern::replace;
use super::settings::{character, kind, needed_spelling, refused, steps, truth};
use crate::text::json::{Object, Read, Value};
use crate::token::spec::{Decoder, Steps};

/// The decoding steps; `None` in builds that do not decode.
pub(super) fn read(value: Option<Value<'_>>) -> Read<'_, Option<Steps<'_, Decoder<'_>>>> {
    value.map(|value| steps(Some(value), "decoders", &one)).transpose()
}

fn one(value: Value<'_>) -> Read<'_, Decoder<'_>> {
    let step = Object::new(value)?;
    let size = |name| step.needed(name, step.integer(name)?);
    let read = match kind(&step)? {
        "WordPiece" => Decoder::WordPiece {
            prefix: needed_spelling(&step, "prefix")?,
            cleans: truth(&step, "cleanup")?,
        },
        "Metaspace" => return metaspace::read(&step).map(Decoder::Metaspace),
        "ByteLevel" => {
            step.finish(&["add_prefix_space", "trim_offsets", "use_regex"])?;
            return Ok(Decoder::ByteLevel);
        }
        "ByteFallback" => Decoder::ByteFallback,
        "Fuse" => Decoder::Fuse,
        "Replace" => Decoder::Replace(replace(&step)?),
        "Strip" => Decoder::Strip {
            content: character(&step, "content")?,
            start: size("start")?,
            stop: size("stop")?,
        },
        "BPEDecoder" => Decoder::Bpe { suffix: needed_spelling(&step, "suffix")? },
        _ => return Err(refused(value, "no such decoder is known")),
    };
    step.finish(&[])?;
    Ok(read)
}
