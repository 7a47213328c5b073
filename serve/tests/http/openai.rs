//! The interface of OpenAI.

use nanoembed::{Encoder, Prefix};
use serde_json::{Value, json};

use crate::client::{BERT, bert, floats, path, start, start_with};

/// Models with prompts.
const PROMPTED: &str = "ffi/tests/data/default_prompt.weights";

fn vectors(answer: &Value) -> Vec<Vec<f32>> {
    let data = answer["data"].as_array().unwrap();
    for (at, item) in data.iter().enumerate() {
        assert_eq!((&item["object"], &item["index"]), (&json!("embedding"), &json!(at)));
    }
    data.iter().map(|item| floats(&item["embedding"])).collect()
}

#[test]
fn texts_are_embedded_as_by_the_library() {
    let (server, encoder) = (start(), bert());
    let texts = ["a cat on a mat", "", "the price of oil \u{1f600}"];
    let answer = server.ok("/v1/embeddings", &json!({"input": texts, "model": "small_bert"}));
    let expected: Vec<_> = texts.iter().map(|text| encoder.embed(text).unwrap()).collect();
    assert_eq!(vectors(&answer), expected);
    assert_eq!(answer["object"], "list");
    assert_eq!(answer["model"], "small_bert");
    let tokens: usize = texts.iter().map(|text| encoder.tokenize(text).unwrap().ids.len()).sum();
    assert_eq!(answer["usage"], json!({"prompt_tokens": tokens, "total_tokens": tokens}));
    let one = server.ok("/v1/embeddings", &json!({"input": texts[0], "user": "somebody"}));
    assert_eq!(vectors(&one), &expected[..1]);
}

#[test]
fn token_ids_are_embedded_as_their_text() {
    let (server, encoder) = (start(), bert());
    let ids: Vec<Vec<u32>> =
        ["a cat", "a dog"].iter().map(|text| encoder.tokenize(text).unwrap().ids).collect();
    let expected = [encoder.embed("a cat").unwrap(), encoder.embed("a dog").unwrap()];
    assert_eq!(vectors(&server.ok("/v1/embeddings", &json!({"input": ids}))), expected);
    assert_eq!(vectors(&server.ok("/v1/embeddings", &json!({"input": ids[0]}))), &expected[..1]);
}

#[test]
fn base64_has_the_same_bits() {
    let (server, encoder) = (start(), bert());
    let body = json!({"input": "a cat", "encoding_format": "base64"});
    let answer = server.ok("/v1/embeddings", &body);
    let text = answer["data"][0]["embedding"].as_str().unwrap();
    let digit = |c: char| match c {
        'A'..='Z' => c as u32 - 65,
        'a'..='z' => c as u32 - 97 + 26,
        '0'..='9' => c as u32 - 48 + 52,
        '+' => 62,
        _ => 63,
    };
    let bits: Vec<bool> = text
        .trim_end_matches('=')
        .chars()
        .flat_map(|c| (0..6).rev().map(move |bit| digit(c) >> bit & 1 == 1))
        .collect();
    let byte = |bits: &[bool]| bits.iter().fold(0, |sum, bit| sum << 1 | u8::from(*bit));
    let bytes: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
    let floats: Vec<f32> =
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    assert_eq!(floats, encoder.embed("a cat").unwrap());
}

#[test]
fn shortened_vectors_have_length_1() {
    let server = start();
    let short = Encoder::options().truncate_dim(5).normalize(true).open(path(BERT)).unwrap();
    let answer = server.ok("/v1/embeddings", &json!({"input": "a cat", "dimensions": 5}));
    assert_eq!(vectors(&answer), [short.embed("a cat").unwrap()]);
}

#[test]
fn long_texts_are_cut_only_if_that_is_asked_for() {
    let (server, encoder) = (start(), bert());
    let long = "cat ".repeat(1000);
    let (count, most) = (encoder.count_tokens(&long).unwrap(), encoder.max_tokens());
    let refused = server.post("/v1/embeddings", &json!({"input": ["a", long]}).to_string());
    assert_eq!(refused.status, 400);
    let error = &refused.json()["error"];
    let message = error["message"].as_str().unwrap();
    let start = format!("`input`: text 1 has {count} tokens, and small_bert takes {most}:");
    assert!(message.starts_with(&start), "{message}");
    assert_eq!(error["param"], "input");
    assert_eq!(error["code"], "context_length_exceeded");
    let cut = server.ok("/v1/embeddings", &json!({"input": long, "truncate": true}));
    assert_eq!(vectors(&cut), [encoder.embed(&long).unwrap()]);
    assert_eq!(cut["usage"]["total_tokens"], most);
}

