//! Requests of many clients, which are computed together.

use std::thread;

use nanoembed::Reranker;
use serde_json::json;

use crate::client::{RANKER, bert, floats, path, start};

/// Texts of many lengths, different for each client and request.
fn texts(client: usize, request: usize) -> Vec<String> {
    let word = ["cat", "dog", "oil", "mat"][client % 4];
    let text = |at: usize| {
        let words = (client * 7 + request * 5 + at * 3) % 8 + 1;
        format!("{} {client} {request} {at}", [word].repeat(words).join(" "))
    };
    (0..(client + request) % 9 + 1).map(text).collect()
}

#[test]
fn every_client_gets_its_own_vectors() {
    let (server, encoder) = (start(), bert());
    thread::scope(|scope| {
        for client in 0..16 {
            let (server, encoder) = (&server, &encoder);
            scope.spawn(move || {
                for request in 0..6 {
                    let texts = texts(client, request);
                    let answer = server.ok("/v1/embeddings", &json!({"input": texts}));
                    let data = answer["data"].as_array().unwrap();
                    assert_eq!(data.len(), texts.len());
                    for (item, text) in data.iter().zip(&texts) {
                        let expected = encoder.embed(text).unwrap();
                        assert_eq!(floats(&item["embedding"]), expected, "{text}");
                    }
                }
            });
        }
    });
    let summary = server.end();
    let all = (0..16).flat_map(|client| (0..6).map(move |request| texts(client, request).len()));
    assert_eq!(summary.texts, all.map(|count| count as u64).sum::<u64>());
    assert_eq!((summary.requests, summary.failed), (96, 0));
}

#[test]
fn every_client_gets_its_own_scores() {
    let (server, model) = (start(), Reranker::open(path(RANKER)).unwrap());
    thread::scope(|scope| {
        for client in 0..8 {
            let (server, model) = (&server, &model);
            scope.spawn(move || {
                for request in 0..4 {
                    let (query, texts) = (format!("where is {client}?"), texts(client, request));
                    let pairs: Vec<(&str, &str)> =
                        texts.iter().map(|text| (&*query, &**text)).collect();
                    let expected = model.score_pairs(&pairs).unwrap();
                    let body = json!({"query": query, "texts": texts, "truncate": true});
                    let ranks = server.ok("/rerank", &body);
                    let ranks = ranks.as_array().unwrap();
                    assert_eq!(ranks.len(), texts.len());
                    for rank in ranks {
                        let index = usize::try_from(rank["index"].as_u64().unwrap()).unwrap();
                        let score = floats(&json!([rank["score"]]))[0];
                        assert_eq!(score, expected[index].score(), "{query} {}", texts[index]);
                    }
                }
            });
        }
    });
}
