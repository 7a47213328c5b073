//! Every step of tokenizers with every option, combined at random and compared with Hugging Face
//! `tokenizers`.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nanoembed_core::describe::{
    self,
    tokenizer::{Json, Layout},
};
use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::token::bpe::Pattern;
use nanoembed_tests::made_up_texts::Texts;
use serde_json::{Value, json};
use tokenizers::{NormalizedString, Normalizer, Tokenizer};

/// The characters of vocabularies, so that ids distinguish texts.
fn characters() -> BTreeSet<char> {
    let mut characters: BTreeSet<char> = ('\0'..'\u{3400}').collect();
    characters.extend("\u{ac00}".chars());
    for text in Texts::new(0).fixed() {
        characters.extend(text.chars());
        characters.extend(text.to_lowercase().chars());
        characters.extend(text.to_uppercase().chars());
    }
    characters
}

/// A model whose ids reveal the characters of a text and where it was split.
fn spelling_model() -> Value {
    let mut vocabulary = serde_json::Map::new();
    vocabulary.insert("[UNK]".into(), json!(0));
    for c in characters() {
        for token in [c.to_string(), format!("##{c}")] {
            let id = vocabulary.len();
            vocabulary.insert(token, json!(id));
        }
    }
    json!({
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 1_000_000_000, "vocab": vocabulary,
    })
}

fn charsmap() -> Value {
    let albert = include_str!("../data/models/albert/tokenizer.json");
    let albert: Value = serde_json::from_str(albert).expect("JSON");
    let steps = albert["normalizer"]["normalizers"].as_array().expect("steps");
    steps.iter().find(|step| step["type"] == "Precompiled").expect("a charsmap").clone()
}

fn normalizers() -> Vec<Value> {
    let mut steps = vec![charsmap()];
    for kind in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"] {
        steps.push(json!({"type": kind}));
    }
    for bits in 0..16 {
        let bit = |at: u32| bits >> at & 1 == 1;
        let strip = if bit(1) { json!(bit(2)) } else { Value::Null };
        steps.push(json!({
            "type": "BertNormalizer", "clean_text": bit(0), "handle_chinese_chars": bit(1),
            "strip_accents": strip, "lowercase": bit(3),
        }));
    }
    for (left, right) in [(true, true), (true, false), (false, true), (false, false)] {
        steps.push(json!({"type": "Strip", "strip_left": left, "strip_right": right}));
    }
    for (pattern, content) in [
        (json!({"String": " "}), "▁"),
        (json!({"String": "a"}), ""),
        (json!({"String": "``"}), "\""),
        (json!({"Regex": " {2,}"}), " "),
        (json!({"Regex": "\\s+"}), " "),
        (json!({"Regex": "\\p{L}{2,3}"}), "xy"),
        (json!({"Regex": "\\p{N}"}), "0"),
        (json!({"Regex": "\\n"}), ""),
        (json!({"String": "\u{301}"}), "é"),
    ] {
        steps.push(json!({"type": "Replace", "pattern": pattern, "content": content}));
    }
    for prefix in ["▁", "ab"] {
        steps.push(json!({"type": "Prepend", "prepend": prefix}));
    }
    steps
}

const BEHAVIORS: [&str; 5] =
    ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"];

fn pre_tokenizers() -> Vec<Value> {
    let mut steps = Vec::new();
    for kind in ["BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation"] {
        steps.push(json!({"type": kind}));
    }
    for scheme in ["first", "always", "never"] {
        for split in [true, false] {
            steps.push(json!({
                "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split,
            }));
        }
    }
    steps.push(json!({"type": "Metaspace", "replacement": "_", "add_prefix_space": true}));
    for bits in 0..4 {
        steps.push(json!({
            "type": "ByteLevel", "add_prefix_space": bits & 1 == 1, "trim_offsets": true,
            "use_regex": bits & 2 == 2,
        }));
    }
    steps.push(json!({"type": "Digits", "individual_digits": true}));
    steps.push(json!({"type": "Digits", "individual_digits": false}));
    steps.push(json!({"type": "CharDelimiterSplit", "delimiter": "e"}));
    for behavior in BEHAVIORS {
        steps.push(json!({"type": "Punctuation", "behavior": behavior}));
        for pattern in [
            json!({"String": " "}),
            json!({"String": "e"}),
            json!({"Regex": "\\s+"}),
            json!({"Regex": "\\p{N}{1,3}"}),
            json!({"Regex": "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"}),
            json!({"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}),
            json!({"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}),
            json!({"Regex": Pattern::O200k.expression()}),
            json!({"Regex": Pattern::Tekken.expression()}),
            json!({"Regex": Pattern::Qwen35.expression()}),
        ] {
            for invert in [false, true] {
                steps.push(json!({
                    "type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert,
                }));
            }
        }
    }
    steps
}

fn decoders() -> Vec<Value> {
    vec![
        json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
        json!({"type": "WordPiece", "prefix": "##", "cleanup": false}),
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}),
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}),
        json!({"type": "Strip", "content": "e", "start": 2, "stop": 1}),
        json!({"type": "BPEDecoder", "suffix": "</w>"}),
    ]
}

