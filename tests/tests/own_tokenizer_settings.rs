//! Tokenizer settings in files of the project's own formats are an id, a boolean or a known word,
//! or are rejected at their offset.

use nanoembed_core::event::Mode;
use nanoembed_core::format::{amb, embd};
use nanoembed_core::source::tokenizer::TokenizerSource;
use nanoembed_core::source::{ModelSource, amb_text_ends, embd_text_ends};
use nanoembed_core::token::TextEnds;
use nanoembed_core::{Error, ErrorKind};

use ErrorKind::{BadMetadata, BadVocabulary, DuplicateName, UnsupportedTokenizer};

const TOKENS: [&[u8]; 3] = [b"a", b"b", b"c"];

/// The configuration of a file whose tokenizer has token 1 as beginning and 2 as end of texts.
fn amb_file(config: &str, special: [Option<u32>; 5]) -> Vec<u8> {
    let payload = amb::Payload::Bpe { merges: &[], tokens: &TOKENS };
    let plan = amb::AmbPlan {
        metadata: "{}",
        config,
        tokenizer: Some(amb::AmbTokenizerSpec { special, payload }),
        tensors: &[],
        checksum: false,
    };
    amb::AmbWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
}

fn amb_ends(members: &str, special: [Option<u32>; 5]) -> Result<TextEnds, Error> {
    let file = amb_file(&format!("{{{members}}}"), special);
    let amb = amb::Amb::parse(&file, Mode::Lenient).unwrap();
    amb_text_ends(&amb, &amb.tokenizer().unwrap())
}

const BOTH: [Option<u32>; 5] = [Some(1), Some(2), None, None, None];

#[test]
fn an_amb_file_says_what_is_put_around_texts() {
    let ends = |members: &str| {
        let ends = amb_ends(members, BOTH).unwrap();
        (ends.begin, ends.append, ends.end.ids().to_vec())
    };
    assert_eq!(ends(""), (None, None, vec![2]));
    assert_eq!(ends(r#""add_bos": null, "add_eos": false, "end_tokens": null"#), ends(""));
    let all = r#""add_bos": true, "add_eos": true, "end_tokens": [0, 2]"#;
    assert_eq!(ends(all), (Some(1), Some(2), vec![2, 0]));
}

#[test]
fn what_else_an_amb_file_says_is_refused_where_it_stands() {
    // After the header, the empty metadata and the first brace. Strings are after their quotes.
    const START: u64 = 28 + 2 + 1;
    for (members, at, kind) in [
        (r#""add_bos": "yes""#, 12, BadMetadata),
        (r#""add_bos": 1"#, 11, BadMetadata),
        (r#""add_eos": [true]"#, 11, BadMetadata),
        (r#""add_bos": true, "add_bos": false"#, 18, DuplicateName),
        (r#""end_tokens": 2"#, 14, BadVocabulary),
        (r#""end_tokens": [0, -1]"#, 18, BadVocabulary),
        (r#""end_tokens": [0, "b"]"#, 19, BadVocabulary),
        (r#""end_tokens": [0, 4294967296]"#, 18, BadVocabulary),
        (r#""end_tokens": [0, [1], 2]"#, 18, BadVocabulary),
        (r#""end_tokens": {"0": 1}"#, 14, BadVocabulary),
    ] {
        let error = amb_ends(members, BOTH).unwrap_err();
        assert_eq!(error, Error::new(START + at, kind), "{members}");
    }
    for member in ["add_bos", "add_eos"] {
        let error = amb_ends(&format!(r#""{member}": true"#), [None; 5]).unwrap_err();
        assert_eq!(
            error,
            Error::new(START + 11, BadVocabulary),
            "{member}: there is no such token"
        );
    }
}

fn amb_tokenizer(members: &str) -> Result<(), Error> {
    let file = amb_file(&format!(r#"{{"architecture": "llama", {members}}}"#), BOTH);
    match ModelSource::parse(&file)?.tokenizer()? {
        TokenizerSource::BytePairs(pairs) => pairs.each_added(|_| Ok(())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn words_of_an_amb_file_are_known_or_refused() {
    for members in [
        r#""pre_tokenizer": "gpt-2""#,
        r#""ignore_merges": false, "normalizer": null, "added_tokens": [0, 2]"#,
        r#""normalizer": "nfc", "added_tokens": []"#,
    ] {
        assert_eq!(amb_tokenizer(members), Ok(()), "{members}");
    }
    for (members, kind) in [
        (r#""pre_tokenizer": ["gpt-2"]"#, BadMetadata),
        (r#""pre_tokenizer": "unheard-of""#, UnsupportedTokenizer),
        (r#""ignore_merges": "perhaps""#, BadMetadata),
        (r#""ignore_merges": {}"#, BadMetadata),
        (r#""normalizer": "nfd""#, UnsupportedTokenizer),
        (r#""normalizer": "nfc", "normalizer": "nfd""#, DuplicateName),
        (r#""added_tokens": "0 2""#, BadVocabulary),
        (r#""added_tokens": [0, [2]]"#, BadVocabulary),
        (r#""added_tokens": [0], "added_tokens": [2]"#, DuplicateName),
    ] {
        assert_eq!(amb_tokenizer(members).map_err(|error| error.kind()), Err(kind), "{members}");
    }
}

fn weights_file(metadata: &[(&str, &str)]) -> Vec<u8> {
    let vocabulary = embd::EmbdVocabulary { tokens: &TOKENS, special: [0; 5] };
    let plan = embd::EmbdPlan {
        metadata,
        vocabulary: Some(vocabulary),
        tensors: &[],
        aligned: true,
        checksums: false,
    };
    embd::EmbdWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
}

fn weights_ends(metadata: &[(&str, &str)]) -> Result<TextEnds, Error> {
    let file = weights_file(metadata);
    embd_text_ends(&embd::Embd::parse(&file, Mode::Strict).unwrap())
}

#[test]
fn a_weights_file_says_what_is_put_around_texts() {
    let ends = |metadata: &[(&str, &str)]| {
        let ends = weights_ends(metadata).unwrap();
        (ends.begin, ends.append, ends.end.ids().to_vec())
    };
    let ids = [("bos_token_id", "1"), ("eos_token_id", "2")];
    assert_eq!(ends(&[]), (None, None, vec![]));
    assert_eq!(ends(&ids), (None, None, vec![2]));
    let more = [("add_bos", "true"), ("add_eos", "true"), ("end_tokens", "0 2")];
    assert_eq!(ends(&[&ids[..], &more].concat()), (Some(1), Some(2), vec![2, 0]));
}

#[test]
fn what_else_a_weights_file_says_is_refused() {
    for (key, value, kind) in [
        ("add_bos", "yes", BadMetadata),
        ("add_eos", "", BadMetadata),
        ("add_bos", "true", BadVocabulary),
        ("add_eos", "true", BadVocabulary),
        ("bos_token_id", "None", BadVocabulary),
        ("eos_token_id", "-1", BadVocabulary),
    ] {
        let error = weights_ends(&[("name", "of no meaning"), (key, value)]).unwrap_err();
        let file = weights_file(&[("name", "of no meaning"), (key, value)]);
        let at = file.windows(key.len()).position(|bytes| bytes == key.as_bytes()).unwrap();
        // The key is preceded by its length.
        assert_eq!(error, Error::new(at as u64 - 4, kind), "{key}: {value}");
    }
    for ids in ["0 b", "0,2", "[0]", "4294967296"] {
        assert_eq!(
            weights_ends(&[("end_tokens", ids)]).unwrap_err().kind(),
            BadVocabulary,
            "{ids}"
        );
    }
}
