//! A decoder's tokenizer as GGUF has it: keys as llama.cpp's `convert_hf_to_gguf.py` writes them.

use std::collections::HashMap;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::token::bpe::Pattern;
use serde_json::Value;

use super::encoder::model_type;
use super::metadata::{Metadata, OwnValue};
use super::{Job, Writing};
use crate::causal::hugging_face::DecoderSettings;
use crate::causal::tokenizer::Tokenizer;
use crate::convert::checkpoint::settings::read_json;
use crate::error::{Error, Result, name_of};

/// What helps where the tokenizer cannot be written.
const HINT: &str = "`--like ORIGINAL.gguf` takes the tokenizer from a GGUF file of the model; `--keep-names` writes the tensors alone, which no program runs";

const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

/// Adds the tokenizer that lies beside the decoder's `config.json`. A file without one can be run
/// by nobody.
pub(super) fn add(metadata: &mut Metadata, writing: &Writing, job: &Job<'_, '_>) -> Result<()> {
    let config = writing.config.as_deref();
    let folder = match config {
        Some(config) => config.parent().unwrap_or(Path::new("")),
        None => &job.folder,
    };
    let refuse =
        |kind, message: String| Err(Error::input(kind, message).at(&job.source).with_hint(HINT));
    let has_one = ["tokenizer.json", "tokenizer.model"].iter().any(|it| folder.join(it).exists());
    if !has_one {
        let message = "there is no tokenizer beside the model's config.json, and nobody can run a GGUF file without one";
        return refuse(ErrorKind::MissingVocabulary, message.into());
    }
    let Some(settings) = DecoderSettings::of(folder, config)? else {
        let config = config.map_or_else(|| folder.join("config.json"), Path::to_owned);
        let kind = model_type(&config)?.unwrap_or_default();
        let message =
            format!("the tokenizer of a model of the type `{kind}` is not written as GGUF");
        return refuse(ErrorKind::UnsupportedArchitecture, message);
    };
    let tokenizer = settings.tokenizer()?;
    let written = byte_pairs(metadata, &tokenizer, &special_tokens(folder)?);
    written.and_then(|()| ends(metadata, &tokenizer)).map_err(|why| {
        let message = format!("GGUF has no words for this tokenizer: {why}");
        Error::input(ErrorKind::BadVocabulary, message).at(name_of(folder)).with_hint(HINT)
    })
}

/// Whether each of the added tokens is a special one.
fn special_tokens(folder: &Path) -> Result<HashMap<u64, bool>> {
    let tokenizer = read_json(&folder.join("tokenizer.json"))?.unwrap_or_default();
    let added = tokenizer.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    let of = |token: &Value| {
        let special = token.get("special").and_then(Value::as_bool).unwrap_or(true);
        Some((token.get("id")?.as_u64()?, special))
    };
    Ok(added.filter_map(of).collect())
}

type Written = std::result::Result<(), String>;

fn byte_pairs(
    metadata: &mut Metadata,
    tokenizer: &Tokenizer<'_>,
    special: &HashMap<u64, bool>,
) -> Written {
    let pre = match tokenizer.pattern() {
        Some((Pattern::Llama3, true)) => "llama-bpe",
        Some((Pattern::Gpt2, false)) => "gpt-2",
        Some((Pattern::SmolLm, false)) => "smollm",
        Some((pattern, ignores)) => {
            let whole = if ignores { "takes" } else { "does not take" };
            return Err(format!(
                "it cuts texts as {} and {whole} whole words before merges, which no `tokenizer.ggml.pre` does",
                pattern.name()
            ));
        }
        None => return Err("it is a SentencePiece model, which is not written yet".into()),
    };
    let (merges, tokens) = tokenizer.borrowed();
    let mut kinds = vec![NORMAL; tokens.len()];
    for id in tokenizer.added() {
        let is_special = special.get(&u64::from(*id)).copied().unwrap_or(true);
        let kind = usize::try_from(*id).ok().and_then(|id| kinds.get_mut(id));
        if let Some(kind) = kind {
            *kind = if is_special { CONTROL } else { USER_DEFINED };
        }
    }
    metadata.text("tokenizer.ggml.model", "gpt2");
    metadata.text("tokenizer.ggml.pre", pre);
    let tokens = tokens.into_iter().map(<[u8]>::to_vec).collect();
    metadata.add("tokenizer.ggml.tokens", OwnValue::Texts(tokens));
    metadata.add("tokenizer.ggml.token_type", OwnValue::I32s(kinds));
    let merges = merges.iter().map(|(left, right)| format!("{left} {right}").into_bytes());
    metadata.add("tokenizer.ggml.merges", OwnValue::Texts(merges.collect()));
    Ok(())
}

/// The tokens around texts, and those that end one.
fn ends(metadata: &mut Metadata, tokenizer: &Tokenizer<'_>) -> Written {
    const END_KEYS: [&str; 3] = [
        "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id",
    ];
    let ends = tokenizer.ends();
    let ids = ends.end.ids();
    if ids.len() > END_KEYS.len() {
        return Err(format!("{} tokens end its texts, for which there are three keys", ids.len()));
    }
    if ends.append.is_some() && ends.append != ids.first().copied() {
        return Err("the token behind its texts is not the first of those that end one".into());
    }
    metadata.id("tokenizer.ggml.bos_token_id", tokenizer.begin());
    for (key, id) in END_KEYS.into_iter().zip(ids) {
        metadata.id(key, Some(*id));
    }
    metadata.add("tokenizer.ggml.add_bos_token", OwnValue::Bool(ends.begin.is_some()));
    metadata.add("tokenizer.ggml.add_eos_token", OwnValue::Bool(ends.append.is_some()));
    Ok(())
}