/// Tokens inside and outside a model's vocabulary, with random rules.
fn added_tokens(texts: &mut Texts) -> Vec<Value> {
    const CONTENTS: [&str; 16] = [
        "[CLS]", "<mask>", "the", "The", "é", "  ", "\n\n", "<s>", "models", "mod", "don't", "▁",
        "日", "[Q] ", "x", "STRASSE",
    ];
    let mut contents: Vec<&str> = CONTENTS.to_vec();
    let mut tokens = Vec::new();
    for _ in 0..texts.below(8) {
        let content = contents.swap_remove(texts.below(contents.len()));
        let mut flag = || texts.below(3) == 0;
        tokens.push(json!({
            "id": 0, "content": content, "single_word": flag(), "lstrip": flag(),
            "rstrip": flag(), "normalized": flag(), "special": flag(),
        }));
    }
    tokens
}

fn some(texts: &mut Texts, of: &[Value], most: usize, name: &str) -> Value {
    let count = texts.below(most + 1);
    let mut steps: Vec<Value> = (0..count).map(|_| of[texts.below(of.len())].clone()).collect();
    let kind = json!("Sequence");
    match steps.len() {
        0 => Value::Null,
        1 => steps.remove(0),
        _ => json!({"type": kind, name: steps}),
    }
}

/// Compares both on one text. Texts on which `tokenizers` panics are skipped.
fn check(ours: &Pipeline, theirs: &Tokenizer, text: &str, session: &mut PipelineSession) -> bool {
    let encode = AssertUnwindSafe(|| theirs.encode(text, true).map(|it| it.get_ids().to_vec()));
    let Ok(wanted) = catch_unwind(encode) else { return false };
    let special = match theirs.get_encode_special_tokens() {
        true => SpecialTokens::AsText,
        false => SpecialTokens::AsTokens,
    };
    let found = ours.encode(text, usize::MAX, special, session).map(|it| it.ids);
    assert_eq!(found.as_ref().ok(), wanted.as_ref().ok(), "{text:?}\n{}", ours.settings());
    let ids = found.unwrap_or_default();
    for skip in [true, false] {
        let decode = AssertUnwindSafe(|| theirs.decode(&ids, skip));
        if let Ok(wanted) = catch_unwind(decode) {
            let found = ours.decode(&ids, skip).ok();
            assert_eq!(found, wanted.ok(), "{text:?}: {ids:?}\n{}", ours.settings());
        }
    }
    true
}

/// Returns true if normalisation makes added tokens equal, so that `tokenizers` picks one of them
/// unpredictably, or makes one empty, which is rejected here.
fn has_odd_tokens(tokenizer: &Tokenizer) -> bool {
    let tokens = tokenizer.get_added_tokens_decoder();
    let normalized = tokens.values().filter(|token| token.normalized).map(|token| {
        let mut content = NormalizedString::from(token.content.as_str());
        if let Some(normalizer) = tokenizer.get_normalizer() {
            normalizer.normalize(&mut content).expect("a normaliser");
        }
        content.get().to_owned()
    });
    let normalized: Vec<String> = normalized.collect();
    let distinct: BTreeSet<&String> = normalized.iter().collect();
    distinct.len() < normalized.len() || normalized.iter().any(String::is_empty)
}

/// Compares tokenizers with `model` and steps at random on texts; `None` of the steps are left out.
/// The text that is written of what a text describes.
fn written(json: &str) -> String {
    let spec = describe::tokenizer::read(json.as_bytes(), 0, Layout::Whole);
    Json(&spec.unwrap_or_else(|fault| panic!("{fault}"))).to_string()
}

fn check_many(
    seed: u64,
    tokenizers: usize,
    texts_each: usize,
    model: impl Fn(&mut Texts) -> Value,
) {
    // Panics of `tokenizers` are expected.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.location().is_none_or(|place| !place.file().contains("tokenizers")) {
            hook(panic);
        }
    }));
    let (normalizers, pre_tokenizers, decoders) = (normalizers(), pre_tokenizers(), decoders());
    let mut texts = Texts::new(seed);
    let (mut compared, mut all) = (0, 0);
    for number in 0..tokenizers {
        let json = json!({
            "version": "1.0",
            "added_tokens": added_tokens(&mut texts),
            "normalizer": some(&mut texts, &normalizers, 3, "normalizers"),
            "pre_tokenizer": some(&mut texts, &pre_tokenizers, 3, "pretokenizers"),
            "decoder": some(&mut texts, &decoders, 3, "decoders"),
            "model": model(&mut texts),
        })
        .to_string();
        // `tokenizers` rejects tokens that normalisation makes equal, and panics on some that it
        // makes longer.
        let parse = || json.parse::<Tokenizer>();
        let Ok(Ok(mut theirs)) = catch_unwind(parse) else { continue };
        if has_odd_tokens(&theirs) {
            continue;
        }
        // Every other tokenizer is read, written and read again.
        let json = if number % 2 == 0 { json } else { written(&json) };
        let ours = Pipeline::read(&json).unwrap_or_else(|fault| panic!("{fault}"));
        theirs.set_encode_special_tokens(texts.below(4) == 0);
        let mut session = PipelineSession::default();
        for _ in 0..texts_each {
            let text = texts.make();
            all += 1;
            compared += usize::from(check(&ours, &theirs, &text, &mut session));
        }
    }
    assert!(compared > all * 9 / 10 && all > 100, "{compared} of {all} texts");
}

