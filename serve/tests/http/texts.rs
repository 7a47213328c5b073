//! The interface of text-embeddings-inference, but for rankings.

use nanoembed::Encoder;
use serde_json::json;

use crate::client::{BERT, bert, floats, path, start};

#[test]
fn vectors_have_length_1_unless_that_is_turned_off() {
    let server = start();
    let encoder = Encoder::options().normalize(true).open(path(BERT)).unwrap();
    let answer = server.ok("/embed", &json!({"inputs": ["a cat", "a dog"]}));
    assert_eq!(floats(&answer[1]), encoder.embed("a dog").unwrap());
    let answer = server.ok("/embed", &json!({"inputs": "a cat", "normalize": false}));
    assert_eq!(floats(&answer[0]), bert().embed("a cat").unwrap());
}

#[test]
fn long_texts_are_cut_only_if_that_is_asked_for() {
    let server = start();
    let long = "cat ".repeat(1000);
    let refused = server.post("/embed", &json!({"inputs": long}).to_string());
    assert_eq!((refused.status, &refused.json()["error_type"]), (413, &json!("Validation")));
    let cut = json!({"inputs": long, "truncate": true, "normalize": false});
    assert_eq!(floats(&server.ok("/embed", &cut)[0]), bert().embed(&long).unwrap());
    let left = json!({"inputs": long, "truncate": true, "truncation_direction": "Left"});
    assert_eq!(server.post("/embed", &left.to_string()).status, 422);
}

#[test]
fn tokens_are_those_that_are_embedded() {
    let (server, encoder) = (start(), bert());
    let answer = server.ok("/tokenize", &json!({"inputs": ["a cat", ""]}));
    for (tokens, text) in answer.as_array().unwrap().iter().zip(["a cat", ""]) {
        let expected: Vec<_> = encoder
            .tokenize(text)
            .unwrap()
            .ids
            .into_iter()
            .map(|id| json!({"id": id, "text": encoder.token(id)}))
            .collect();
        assert_eq!(tokens, &json!(expected));
    }
    let without = json!({"inputs": "a", "add_special_tokens": false});
    assert_eq!(server.post("/tokenize", &without.to_string()).status, 422);
}
