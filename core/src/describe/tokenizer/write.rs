//! Writes a [`TokenizerSpec`] as the text of a `tokenizer.json`.

use core::fmt::{self, Display, Formatter};

use super::model::{LOWER_CASE, STOP_WORDS, WORDS};
use crate::text::base64;
use crate::text::json::{Comma, Quoted};
use crate::token::bpe::split::EXPRESSIONS;
use crate::token::spec::{
    AddedTokenSpec, Behavior, BpeSpec, Decoder, Form, MergesSpec, Metaspace, Model, ModelKind,
    Normalizer, PRE_TOKENIZER, Pattern, PostProcessor, PreTokenizer, Replace, Rules, SpelledStep,
    SplitAt, Template, TemplatePart, TokenizerSpec, VocabularySpec,
};

/// Displays the `tokenizer.json` of a description. Separate vocabularies and merges are written as
/// [`Layout::Apart`](super::Layout::Apart) expects them.
#[derive(Clone, Copy, Debug)]
pub struct Json<'s, 'a>(pub &'s TokenizerSpec<'a>);

impl Display for Json<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let spec = self.0;
        f.write_str(r#"{"version":"1.0","truncation":"#)?;
        match spec.truncation {
            None => f.write_str("null")?,
            Some(most) => write!(
                f,
                r#"{{"direction":"Right","max_length":{most},"strategy":"LongestFirst","stride":0}}"#
            )?,
        }
        f.write_str(r#","padding":null,"added_tokens":["#)?;
        let mut comma = Comma::default();
        for token in spec.added.iter().flatten() {
            comma.write(f)?;
            added(&token, f)?;
        }
        f.write_str(r#"],"normalizer":"#)?;
        steps("normalizers", &spec.normalizer, &normalizer, f)?;
        write!(f, r#","{PRE_TOKENIZER}":"#)?;
        steps("pretokenizers", &spec.pre_tokenizer, &pre_tokenizer, f)?;
        f.write_str(r#","post_processor":"#)?;
        post_processor(&spec.post_processor, f)?;
        f.write_str(r#","decoder":"#)?;
        match &spec.decoder {
            None => f.write_str("null")?,
            Some(all) if all.is_empty() => f.write_str(r#"{"type":"Sequence","decoders":[]}"#)?,
            Some(all) => steps("decoders", all, &decoder, f)?,
        }
        f.write_str(r#","model":"#)?;
        model(&spec.model, f)?;
        f.write_str("}")
    }
}

fn added(token: &AddedTokenSpec<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let AddedTokenSpec { id, content, rules, normalized, special, .. } = token;
    write!(
        f,
        r#"{{"id":{id},"content":{},"single_word":{},"lstrip":{},"rstrip":{},"normalized":{normalized},"special":{special}}}"#,
        Quoted(*content),
        rules.single_word,
        rules.strips_before,
        rules.strips_after,
    )
}

/// Steps: none, one, or a sequence under `name`.
fn steps<S: Copy>(
    name: &str,
    all: &[SpelledStep<'_, S>],
    write: &dyn Fn(S, &mut Formatter<'_>) -> fmt::Result,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    match all {
        [] => f.write_str("null"),
        [step] => write(step.does, f),
        all => {
            write!(f, r#"{{"type":"Sequence","{name}":["#)?;
            let mut comma = Comma::default();
            for step in all {
                comma.write(f)?;
                write(step.does, f)?;
            }
            f.write_str("]}")
        }
    }
}

/// A step without settings.
fn plain(kind: &str, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, r#"{{"type":"{kind}"}}"#)
}

fn normalizer(step: Normalizer<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    match step {
        Normalizer::Bert { cleans_text, splits_ideographs, strips_accents, lowercases } => {
            write!(
                f,
                r#"{{"type":"BertNormalizer","clean_text":{cleans_text},"handle_chinese_chars":{splits_ideographs},"strip_accents":"#
            )?;
            match strips_accents {
                None => f.write_str("null")?,
                Some(strips) => write!(f, "{strips}")?,
            }
            write!(f, r#","lowercase":{lowercases}}}"#)
        }
        Normalizer::Form(form) => plain(
            match form {
                Form::Nfc => "NFC",
                Form::Nfd => "NFD",
                Form::Nfkc => "NFKC",
                Form::Nfkd => "NFKD",
            },
            f,
        ),
        Normalizer::Lowercase => plain("Lowercase", f),
        Normalizer::StripAccents => plain("StripAccents", f),
        Normalizer::Strip { left, right } => {
            write!(f, r#"{{"type":"Strip","strip_left":{left},"strip_right":{right}}}"#)
        }
        Normalizer::Replace(it) => replace(it, f),
        Normalizer::Prepend(text) => {
            write!(f, r#"{{"type":"Prepend","prepend":{}}}"#, Quoted(text))
        }
        Normalizer::Precompiled(rules) => {
            f.write_str(r#"{"type":"Precompiled","precompiled_charsmap":"#)?;
            match rules {
                Rules::Base64(text) => write!(f, "{}}}", Quoted(text)),
                Rules::Bytes(bytes) => {
                    f.write_str("\"")?;
                    base64::encode(bytes, f)?;
                    f.write_str("\"}")
                }
            }
        }
        Normalizer::Nmt => plain("Nmt", f),
        Normalizer::ByteLevel => plain("ByteLevel", f),
    }
}

fn pattern(pattern: Pattern<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    match pattern {
        Pattern::Text(text) => write!(f, r#"{{"String":{}}}"#, Quoted(text)),
        Pattern::Run(run) => {
            write!(f, r#"{{"Regex":{}}}"#, Quoted(run))
        }
    }
}

fn replace(replace: Replace<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(r#"{"type":"Replace","pattern":"#)?;
    pattern(replace.pattern, f)?;
    write!(f, r#","content":{}}}"#, Quoted(replace.content))
}

fn metaspace(metaspace: Metaspace, f: &mut Formatter<'_>) -> fmt::Result {
    let Metaspace { replacement, prepends, splits } = metaspace;
    write!(
        f,
        r#"{{"type":"Metaspace","replacement":{},"prepend_scheme":"{}","split":{splits}}}"#,
        Quoted(replacement),
        prepends.name()
    )
}

fn byte_level(adds_space: bool, splits: bool, f: &mut Formatter<'_>) -> fmt::Result {
    write!(
        f,
        r#"{{"type":"ByteLevel","add_prefix_space":{adds_space},"trim_offsets":true,"use_regex":{splits}}}"#
    )
}

fn pre_tokenizer(step: PreTokenizer<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    match step {
        PreTokenizer::Bert => plain("BertPreTokenizer", f),
        PreTokenizer::Whitespace => plain("Whitespace", f),
        PreTokenizer::WhitespaceSplit => plain("WhitespaceSplit", f),
        PreTokenizer::Metaspace(it) => metaspace(it, f),
        PreTokenizer::ByteLevel { adds_space, splits } => byte_level(adds_space, splits, f),
        PreTokenizer::Split { at, behavior, inverted } => {
            f.write_str(r#"{"type":"Split","pattern":"#)?;
            match at {
                SplitAt::Pattern(it) => pattern(it, f)?,
                SplitAt::Words(words) => {
                    let known = EXPRESSIONS.iter().find(|(_, known)| *known == words);
                    let (regex, _) = known.ok_or(fmt::Error)?;
                    write!(f, r#"{{"Regex":{}}}"#, Quoted(regex))?;
                }
            }
            write!(f, r#","behavior":"{}","invert":{inverted}}}"#, behavior.name())
        }
        PreTokenizer::Digits { alone } => {
            write!(f, r#"{{"type":"Digits","individual_digits":{alone}}}"#)
        }
        PreTokenizer::Punctuation(behavior) => {
            let name = Behavior::name(behavior);
            write!(f, r#"{{"type":"Punctuation","behavior":"{name}"}}"#)
        }
        PreTokenizer::Delimiter(c) => {
            write!(f, r#"{{"type":"CharDelimiterSplit","delimiter":{}}}"#, Quoted(c))
        }
    }
}

fn post_processor(post: &PostProcessor<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    if *post == PostProcessor::default() {
        return f.write_str("null");
    }
    f.write_str(r#"{"type":"TemplateProcessing","single":"#)?;
    template(post, &post.single, f)?;
    f.write_str(r#","pair":"#)?;
    template(post, &post.pair, f)?;
    f.write_str(r#","special_tokens":{"#)?;
    let mut comma = Comma::default();
    for (place, token) in post.special.iter().enumerate() {
        comma.write(f)?;
        let name = TokenName { post, place };
        write!(f, r#"{name}:{{"id":{name},"ids":[{}],"tokens":[{name}]}}"#, token.id)?;
    }
    f.write_str("}}")
}

/// The name of a token in a template. Further tokens with the same name in a file are distinguished
/// by their ids.
struct TokenName<'s, 'a> {
    post: &'s PostProcessor<'a>,
    place: usize,
}

impl Display for TokenName<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut before = self.post.special.iter().take(self.place);
        let token = self.post.special.get(self.place).ok_or(fmt::Error)?;
        if !before.any(|other| other.name == token.name) {
            return write!(f, "{}", Quoted(token.name));
        }
        write!(f, "{}", Quoted(format_args!("{} {}", token.name, token.id)))
    }
}

fn template(post: &PostProcessor<'_>, template: &Template, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    let mut comma = Comma::default();
    for item in template {
        comma.write(f)?;
        match item.part {
            TemplatePart::First => f.write_str(r#"{"Sequence":{"id":"A""#)?,
            TemplatePart::Second => f.write_str(r#"{"Sequence":{"id":"B""#)?,
            TemplatePart::Special(place) => {
                let name = TokenName { post, place: place.into() };
                write!(f, r#"{{"SpecialToken":{{"id":{name}"#)?;
            }
        }
        write!(f, r#","type_id":{}}}}}"#, item.kind)?;
    }
    f.write_str("]")
}

fn decoder(step: Decoder<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    match step {
        Decoder::WordPiece { prefix, cleans } => {
            let prefix = Quoted(prefix);
            write!(f, r#"{{"type":"WordPiece","prefix":{prefix},"cleanup":{cleans}}}"#)
        }
        Decoder::Metaspace(it) => metaspace(it, f),
        Decoder::ByteLevel => byte_level(true, true, f),
        Decoder::ByteFallback => plain("ByteFallback", f),
        Decoder::Fuse => plain("Fuse", f),
        Decoder::Replace(it) => replace(it, f),
        Decoder::Strip { content, start, stop } => {
            let content = Quoted(content);
            write!(f, r#"{{"type":"Strip","content":{content},"start":{start},"stop":{stop}}}"#)
        }
        Decoder::Bpe { suffix } => {
            write!(f, r#"{{"type":"BPEDecoder","suffix":{}}}"#, Quoted(suffix))
        }
    }
}

fn model(model: &Model<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    match &model.kind {
        ModelKind::WordPiece(it) => write!(
            f,
            r#"{{"type":"WordPiece","unk_token":{},"continuing_subword_prefix":{},"max_input_chars_per_word":{}"#,
            Quoted(it.unknown),
            Quoted(it.prefix),
            it.most_characters
        )?,
        ModelKind::Bpe(it) => bpe(it, f)?,
        ModelKind::Unigram(it) => {
            f.write_str(r#"{"type":"Unigram","unk_id":"#)?;
            match it.unknown {
                None => f.write_str("null")?,
                Some(id) => write!(f, "{id}")?,
            }
            write!(f, r#","byte_fallback":{}"#, it.byte_fallback)?;
        }
        ModelKind::Words(it) => write!(
            f,
            r#"{{"type":"{WORDS}","{STOP_WORDS}":{},"{LOWER_CASE}":{}"#,
            it.stop_words.spelling(),
            it.lowercases
        )?,
    }
    match model.vocabulary {
        VocabularySpec::Ids(value) | VocabularySpec::Scores(value) => {
            write!(f, r#","vocab":{}}}"#, value.spelling())
        }
        VocabularySpec::Apart { ids, count } => {
            write!(f, r#","vocab":{{"ids":{ids},"count":{count}}}}}"#)
        }
    }
}

fn bpe(bpe: &BpeSpec<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(r#"{"type":"BPE","dropout":null,"unk_token":"#)?;
    match bpe.unknown {
        None => f.write_str("null")?,
        Some(unknown) => write!(f, "{}", Quoted(unknown))?,
    }
    for (name, affix) in
        [("continuing_subword_prefix", bpe.prefix), ("end_of_word_suffix", bpe.suffix)]
    {
        match affix.is_empty() {
            true => write!(f, r#","{name}":null"#)?,
            false => write!(f, r#","{name}":{}"#, Quoted(affix))?,
        }
    }
    write!(
        f,
        r#","fuse_unk":{},"byte_fallback":{},"ignore_merges":{},"merges":"#,
        bpe.fuses_unknown, bpe.byte_fallback, bpe.ignores_merges
    )?;
    match bpe.merges {
        MergesSpec::Listed(list) => f.write_str(list.spelling()),
        MergesSpec::Apart(count) => write!(f, "{count}"),
    }
}