#[test]
fn steps_in_any_order_are_those_of_tokenizers() {
    let model = spelling_model();
    check_many(3, 60, 12, |_| model.clone());
}

/// A vocabulary of characters, bytes and pairs, with merges and random options.
fn bpe(texts: &mut Texts) -> Value {
    let mut flag = |one_of: usize| texts.below(one_of) == 0;
    let (prefix, suffix) = (if flag(3) { "##" } else { "" }, if flag(3) { "</w>" } else { "" });
    let has_bytes = flag(2);
    let unknown = if flag(2) { json!("<unk>") } else { Value::Null };
    let options = [flag(2), flag(2), flag(2)];
    let mut vocabulary = serde_json::Map::new();
    let mut add = |token: String| {
        let id = vocabulary.len();
        vocabulary.entry(token).or_insert(json!(id));
    };
    add("<unk>".into());
    if has_bytes {
        (0..=255_u8).for_each(|byte| add(format!("<0x{byte:02X}>")));
    }
    let letters = ["a", "b", "e", "o", "é", "м", "日", " ", "▁", "Ġ", "1", "t", "h"];
    let mut merges = Vec::new();
    for first in letters {
        add(first.into());
        add(format!("{prefix}{first}"));
        add(format!("{first}{suffix}"));
        add(format!("{prefix}{first}{suffix}"));
    }
    for _ in 0..40 {
        let (first, second) = (letters[texts.below(13)], letters[texts.below(13)]);
        add(format!("{first}{second}"));
        merges.push(json!([first, format!("{prefix}{second}")]));
        let third = letters[texts.below(13)];
        add(format!("{first}{second}{third}"));
        merges.push(json!([format!("{first}{second}"), format!("{prefix}{third}")]));
        add(format!("{first}{second}{suffix}"));
        merges.push(json!([first, format!("{prefix}{second}{suffix}")]));
    }
    if prefix.is_empty() && texts.below(2) == 0 {
        let line = |pair: &Value| {
            let part = |at: usize| pair[at].as_str().expect("a token").to_owned();
            let (left, right) = (part(0), part(1));
            (!left.contains(' ') && !right.contains(' ')).then(|| json!(format!("{left} {right}")))
        };
        merges =
            [json!("#version: 0.2")].into_iter().chain(merges.iter().filter_map(line)).collect();
    }
    let affix = |affix: &str| if affix.is_empty() { Value::Null } else { json!(affix) };
    json!({
        "type": "BPE", "dropout": null, "unk_token": unknown,
        "continuing_subword_prefix": affix(prefix), "end_of_word_suffix": affix(suffix),
        "fuse_unk": options[0], "byte_fallback": options[1], "ignore_merges": options[2],
        "vocab": vocabulary, "merges": merges,
    })
}

#[test]
fn byte_pairs_with_all_options_are_those_of_tokenizers() {
    check_many(4, 120, 12, bpe);
}

/// Pieces with scores, some equal, and random options.
fn unigram(texts: &mut Texts) -> Value {
    let mut pieces = vec![json!(["<unk>", 0.0])];
    if texts.below(2) == 0 {
        pieces.extend((0..=255_u8).map(|byte| json!([format!("<0x{byte:02X}>"), 0.0])));
    }
    let letters = ["a", "b", "e", "o", "é", "м", "日", " ", "▁", "▁t", "1", "t", "h"];
    for _ in 0..120 {
        let length = texts.below(4) + 1;
        let piece: String = (0..length).map(|_| letters[texts.below(13)]).collect();
        let score = -(f64::from(u32::try_from(texts.below(40)).expect("few")) / 7.0);
        // The same piece may occur twice: the last one counts.
        pieces.push(json!([piece, score]));
    }
    let unknown = if texts.below(5) == 0 { Value::Null } else { json!(0) };
    json!({"type": "Unigram", "unk_id": unknown, "byte_fallback": texts.below(2) == 0, "vocab": pieces})
}

#[test]
fn unigrams_with_all_options_are_those_of_tokenizers() {
    check_many(5, 120, 12, unigram);
}
