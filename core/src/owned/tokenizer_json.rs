//! The settings of a tokenizer as a `tokenizer.json` spells them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// `text` as a string of JSON.
pub(in crate::owned) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Writing to a string never fails.
            '\0'..='\x1f' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A token that is found in texts as it is spelled.
pub(in crate::owned) struct Added<'t> {
    pub(in crate::owned) id: u32,
    pub(in crate::owned) content: &'t str,
    pub(in crate::owned) is_special: bool,
    /// Whether it is looked for in normalised text.
    pub(in crate::owned) is_normalized: bool,
    pub(in crate::owned) strips_before: bool,
}

impl Added<'_> {
    fn json(&self) -> String {
        let Self { id, is_special, is_normalized, strips_before, .. } = self;
        let content = quoted(self.content);
        format!(
            r#"{{"id":{id},"content":{content},"single_word":false,"lstrip":{strips_before},"rstrip":false,"normalized":{is_normalized},"special":{is_special}}}"#
        )
    }
}

/// The tokens around texts and between pairs of them, with their ids.
#[derive(Clone, Copy, Default)]
pub(in crate::owned) struct Ends<'t> {
    pub(in crate::owned) begin: Option<(u32, &'t str)>,
    pub(in crate::owned) end: Option<(u32, &'t str)>,
    /// Whether the second text of a pair, and what is behind it, are of another type.
    pub(in crate::owned) has_types: bool,
}

impl Ends<'_> {
    fn json(&self) -> String {
        let Self { begin, end, has_types } = *self;
        let second = u8::from(has_types);
        let special = |token: Option<(u32, &str)>, kind: u8| {
            let (_, name) = token?;
            Some(format!(r#"{{"SpecialToken":{{"id":{},"type_id":{kind}}}}}"#, quoted(name)))
        };
        let text =
            |name, kind: u8| Some(format!(r#"{{"Sequence":{{"id":"{name}","type_id":{kind}}}}}"#));
        let first = [special(begin, 0), text("A", 0), special(end, 0)];
        // A separator stands alone in models that tell texts apart by types, twice in others.
        let middle = if has_types { None } else { special(end, 0) };
        let last = [middle, text("B", second), special(end, second)];
        let join = |items: &[Option<String>]| {
            items.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(",")
        };
        let named = |token: Option<(u32, &str)>| {
            let (id, name) = token?;
            let name = quoted(name);
            Some(format!(r#"{name}:{{"id":{name},"ids":[{id}],"tokens":[{name}]}}"#))
        };
        let is_same = begin == end;
        let tokens = [named(begin), named(end).filter(|_| !is_same)];
        format!(
            r#"{{"type":"TemplateProcessing","single":[{single}],"pair":[{single},{last}],"special_tokens":{{{tokens}}}}}"#,
            single = join(&first),
            last = join(&last),
            tokens = join(&tokens),
        )
    }
}

/// The whole, whose vocabulary lies elsewhere. Steps are spelled as JSON.
pub(in crate::owned) struct Settings<'t> {
    pub(in crate::owned) added: Vec<Added<'t>>,
    pub(in crate::owned) normalizer: String,
    pub(in crate::owned) pre_tokenizer: String,
    pub(in crate::owned) ends: Ends<'t>,
    /// The members of the model but for its vocabulary.
    pub(in crate::owned) model: String,
    pub(in crate::owned) decoder: &'static str,
    pub(in crate::owned) tokens: usize,
}

impl Settings<'_> {
    pub(in crate::owned) fn json(&self) -> String {
        let Self { normalizer, pre_tokenizer, model, decoder, tokens, .. } = self;
        let added: Vec<String> = self.added.iter().map(Added::json).collect();
        format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{added}],"normalizer":{normalizer},"pre_tokenizer":{pre_tokenizer},"post_processor":{post},"decoder":{decoder},"model":{{{model},"vocab":{{"ids":{tokens},"count":{tokens}}}}}}}"#,
            added = added.join(","),
            post = self.ends.json(),
        )
    }
}

/// WordPiece as BERT has it.
pub(in crate::owned) struct WordPieces<'t> {
    pub(in crate::owned) added: Vec<Added<'t>>,
    pub(in crate::owned) splits_chinese: bool,
    /// As `lowercase` if it is not said.
    pub(in crate::owned) strips_accents: Option<bool>,
    pub(in crate::owned) lowercase: bool,
    pub(in crate::owned) begin: (u32, &'t str),
    pub(in crate::owned) end: (u32, &'t str),
    pub(in crate::owned) unknown: &'t str,
    pub(in crate::owned) tokens: usize,
}

/// Its settings.
pub(in crate::owned) fn word_pieces(pieces: WordPieces<'_>) -> String {
    let WordPieces { splits_chinese, lowercase, begin, end, unknown, tokens, .. } = pieces;
    let strips = pieces.strips_accents.unwrap_or(lowercase);
    Settings {
        added: pieces.added,
        normalizer: format!(
            r#"{{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":{splits_chinese},"strip_accents":{strips},"lowercase":{lowercase}}}"#
        ),
        pre_tokenizer: r#"{"type":"BertPreTokenizer"}"#.into(),
        ends: Ends { begin: Some(begin), end: Some(end), has_types: true },
        model: format!(
            r###""type":"WordPiece","unk_token":{},"continuing_subword_prefix":"##","max_input_chars_per_word":100"###,
            quoted(unknown)
        ),
        decoder: r###"{"type":"WordPiece","prefix":"##","cleanup":true}"###,
        tokens,
    }
    .json()
}