#[test]
fn roles_choose_the_models_prompts() {
    let server = start_with(&[PROMPTED, "tests/data/models/embeddinggemma"], Default::default());
    let prompted = Encoder::open(path("tests/data/models/embeddinggemma")).unwrap();
    let ask = |more: Value| {
        let mut body = json!({"input": "a cat", "model": "embeddinggemma"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        vectors(&server.ok("/v1/embeddings", &body)).remove(0)
    };
    assert_eq!(ask(json!({"input_type": "search_query"})), prompted.embed_query("a cat").unwrap());
    assert_eq!(ask(json!({"input_type": "query"})), prompted.embed_query("a cat").unwrap());
    let documents = prompted.embed_documents(&["a cat"]).unwrap();
    assert_eq!(ask(json!({"input_type": "passage"})), documents.row(0).unwrap());
    let named = prompted.with_prompt(Prefix::Named("query".into())).unwrap();
    assert_eq!(ask(json!({"prompt_name": "query"})), named.embed("a cat").unwrap());
    assert_ne!(ask(json!({})), prompted.embed_query("a cat").unwrap());
    // A default prompt stands before every text.
    let usual = Encoder::open(path(PROMPTED)).unwrap();
    let answer = server.ok("/v1/embeddings", &json!({"input": "a cat"}));
    assert_eq!(vectors(&answer), [usual.embed("a cat").unwrap()]);
}

#[test]
fn errors_have_their_shape() {
    let server = start();
    let (input, dimensions) = (Some("input"), Some("dimensions"));
    for (body, message, param) in [
        ("", "the body of the request: EOF", None),
        ("{", "the body of the request: EOF", None),
        ("{}", "the body of the request: missing field `input`", None),
        (r#"{"input": 5}"#, "the body of the request: invalid type", None),
        (r#"{"input": "\ud800"}"#, "the body of the request: ", None),
        (r#"{"input": "a", "foo": 1}"#, "the body of the request: unknown field `foo`", None),
        (r#"{"input": "a", "encoding_format": "hex"}"#, "the body of the request: unknown v", None),
        (r#"{"input": "a", "input_type": "code"}"#, "the body of the request: unknown v", None),
        (r#"{"input": []}"#, "`input` is empty", input),
        (r#"{"input": [[]]}"#, "`input` has no token ids for text 0", input),
        (r#"{"input": [4000000]}"#, "`input` has the token id 4000000", input),
        (r#"{"input": [1], "prompt_name": "x"}"#, "`input` has token ids", input),
        (r#"{"input": "a", "dimensions": 0}"#, "`dimensions` 0 is out of range", dimensions),
        (r#"{"input": "a", "dimensions": 9999}"#, "`dimensions` 9999 is out of range", dimensions),
        (r#"{"input": "a", "prompt_name": "x"}"#, "the model has no prompt", None),
        (
            r#"{"input": "a", "model": "x"}"#,
            "there is no model `x`; this server has small_bert, cross_encoder",
            Some("model"),
        ),
        (
            r#"{"input": "a", "model": "cross_encoder"}"#,
            "the model `cross_encoder` does not embed texts",
            Some("model"),
        ),
    ] {
        let answer = server.post("/v1/embeddings", body);
        let (status, code) = match param {
            Some("model") => (404, json!("model_not_found")),
            _ => (400, Value::Null),
        };
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        let error = &answer.json()["error"];
        let found = error["message"].as_str().unwrap();
        assert!(found.starts_with(message), "{body}: {found}");
        assert_eq!(error["type"], "invalid_request_error");
        assert_eq!((&error["param"], &error["code"]), (&json!(param), &code), "{body}");
    }
    assert_eq!(server.get("/v1/nothing").status, 404);
    assert_eq!(server.get("/v1/embeddings").status, 405);
}

#[test]
fn models_are_listed() {
    let models = start().get("/v1/models").json();
    let names: Vec<&Value> =
        models["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(names, ["small_bert", "cross_encoder"]);
}
