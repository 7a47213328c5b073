//! Tokenizers described by `tokenizer.json`.

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use serde_json::{Map, Value};

use crate::data;

/// The number of tokens and merges of a real vocabulary in a seed.
const TOKENS: usize = 60;

/// A valid tokenizer returns ids in its vocabulary, as many as requested, and the same ones with
/// reused memory; and decodes them. An invalid one is rejected at an offset.
///
/// The input is the JSON, FF, and the text.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn pipeline(input: &[u8]) {
    let at = input.iter().position(|byte| *byte == 0xFF).unwrap_or(input.len());
    let (json, text) = input.split_at(at);
    let Ok(json) = std::str::from_utf8(json) else { return };
    let tokenizer = match Pipeline::read(json) {
        Ok(tokenizer) => tokenizer,
        Err(fault) => {
            let at = fault.error.offset();
            assert!(at.is_none_or(|at| at <= json.len() as u64), "{fault}");
            return;
        }
    };
    let text = String::from_utf8_lossy(text.get(1..).unwrap_or_default());
    let mut session = PipelineSession::default();
    let special = [SpecialTokens::AsTokens, SpecialTokens::AsText];
    for (special, most) in special.into_iter().flat_map(|it| [usize::MAX, 0, 1, 7].map(|n| (it, n)))
    {
        let found = tokenizer.encode(&text, most, special, &mut session);
        let again = tokenizer.encode(&text, most, special, &mut PipelineSession::default());
        assert_eq!(found, again, "memory that was used before");
        let Ok(found) = found else { continue };
        assert!(found.ids.len() <= most && found.ids.iter().all(|id| *id < tokenizer.count()));
        assert_eq!(found.truncated, found.ids.len() < found.total);
        for skip in [false, true] {
            let read = tokenizer.decode(&found.ids, skip);
            assert!(read.is_ok() || found.ids.len() > 1, "{read:?}");
        }
    }
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    for most in [usize::MAX, 2, 9] {
        match tokenizer.encode_pair(&text[..half], &text[half..], most, &mut session) {
            Ok(pair) => {
                assert!(pair.ids.len() <= most && pair.ids.len() == pair.types.len());
            }
            Err(error) => assert_ne!(error.kind(), ErrorKind::UnsupportedSetting),
        }
    }
}

/// The tokenizers of the test models with the first of their tokens, each with a text.
pub(super) fn pipeline_seeds() -> Vec<(String, Vec<u8>)> {
    let text = "Hello, w\u{f6}rld!  \u{65e5}\u{672c} <s>[MASK] 1234 don't\tA\u{301}\u{1F600}";
    let text = [&[0xFF], text.as_bytes()].concat();
    let small = |name: &&str| {
        let json = data::read(&format!("models/{name}/tokenizer.json"));
        let mut json = serde_json::from_slice(&json).expect("JSON");
        shorten(&mut json);
        (name.to_string(), [json.to_string().as_bytes(), &text].concat())
    };
    ["bert_cased", "bert_max_pool", "roberta", "modernbert_mean", "mpnet", "xlmr_e5", "albert"]
        .iter()
        .chain(&["t5_encoder", "deberta_v2", "embeddinggemma", "qwen3_embedding"])
        .map(small)
        .collect()
}

/// Removes most tokens of a tokenizer, the results of their merges, and the one table of similar
/// length.
fn shorten(json: &mut Value) {
    let added = json["added_tokens"].as_array().cloned().unwrap_or_default();
    let is_added = |token: &str| added.iter().any(|it| it["content"] == token);
    let model = &mut json["model"];
    match &mut model["vocab"] {
        Value::Object(tokens) => {
            let mut all: Vec<(String, Value)> = core::mem::take(tokens).into_iter().collect();
            all.sort_by_key(|(_, id)| id.as_u64());
            let (first, rest) = all.split_at(TOKENS.min(all.len()));
            let rest = rest.iter().filter(|(token, _)| is_added(token));
            *tokens = Map::from_iter(first.iter().chain(rest).cloned());
        }
        Value::Array(tokens) => {
            let (mut first, rest) = (tokens.clone(), tokens.split_off(TOKENS.min(tokens.len())));
            first.truncate(TOKENS);
            first.extend(rest.into_iter().filter(|it| it[0].as_str().is_some_and(is_added)));
            *tokens = first;
        }
        _ => {}
    }
    let known = model["vocab"].clone();
    if let Some(merges) = model["merges"].as_array_mut() {
        merges.retain(|merge| {
            let parts: Vec<&str> = match merge {
                Value::String(merge) => merge.split(' ').collect(),
                other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
            };
            known.get(parts.concat()).is_some() && parts.iter().all(|it| known.get(it).is_some())
        });
    }
    use_first_token(&mut json["post_processor"]);
    if let Some(steps) = json.pointer_mut("/normalizer/normalizers").and_then(Value::as_array_mut) {
        steps.retain(|step| step["type"] != "Precompiled");
    } else if json["normalizer"]["type"] == "Precompiled" {
        json["normalizer"] = Value::Null;
    }
}

/// Uses the first token as special token, since others may have been removed.
fn use_first_token(step: &mut Value) {
    match step {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| match value {
            Value::Array(ids) if name == "ids" => *ids = vec![Value::from(0)],
            value => use_first_token(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(use_first_token),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_tokenizer_that_finds_tokens() {
        for (name, seed) in pipeline_seeds() {
            assert!(seed.len() < 16 << 10, "{name}: {}", seed.len());
            let at = seed.iter().position(|byte| *byte == 0xFF).expect("FF");
            let json = std::str::from_utf8(&seed[..at]).expect("UTF-8");
            let tokenizer = Pipeline::read(json).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let text = std::str::from_utf8(&seed[at + 1..]).expect("UTF-8");
            let mut session = PipelineSession::default();
            let found = tokenizer.encode(text, usize::MAX, SpecialTokens::AsTokens, &mut session);
            assert!(found.expect("tokens").ids.len() > 5, "{name}");
        }
    }
}
