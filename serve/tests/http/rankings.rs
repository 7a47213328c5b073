//! Rankings.

use nanoembed::{Reranker, Score};
use serde_json::{Value, json};

use crate::client::{BERT, RANKER, path, start, start_with};

const QUERY: &str = "How do I reset my password?";
const TEXTS: [&str; 4] = ["The weather is lovely.", "Click \"forgot password\".", "", "By train."];

fn scores() -> Vec<Score> {
    let pairs: Vec<(&str, &str)> = TEXTS.iter().map(|text| (QUERY, *text)).collect();
    Reranker::open(path(RANKER)).unwrap().score_pairs(&pairs).unwrap()
}

/// The order of the texts, by the library.
fn order() -> Vec<usize> {
    let ranked = Reranker::open(path(RANKER)).unwrap().rerank(QUERY, &TEXTS).unwrap();
    ranked.iter().map(|ranked| ranked.index).collect()
}

fn indices(results: &Value) -> Vec<usize> {
    let results = results.as_array().unwrap().iter();
    results.map(|item| usize::try_from(item["index"].as_u64().unwrap()).unwrap()).collect()
}

#[test]
fn texts_are_ranked_as_by_the_library() {
    let (server, scores) = (start(), scores());
    let body = json!({"query": QUERY, "texts": TEXTS});
    let ranks = server.ok("/rerank", &body);
    assert_eq!(indices(&ranks), order());
    for rank in ranks.as_array().unwrap() {
        let score = &scores[usize::try_from(rank["index"].as_u64().unwrap()).unwrap()];
        #[expect(clippy::cast_possible_truncation, reason = "it was f32")]
        let given = rank["score"].as_f64().unwrap() as f32;
        assert_eq!(given, score.score());
        assert_eq!(rank.get("text"), None);
    }
    let body = json!({"query": QUERY, "texts": TEXTS, "raw_scores": true, "return_text": true});
    let ranks = server.ok("/rerank", &body);
    for (rank, index) in ranks.as_array().unwrap().iter().zip(order()) {
        #[expect(clippy::cast_possible_truncation, reason = "it was f32")]
        let given = rank["score"].as_f64().unwrap() as f32;
        assert_eq!(given, scores[index].logit());
        assert_eq!(rank["text"], TEXTS[index]);
    }
}

#[test]
fn documents_are_ranked_as_by_the_library() {
    let (server, scores) = (start(), scores());
    let mut documents: Vec<Value> = TEXTS.iter().map(|text| json!(text)).collect();
    documents[1] = json!({"text": TEXTS[1]});
    let body = json!({"query": QUERY, "documents": documents, "model": "cross_encoder"});
    let ranking = server.ok("/v1/rerank", &body);
    assert_eq!(indices(&ranking["results"]), order());
    assert_eq!(ranking["model"], "cross_encoder");
    let tokens: usize = scores.iter().map(|score| score.tokens).sum();
    assert_eq!(ranking["usage"]["total_tokens"], tokens);
    let body = json!({"query": QUERY, "documents": TEXTS, "top_n": 2, "return_documents": true});
    let ranking = server.ok("/v1/rerank", &body);
    assert_eq!(indices(&ranking["results"]), &order()[..2]);
    assert_eq!(ranking["results"][0]["document"]["text"], TEXTS[order()[0]]);
}

#[test]
fn long_pairs_are_cut_only_if_that_is_asked_for() {
    let server = start();
    let long = "password ".repeat(1000);
    let body = |truncate| json!({"query": QUERY, "texts": ["a", long], "truncate": truncate});
    let refused = server.post("/rerank", &body(false).to_string());
    assert_eq!(refused.status, 413);
    assert_eq!(refused.json()["error_type"], "Validation");
    let message = refused.json()["error"].as_str().unwrap().to_owned();
    assert!(message.contains("the query and text 1 have more tokens"), "{message}");
    assert_eq!(indices(&server.ok("/rerank", &body(true))).len(), 2);
    let body = json!({"query": QUERY, "documents": [long]});
    assert_eq!(server.post("/v1/rerank", &body.to_string()).status, 400);
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let server = start();
    for (path, body, status) in [
        ("/rerank", json!({"query": "a", "texts": []}), 400),
        ("/rerank", json!({"query": "a"}), 422),
        ("/rerank", json!({"query": "a", "texts": ["b"], "top": 1}), 422),
        ("/rerank", json!({"query": "a", "texts": ["b"], "model": "small_bert"}), 404),
        ("/v1/rerank", json!({"query": "a", "documents": []}), 400),
        ("/v1/rerank", json!({"query": "a", "documents": [{"title": "b"}]}), 400),
        ("/v1/rerank", json!({"query": "a", "documents": ["b"], "top_n": 0}), 400),
        ("/v1/rerank", json!({"query": "a", "documents": ["b"], "max_tokens_per_doc": 9}), 400),
    ] {
        let answer = server.post(path, &body.to_string());
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    let embedder = start_with(&[BERT], Default::default());
    let refused = embedder.post("/rerank", &json!({"query": "a", "texts": ["b"]}).to_string());
    assert_eq!(refused.status, 404);
    assert_eq!(refused.json()["error"], "no model of this server can rank texts");
}
