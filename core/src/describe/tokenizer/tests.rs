//! Descriptions are unchanged after they have been written and read.

extern crate std;

use std::string::ToString as _;

use super::{Json, Layout, read};
use crate::token::spec::{
    AddedTokenSpecs, BertSpec, PostProcessor, SpecialToken, SpelledText, TemplateItem,
    TemplatePart, TokenizerSpec,
};

/// Writes a description, reads that, and writes it again.
fn written(spec: &TokenizerSpec<'_>) {
    let text = Json(spec).to_string();
    let again = read(text.as_bytes(), 0, Layout::Apart).unwrap_or_else(|it| panic!("{it}: {text}"));
    assert_eq!(Json(&again).to_string(), text);
    assert_eq!(again.post_processor, spec.post_processor);
    assert_eq!(again.truncation, spec.truncation);
}

fn token(id: u32, name: &str) -> SpecialToken<'_> {
    SpecialToken { id, name: SpelledText::plain(name) }
}

fn bert() -> TokenizerSpec<'static> {
    let spec = BertSpec {
        added: AddedTokenSpecs::Listed(&[]),
        splits_ideographs: true,
        strips_accents: None,
        lowercases: true,
        begin: token(1, "[CLS]"),
        end: token(2, "[SEP]"),
        unknown: SpelledText::plain("[UNK]"),
        tokens: 7,
    };
    spec.into()
}

#[test]
fn a_description_is_read_as_it_is_written() {
    let text = Json(&bert()).to_string();
    let expected = concat!(
        r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"#,
        r#""normalizer":{"type":"BertNormalizer","clean_text":true,"#,
        r#""handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"#,
        r#""pre_tokenizer":{"type":"BertPreTokenizer"},"#,
        r#""post_processor":{"type":"TemplateProcessing","#,
        r#""single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},"#,
        r#"{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],"#,
        r#""pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},"#,
        r#"{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}},"#,
        r#"{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"[SEP]","type_id":1}}],"#,
        r#""special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"#,
        r#""[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}}},"#,
        r###""decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"###,
        r###""model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","###,
        r#""max_input_chars_per_word":100,"vocab":{"ids":7,"count":7}}}"#,
    );
    assert_eq!(text, expected);
    written(&bert());
    written(&TokenizerSpec { truncation: Some(512), decoder: None, ..bert() });
    written(&TokenizerSpec { post_processor: PostProcessor::default(), ..bert() });
    let alone = PostProcessor::around(None, Some(token(2, "a\"\\\n")), false);
    written(&TokenizerSpec { post_processor: alone, ..bert() });
}

#[test]
fn tokens_of_one_name_are_told_apart() {
    let mut post = PostProcessor::around(Some(token(1, "x")), Some(token(2, "x")), false);
    let text = Json(&TokenizerSpec { post_processor: post.clone(), ..bert() }).to_string();
    let again = read(text.as_bytes(), 0, Layout::Apart).unwrap().post_processor;
    let ids = |post: &PostProcessor<'_>, template: &[TemplateItem]| {
        let ids = template.iter().map(|item| post.token(item.part).map(|token| token.id));
        ids.collect::<std::vec::Vec<_>>()
    };
    assert_eq!(ids(&again, &again.single), [Some(1), None, Some(2)]);
    // A template without a token is invalid.
    post.single.push(TemplateItem { part: TemplatePart::Special(9), kind: 0 }).unwrap();
    let mut text = std::string::String::new();
    let spec = TokenizerSpec { post_processor: post, ..bert() };
    assert!(core::fmt::write(&mut text, format_args!("{}", Json(&spec))).is_err());
}
