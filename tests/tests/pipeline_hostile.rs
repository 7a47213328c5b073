//! Deliberately invalid tokenizers, and texts that are meant to take long.

use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::made_up_texts::Texts;
use serde_json::{Value, json};

/// A small valid tokenizer.
fn whole() -> Value {
    json!({
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": null,
        "added_tokens": [{
            "id": 9, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "BPE", "unk_token": "a", "vocab": {"a": 0, "b": 1, "ab": 2, "abb": 3},
            "merges": [["a", "b"], ["ab", "b"]],
        },
    })
}

/// The tokenizer with another value at a path such as `/model/type`.
fn with(place: &str, value: Value) -> String {
    let mut json = whole();
    let (parent, name) = place.rsplit_once('/').expect("a place");
    match json.pointer_mut(parent).expect("a parent") {
        Value::Object(members) => drop(members.insert(name.into(), value)),
        Value::Array(items) => items[name.parse::<usize>().expect("an index")] = value,
        other => panic!("{other} has no members"),
    }
    json.to_string()
}

/// The error of reading, and the setting that it names.
fn refusal(json: &str) -> (Error, String) {
    let fault = Pipeline::read(json).map(|_| json).expect_err("it should be refused");
    let at = fault.error.offset().map(|offset| usize::try_from(offset).expect("an offset"));
    assert!(at.is_some_and(|at| at <= json.len()), "{fault} has no place: {json}");
    (fault.error, fault.key.into())
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    assert!(Pipeline::read(&whole().to_string()).is_ok());
    let kind = |name: &str| json!({"type": name});
    for (place, value, name) in [
        ("/version", json!("2.0"), "version"),
        ("/truncation/direction", json!("Left"), "direction"),
        ("/truncation/odd", json!(1), "odd"),
        ("/odd", json!(1), "odd"),
        ("/added_tokens/0/odd", json!(1), "odd"),
        ("/normalizer", kind("Odd"), "Odd"),
        ("/normalizer/normalizers/0", kind("Odd"), "Odd"),
        ("/normalizer/normalizers/0/odd", json!(true), "odd"),
        ("/normalizer", json!({"type": "Prepend", "prepend": ""}), "prepend"),
        ("/pre_tokenizer", kind("UnicodeScripts"), "UnicodeScripts"),
        ("/pre_tokenizer", kind("FixedLength"), "FixedLength"),
        ("/post_processor", kind("Odd"), "Odd"),
        ("/decoder", kind("CTC"), "CTC"),
        ("/model/type", json!("WordLevel"), "WordLevel"),
        ("/model/dropout", json!(0.1), "dropout"),
        ("/model/odd", json!(1), "odd"),
    ] {
        let (error, key) = refusal(&with(place, value));
        assert_eq!((error.kind(), &*key), (ErrorKind::UnsupportedSetting, name), "{place}");
    }
    let split = |regex: &str| json!({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": false});
    let replace =
        |regex: &str| json!({"type": "Replace", "pattern": {"Regex": regex}, "content": ""});
    for regex in ["\\d+", "(a+)+b", "[^a]", "a|b", "\\s*", ""] {
        assert_eq!(refusal(&with("/pre_tokenizer", split(regex))).1, "Regex", "{regex}");
        assert_eq!(refusal(&with("/normalizer", replace(regex))).1, "Regex", "{regex}");
    }
}

#[test]
fn what_contradicts_itself_is_refused_at_its_place() {
    let base64 = |bytes: &[u8]| {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digit = |bits: u32| char::from(DIGITS[bits as usize & 63]);
        let group = |group: &[u8]| {
            let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
            [18, 12, 6, 0].map(|shift| digit(bits >> shift))
        };
        bytes.chunks(3).flat_map(group).collect::<String>()
    };
    let charsmap = |bytes: &[u8]| {
        with("/normalizer", json!({"type": "Precompiled", "precompiled_charsmap": base64(bytes)}))
    };
    // A trie of 256 units with a link out of itself, and an empty one.
    let mut far = vec![0, 4, 0, 0];
    far.extend([0xFF; 1024]);
    far.extend([0; 4]);
    let long = [0xFF; 12];
    let texts = [
        (with("/model/vocab/c", json!(1)), ErrorKind::BadVocabulary),
        (with("/model/vocab/c", json!(4_000_000_000_u64)), ErrorKind::OverLimit),
        (with("/model/vocab/c", json!(u64::MAX)), ErrorKind::OverLimit),
        (with("/model/vocab/c", json!(-1)), ErrorKind::BadMetadata),
        (with("/model/vocab/c", json!("x")), ErrorKind::BadMetadata),
        (with("/model/vocab", json!(7)), ErrorKind::BadMetadata),
        (with("/model/merges/1", json!(["ab", "c"])), ErrorKind::BadVocabulary),
        (with("/model/merges/1", json!(["b", "b"])), ErrorKind::BadVocabulary),
        (with("/model/merges/1", json!("a b b")), ErrorKind::BadVocabulary),
        (with("/model/merges/1", json!(["a"])), ErrorKind::BadVocabulary),
        (with("/model/merges", json!({})), ErrorKind::BadMetadata),
        (with("/post_processor/special_tokens/<s>/ids", json!([99])), ErrorKind::BadMetadata),
        (with("/post_processor/special_tokens", json!({})), ErrorKind::MissingMetadata),
        (with("/post_processor/single/0/SpecialToken/type_id", json!(256)), ErrorKind::OverLimit),
        (with("/post_processor/single/1/Sequence/id", json!("B")), ErrorKind::UnsupportedSetting),
        (with("/added_tokens/0/content", json!("x".repeat(1025))), ErrorKind::OverLimit),
        (charsmap(&long), ErrorKind::BadField),
        (charsmap(&far), ErrorKind::OutOfBounds),
        (charsmap(&[0; 12]), ErrorKind::BadField),
        (
            with("/normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "%"})),
            ErrorKind::BadField,
        ),
    ];
    for (json, kind) in texts {
        assert_eq!(refusal(&json).0.kind(), kind, "{json}");
    }
    // Names that the JSON contains twice.
    let twice = whole().to_string().replace(r#""ab":2"#, r#""ab":2,"\u0061b":4"#);
    assert_eq!(refusal(&twice).0.kind(), ErrorKind::BadVocabulary);
}

#[test]
fn nesting_and_counts_are_bounded() {
    let deep = |depth: usize| {
        let mut steps = json!({"type": "NFC"});
        for _ in 0..depth {
            steps = json!({"type": "Sequence", "normalizers": [steps]});
        }
        with("/normalizer", steps)
    };
    assert!(Pipeline::read(&deep(60)).is_ok());
    assert_eq!(refusal(&deep(100)).0.kind(), ErrorKind::TooDeep);
    // Merges that form cycles are merges of longer and longer tokens: each of them is one step.
    let mut vocabulary = serde_json::Map::new();
    let mut merges = Vec::new();
    for length in 1..=300 {
        vocabulary.insert("a".repeat(length), json!(length - 1));
        let halves = (length / 2, length - length / 2);
        if length > 1 {
            merges.push(json!(["a".repeat(halves.0), "a".repeat(halves.1)]));
        }
    }
    merges.extend(merges.clone().into_iter().rev());
    let json =
        json!({"version": "1.0", "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}});
    let pipeline = Pipeline::read(&json.to_string()).expect("a tokenizer");
    let found = pipeline
        .encode(
            &"a".repeat(1 << 16),
            usize::MAX,
            SpecialTokens::AsTokens,
            &mut PipelineSession::default(),
        )
        .expect("ids");
    let length: usize = found.ids.iter().map(|id| *id as usize + 1).sum();
    assert_eq!(length, 1 << 16);
}

#[test]
fn a_text_that_grows_beyond_measure_is_refused() {
    let content = "x".repeat(1000);
    let replace = json!({"type": "Replace", "pattern": {"String": "a"}, "content": content});
    let pipeline = with("/normalizer", replace);
    let pipeline = Pipeline::read(&pipeline).expect("a tokenizer");
    let mut session = PipelineSession::default();
    let mut encode = |text: &str, most| {
        let found = pipeline.encode(text, most, SpecialTokens::AsTokens, &mut session);
        found.map(|found| found.ids.len()).map_err(|error| error.kind())
    };
    assert!(encode("a", usize::MAX).is_ok());
    assert_eq!(encode(&"a".repeat(100), usize::MAX), Err(ErrorKind::OverLimit));
    assert_eq!(encode("b", 0), Err(ErrorKind::InvalidArgument));
    assert_eq!(encode("b", 1), Ok(1));
}

/// Each step is within what one may make of a text; all together make 30⁷ bytes of a letter.
#[test]
fn what_all_steps_together_make_of_a_text_is_bounded_and_not_what_each_makes() {
    let encode = |steps: Vec<Value>, member: &str, text: &str| {
        let sequence = match member {
            "/normalizer" => json!({"type": "Sequence", "normalizers": steps}),
            _ => json!({"type": "Sequence", "pretokenizers": steps}),
        };
        let pipeline = with(member, sequence);
        let pipeline = Pipeline::read(&pipeline).expect("a tokenizer");
        let mut session = PipelineSession::default();
        let found = pipeline.encode(text, usize::MAX, SpecialTokens::AsTokens, &mut session);
        found.map(|found| found.ids.len()).map_err(|error| error.kind())
    };
    let replace = |by: &str| json!({"type": "Replace", "pattern": {"String": "a"}, "content": by});
    let thirty = replace(&"a".repeat(30));
    assert!(encode(vec![thirty.clone()], "/normalizer", "a").is_ok());
    assert!(encode(vec![thirty.clone(); 2], "/normalizer", "a").is_ok());
    for text in ["a", "aaaa", "b<s>a<s>a"] {
        let found = encode(vec![thirty.clone(); 7], "/normalizer", text);
        assert_eq!(found, Err(ErrorKind::OverLimit), "{text}");
    }
    // Intermediate growth counts, too.
    let mut there_and_back = vec![thirty.clone(); 7];
    there_and_back.push(replace(""));
    assert_eq!(encode(there_and_back, "/normalizer", "a"), Err(ErrorKind::OverLimit));
    // Parts of a text between added tokens share the limit.
    let phrase = replace(&"b".repeat(600));
    assert!(encode(vec![phrase.clone()], "/normalizer", "<s>a<s>").is_ok());
    let found = encode(vec![phrase], "/normalizer", &"<s>a".repeat(100));
    assert_eq!(found, Err(ErrorKind::OverLimit));
    // Bytes beyond ASCII double each time they are converted to GPT-2's alphabet.
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false});
    let found = encode(vec![level.clone(); 12], "/pre_tokenizer", "é");
    assert_eq!(found, Err(ErrorKind::OverLimit));
    // More steps than any tokenizer has are rejected when they are read.
    let many = json!({"type": "Sequence", "pretokenizers": vec![level; 17]});
    let (error, key) = refusal(&with("/pre_tokenizer", many));
    assert_eq!((error.kind(), &*key), (ErrorKind::OverLimit, "pretokenizers"));
}

#[test]
fn characters_that_become_much_by_the_usual_steps_are_within_the_bound() {
    let steps = |form: &str| {
        json!({"type": "Sequence", "normalizers": [
            {"type": form}, {"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"}
        ]})
    };
    for form in ["NFC", "NFD", "NFKC", "NFKD"] {
        let mut pipeline: Value = serde_json::from_str(&with("/normalizer", steps(form))).unwrap();
        pipeline["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
            {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
            {"type": "ByteLevel", "add_prefix_space": true, "use_regex": false}
        ]});
        let pipeline = pipeline.to_string();
        let pipeline = Pipeline::read(&pipeline).expect("a tokenizer");
        for c in ["\u{fdfa}", "\u{1f82}", "\u{3316}", "\u{ac01}", "\u{1d160}"] {
            let mut session = PipelineSession::default();
            let text = c.repeat(10_000);
            let found = pipeline.encode(&text, 4, SpecialTokens::AsTokens, &mut session);
            assert!(found.is_ok(), "{form} of {c:?}: {found:?}");
        }
    }
}

#[test]
fn what_a_decoder_makes_of_tokens_is_bounded() {
    let replace = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "a".repeat(30)});
    let decode = |steps: usize| {
        let decoders = json!({"type": "Sequence", "decoders": vec![replace.clone(); steps]});
        let pipeline = with("/decoder", decoders);
        let pipeline = Pipeline::read(&pipeline).expect("a tokenizer");
        let a = pipeline.id("a").expect("an id");
        pipeline.decode(&[a], false).map(|text| text.len()).map_err(|error| error.kind())
    };
    assert_eq!(decode(1), Ok(30));
    assert_eq!(decode(2), Ok(900));
    assert_eq!(decode(7), Err(ErrorKind::OverLimit));
}

#[test]
fn texts_of_a_megabyte_of_one_thing_are_read_through() {
    // Quadratic work would take hours.
    let folders = ["xlmr_e5", "cross_encoder", "modernbert_cls", "albert", "embeddinggemma"];
    for folder in folders {
        let path = format!("models/{folder}/tokenizer.json");
        let json = String::from_utf8(nanoembed_tests::data::read(&path)).expect("UTF-8");
        let pipeline = Pipeline::read(&json).expect("a tokenizer");
        let mut session = PipelineSession::default();
        for part in
            ["a", " ", "\u{301}", "<mask> ", "\u{94d}\u{915}", "🇩", "\u{1161}", " \n", "[MASK]"]
        {
            let text = part.repeat((1 << 20) / part.len());
            let found = pipeline.encode(&text, 64, SpecialTokens::AsTokens, &mut session);
            assert!(found.expect("ids").ids.len() <= 64);
        }
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let whole = whole().to_string();
    let mut random = Texts::new(11);
    for _ in 0..3000 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = b"0123456789-\"{}[],:ab"[random.below(20)],
                _ => bytes.truncate(at.max(1)),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(pipeline) = Pipeline::read(&text) {
            let mut session = PipelineSession::default();
            let _ = pipeline.encode("abba ab <s>", 4, SpecialTokens::AsTokens, &mut session);
            let _ = pipeline.encode_pair("abba", "ab", 4, &mut session);
            let _ = pipeline.decode(&[0, 1, 2, 3, 4, 5, u32::MAX], true);
        }
    }
}

#[test]
fn a_tokenizer_is_the_same_when_it_is_put_together_from_its_parts() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/data/models");
    let mut compared = 0;
    for folder in std::fs::read_dir(models).expect("models") {
        let path = folder.expect("a folder").path().join("tokenizer.json");
        let Ok(json) = std::fs::read_to_string(&path) else { continue };
        let whole = Pipeline::read(&json).expect("a tokenizer");
        let parts = whole.parts().expect("memory");
        assert!(parts.settings.len() < json.len(), "the vocabulary is not cut out");
        // A file may have the added tokens among the others.
        let mut tokens = parts.tokens.clone();
        tokens.extend(["", "[more]"]);
        let again =
            Pipeline::from_parts(parts.settings, &tokens, parts.scores.as_deref(), &parts.merges);
        let again = again.unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        assert_eq!((again.count(), again.unknown()), (whole.count(), whole.unknown()));
        for id in 0..whole.count() + 2 {
            let token = whole.token(id);
            assert_eq!(again.token(id), token);
            let token = token.map(|token| std::str::from_utf8(token).expect("UTF-8"));
            assert_eq!(token.and_then(|token| whole.id(token)), token.map(|_| id));
        }
        let (mut texts, mut session) = (Texts::new(12), PipelineSession::default());
        for _ in 0..50 {
            let text = texts.make();
            let mut ids = |pipeline: &Pipeline| {
                pipeline.encode(&text, 64, SpecialTokens::AsText, &mut session).expect("ids").ids
            };
            assert_eq!(ids(&again), ids(&whole));
        }
        compared += 1;
    }
    assert!(compared >= 23, "{compared} tokenizers");
}
