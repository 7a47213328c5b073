//! The interface of Ollama.

use nanoembed::Encoder;
use serde_json::json;

use crate::client::{BERT, bert, floats, path, start};

#[test]
fn vectors_have_length_1_and_texts_are_cut() {
    let server = start();
    let encoder = Encoder::options().normalize(true).open(path(BERT)).unwrap();
    let long = "cat ".repeat(1000);
    let body = json!({"model": "small_bert:latest", "input": ["a cat", long], "keep_alive": "5m"});
    let answer = server.ok("/api/embed", &body);
    let vectors: Vec<_> = answer["embeddings"].as_array().unwrap().iter().map(floats).collect();
    assert_eq!(vectors, [encoder.embed("a cat").unwrap(), encoder.embed(&long).unwrap()]);
    let tokens = encoder.tokenize("a cat").unwrap().ids.len() + encoder.max_tokens();
    assert_eq!(answer["prompt_eval_count"], tokens);
    let short = encoder.with_truncate_dim(4).unwrap();
    let body = json!({"model": "small_bert", "input": "a cat", "dimensions": 4});
    let answer = server.ok("/api/embed", &body);
    assert_eq!(floats(&answer["embeddings"][0]), short.embed("a cat").unwrap());
    let body = json!({"model": "small_bert", "input": long, "truncate": false});
    let refused = server.post("/api/embed", &body.to_string());
    assert_eq!(refused.status, 400);
    assert!(refused.json()["error"].as_str().unwrap().contains("tokens, and small_bert takes"));
}

#[test]
fn without_a_text_there_is_no_vector() {
    let server = start();
    for input in [json!(""), json!([])] {
        let answer = server.ok("/api/embed", &json!({"model": "small_bert", "input": input}));
        assert_eq!(answer["embeddings"], json!([]));
    }
    let answer = server.ok("/api/embeddings", &json!({"model": "small_bert", "prompt": ""}));
    assert_eq!(answer["embedding"], json!([]));
}

#[test]
fn the_older_endpoint_has_the_models_own_vector() {
    let answer = start().ok("/api/embeddings", &json!({"model": "small_bert", "prompt": "a cat"}));
    assert_eq!(floats(&answer["embedding"]), bert().embed("a cat").unwrap());
}

#[test]
fn options_are_refused_by_name() {
    let server = start();
    let body = json!({"model": "small_bert", "input": "a", "options": {"num_ctx": 8}});
    let refused = server.post("/api/embed", &body.to_string());
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"], "`options` has `num_ctx`, which is not known");
    server.ok("/api/embed", &json!({"model": "small_bert", "input": "a", "options": {}}));
}

#[test]
fn models_are_described() {
    let server = start();
    let tags = server.get("/api/tags").json();
    assert_eq!(tags["models"][0]["model"], "small_bert:latest");
    let shown = server.ok("/api/show", &json!({"model": "small_bert"}));
    assert_eq!(shown["model_info"]["nanoembed.embedding_length"], bert().dimensions());
    assert_eq!(shown["capabilities"], json!(["embedding"]));
    assert_eq!(server.get("/api/version").json()["version"], env!("CARGO_PKG_VERSION"));
    let missing = server.post("/api/show", r#"{"model": "x"}"#);
    assert_eq!((missing.status, missing.json()["error"].is_string()), (404, true));
}
