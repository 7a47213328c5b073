//! The JSON lexer against `serde_json`, on valid, invalid and cut texts.

use nanoembed_core::error::{Error, ErrorKind};
use nanoembed_core::text::json::{JsonTokens, LexemeKind, Lexer, MAX_DEPTH, chars, number_f64};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// The value of the tokens: this independent check builds the tree that the lexer does not build.
fn parse(text: &[u8]) -> Result<Value, Error> {
    let mut tokens = JsonTokens::new(text, 0);
    let value = value(&mut tokens)?;
    match tokens.next() {
        None => Ok(value.expect("a value")),
        Some(Err(error)) => Err(error),
        Some(Ok(token)) => panic!("{token:?} after the end"),
    }
}

/// `None` for the end of an array or object.
fn value(tokens: &mut JsonTokens<'_>) -> Result<Option<Value>, Error> {
    let token = tokens.next().expect("a token or an error")?;
    Ok(Some(match token.kind {
        LexemeKind::Null => Value::Null,
        LexemeKind::Bool(value) => Value::Bool(value),
        LexemeKind::String => Value::String(chars(token.spelling).collect()),
        LexemeKind::Number => match number_f64(token.spelling) {
            Some(_) => serde_json::from_str(token.spelling).unwrap(),
            None => Value::from("beyond f64"),
        },
        LexemeKind::BeginArray => {
            let mut items = Vec::new();
            while let Some(item) = value(tokens)? {
                items.push(item);
            }
            Value::Array(items)
        }
        LexemeKind::BeginObject => {
            let mut members = Map::new();
            loop {
                let key = tokens.next().expect("a token or an error")?;
                if key.kind == LexemeKind::EndObject {
                    break;
                }
                assert_eq!(key.kind, LexemeKind::Key);
                let member = value(tokens)?.expect("a value after a key");
                members.insert(chars(key.spelling).collect(), member);
            }
            Value::Object(members)
        }
        LexemeKind::EndArray | LexemeKind::EndObject => return Ok(None),
        LexemeKind::Key => panic!("a key where a value should be"),
    }))
}

fn compare(text: &[u8]) {
    let ours = parse(text);
    match serde_json::from_slice::<Value>(text) {
        Ok(theirs) => assert_eq!(ours.as_ref(), Ok(&theirs), "{}", String::from_utf8_lossy(text)),
        Err(error) if error.to_string().contains("number out of range") => {}
        Err(error) => assert!(ours.is_err(), "{error}: {:?}", String::from_utf8_lossy(text)),
    }
}

#[test]
fn texts_at_the_edges_are_judged_as_serde_json_does() {
    let texts: &[&[u8]] = &[
        b"",
        b" ",
        b"{}",
        b"[]",
        b"{",
        b"[",
        b"}",
        b"]",
        b"null",
        b"nul",
        b"nulll",
        b"true",
        b"false ",
        b"truE",
        b"0",
        b"-0",
        b"-",
        b"01",
        b"1.",
        b".1",
        b"1.5",
        b"1e",
        b"1e+",
        b"1E-7",
        b"1e5 ",
        b"1e400",
        b"--1",
        b"+1",
        b"1 2",
        b"[1,]",
        b"[,1]",
        b"[1 2]",
        b"[1,2]",
        b"{\"a\"}",
        b"{\"a\":}",
        b"{\"a\":1,}",
        b"{,}",
        b"{1:2}",
        b"{\"a\":1 \"b\":2}",
        b"{\"a\"::1}",
        b"{\"a\":[1,{\"b\":null}]}",
        b"[}",
        b"{]",
        b"[1}",
        b"{\"a\":1]",
        b"\"\"",
        b"\"a",
        b"\"\\",
        b"\"\\x\"",
        b"\"\\u12\"",
        b"\"\\u12g4\"",
        b"\"\\u00e9\"",
        b"\"\\ud83d\\ude00\"",
        b"\"\\ud83d\"",
        b"\"\\ude00\"",
        b"\"\\ud83d\\u0041\"",
        b"\"\\ud83dx\"",
        b"\"\\ud83d\\n\"",
        b"\"\n\"",
        b"\"\x00\"",
        b"\"\x1f\"",
        b"\"\x7f\"",
        b"\"\xc3\xa9\"",
        b"\"\xc3\"",
        b"\"\xc3x\"",
        b"\"\xc0\x80\"",
        b"\"\xe0\x9f\xbf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf0\x8f\xbf\xbf\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xf4\x8f\xbf\xbf\"",
        b"\"\xff\"",
        b"\xef\xbb\xbf{}",
        b"{}\x00",
        b"{} x",
        b"/**/{}",
        b"'a'",
        b"NaN",
        b"Infinity",
        b"\xa0[]",
        b"{\"a\":1,\"a\":2}",
        b"[[[[]]]]",
        b"[0.1e+1]",
        b"[18446744073709551615,-9223372036854775808]",
    ];
    for text in texts {
        compare(text);
    }
}

#[test]
fn nesting_is_followed_as_deep_as_serde_json_does() {
    for depth in [1, 126, 127, 128, 129, 1000] {
        compare(&[vec![b'['; depth], vec![b']'; depth]].concat());
        let objects = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        compare(objects.as_bytes());
    }
    let bomb = vec![b'['; 1 << 20];
    let error = parse(&bomb).unwrap_err();
    assert_eq!(error, Error::new(MAX_DEPTH.into(), ErrorKind::TooDeep));
}

/// All lexemes and the final error, fed in pieces of `sizes` bytes.
fn fed(text: &[u8], size: usize) -> (Vec<(LexemeKind, u64, u64)>, Option<Error>) {
    let mut lexer = Lexer::new(0);
    let mut found = Vec::new();
    for chunk in text.chunks(size) {
        let mut rest = chunk;
        while !rest.is_empty() {
            match lexer.next(rest) {
                Ok((used, lexeme)) => {
                    assert!(used > 0 || lexeme.is_some());
                    rest = &rest[used..];
                    found.extend(lexeme.map(|lexeme| (lexeme.kind, lexeme.start, lexeme.end)));
                }
                Err(error) => {
                    assert_eq!(lexer.next(b" "), Err(error), "an error stays");
                    return (found, Some(error));
                }
            }
        }
    }
    match lexer.finish() {
        Ok(lexeme) => {
            found.extend(lexeme.map(|lexeme| (lexeme.kind, lexeme.start, lexeme.end)));
            (found, None)
        }
        Err(error) => (found, Some(error)),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn values_that_serde_json_writes_are_read_alike(value in any_value(), pretty: bool) {
        let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        compare(&text.unwrap());
    }

    #[test]
    fn texts_with_a_wrong_byte_are_judged_alike(value in any_value(), at: prop::sample::Index, byte: u8) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        compare(&text);
        compare(&text[..at]);
    }

    #[test]
    fn bytes_of_json_letters_are_judged_alike(text in "[\\[\\]{}:,\"\\\\utrefalsn0-9.eE+ -]{0,24}") {
        compare(text.as_bytes());
    }

    #[test]
    fn cuts_do_not_matter(value in any_value(), at: prop::sample::Index, byte: u8, size in 1..9_usize) {
        let mut text = serde_json::to_vec_pretty(&value).unwrap();
        let whole = fed(&text, text.len());
        prop_assert_eq!(&whole, &fed(&text, size));
        let at = at.index(text.len());
        text[at] = byte;
        prop_assert_eq!(fed(&text, text.len()), fed(&text, size));
    }
}
