//! The ids in a folder's JSON files.

use nanoembed_core::error::Result;
use nanoembed_core::limit;
use nanoembed_core::text::json::{LexemeKind, Value, chars};

/// A number that is the id of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'t> {
    pub(super) value: Value<'t>,
    pub(super) id: u32,
}

impl<'t> Place<'t> {
    /// `value`, if it is an id.
    fn from_value(value: Value<'t>) -> Option<Self> {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok())?;
        Some(Self { value, id })
    }
}

/// The ids in a `tokenizer.json` but for its vocabulary. The ids of added tokens are what `id_of`
/// says, which is what counts, whatever stands there.
pub(super) fn in_tokenizer<'t>(
    file: Value<'t>,
    id_of: &dyn Fn(&str) -> Option<u32>,
) -> Result<Vec<Place<'t>>> {
    let mut places = Vec::new();
    for token in file.member("added_tokens").iter().flat_map(Value::items) {
        let content = token.member("content").and_then(|content| content.as_text());
        let content = content.map(|content| limit::spelled(chars(content))).transpose()?;
        let id = content.and_then(|content| id_of(&content));
        let place = token.member("id").zip(id).map(|(value, id)| Place { value, id });
        limit::extend(&mut places, place)?;
    }
    let padding = file.member("padding").and_then(|padding| padding.member("pad_id"));
    let unknown = file.member("model").and_then(|model| model.member("unk_id"));
    limit::extend(&mut places, padding.into_iter().chain(unknown).filter_map(Place::from_value))?;
    if let Some(processor) = file.member("post_processor") {
        in_processor(processor, &mut places)?;
    }
    Ok(places)
}

/// Those of a post-processor, or of several in a row.
fn in_processor<'t>(processor: Value<'t>, places: &mut Vec<Place<'t>>) -> Result<()> {
    for step in processor.member("processors").iter().flat_map(Value::items) {
        in_processor(step, places)?;
    }
    for (_, token) in processor.member("special_tokens").iter().flat_map(Value::members) {
        let ids = token.member("ids");
        limit::extend(places, ids.iter().flat_map(Value::items).filter_map(Place::from_value))?;
    }
    for name in ["cls", "sep"] {
        let id = processor.member(name).and_then(|pair| pair.items().nth(1));
        limit::extend(places, id.and_then(Place::from_value))?;
    }
    Ok(())
}

/// The ids in a `config.json` or `generation_config.json`: one or several under each name that ends
/// with `_token_id`.
pub(super) fn in_config(config: Value<'_>) -> Result<Vec<Place<'_>>> {
    let mut places = Vec::new();
    each_member(config, &mut |name, value| match value.kind() {
        _ if !name.ends_with("_token_id") => Ok(()),
        LexemeKind::BeginArray => {
            limit::extend(&mut places, value.items().filter_map(Place::from_value))
        }
        _ => limit::extend(&mut places, Place::from_value(value)),
    })?;
    Ok(places)
}

/// The tokens that a `tokenizer_config.json` or `special_tokens_map.json` names by their spelling: one
/// or several under each name that ends with `_token` or `_tokens`.
pub(super) fn tokens_in_config(config: Value<'_>) -> Result<Vec<String>> {
    let mut tokens = Vec::new();
    let mut take = |value: Value<'_>| {
        let content = value.member("content").unwrap_or(value).as_text();
        let content = content.map(|content| limit::spelled(chars(content))).transpose()?;
        limit::extend(&mut tokens, content)
    };
    for (name, value) in config.members() {
        if !name.ends_with("_token") && !name.ends_with("_tokens") {
            continue;
        }
        take(value)?;
        value.items().try_for_each(&mut take)?;
        value.members().try_for_each(|(_, value)| take(value))?;
    }
    Ok(tokens)
}

/// The sizes of the vocabulary in a `config.json`.
pub(super) fn sizes_in_config(config: Value<'_>) -> Result<Vec<Value<'_>>> {
    let mut sizes = Vec::new();
    each_member(config, &mut |name, value| {
        let is_size = name == "vocab_size" && value.as_u64().is_some();
        limit::extend(&mut sizes, is_size.then_some(value))
    })?;
    Ok(sizes)
}

/// Calls `take` with the members of an object and of those in it.
fn each_member<'t>(
    object: Value<'t>,
    take: &mut dyn FnMut(&'t str, Value<'t>) -> Result<()>,
) -> Result<()> {
    for (name, value) in object.members() {
        take(name, value)?;
        each_member(value, take)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(places: &[Place<'_>]) -> Vec<u32> {
        places.iter().map(|place| place.id).collect()
    }

    #[test]
    fn ids_are_found_in_settings_and_in_what_they_hold() {
        let config = r#"{"pad_token_id": 1, "eos_token_id": [2, 3], "bos_token_id": null,
            "sep_token_id": -1, "image_tokens": 9, "text": {"cls_token_id": 4, "vocab_size": 8},
            "vocab_size": 10, "type_vocab_size": 2}"#;
        let config = Value::parse(config, 0).unwrap();
        assert_eq!(ids(&in_config(config).unwrap()), [1, 2, 3, 4]);
        let sizes = sizes_in_config(config).unwrap().into_iter().map(|size| size.as_u64());
        assert_eq!(sizes.collect::<Vec<_>>(), [Some(8), Some(10)]);
    }

    #[test]
    fn special_tokens_are_named_in_every_spelling() {
        let config = r#"{"mask_token": "<mask>", "pad_token": {"content": "\u003cpad>", "lstrip": true},
            "additional_special_tokens": ["<a>", {"content": "<b>"}], "cls_token": null,
            "extra_special_tokens": {"image": "<c>"}, "tokenizer_class": "X", "add_bos_token": true}"#;
        let tokens = tokens_in_config(Value::parse(config, 0).unwrap()).unwrap();
        for token in ["<mask>", "<pad>", "<a>", "<b>", "<c>"] {
            assert!(tokens.iter().any(|it| it == token), "{token}: {tokens:?}");
        }
        assert!(!tokens.iter().any(|it| it == "X"), "{tokens:?}");
    }

    #[test]
    fn added_tokens_have_the_ids_that_count() {
        let file = r#"{"added_tokens": [{"id": 0, "content": "\u003cs>"}],
            "padding": {"pad_id": 5, "pad_token": "<pad>"}, "model": {"unk_id": 6},
            "post_processor": {"type": "Sequence", "processors": [
                {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 3]},
                {"special_tokens": {"<s>": {"id": "<s>", "ids": [7, 8], "tokens": []}}}]}}"#;
        let file = Value::parse(file, 0).unwrap();
        let found = in_tokenizer(file, &|content| (content == "<s>").then_some(40)).unwrap();
        assert_eq!(ids(&found), [40, 5, 6, 3, 2, 7, 8]);
    }
}
