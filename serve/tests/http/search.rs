//! Searches in files.

use std::sync::Arc;

use nanoembed::{Error, Observer, Result};
use nanoembed_serve::{Found, Limits, Options, Search, SearchRequest};
use serde_json::json;

use crate::client::{BERT, Running, start, start_with};

/// Finds what it is asked for.
struct Echo;

impl Search for Echo {
    fn search(&self, request: &SearchRequest, _: &dyn Observer) -> Result<Found> {
        match request.query.as_str() {
            "panic" => panic!("no such luck"),
            "lost" => Err(Error::bad_input("the files are lost")),
            "wrong" => Err(Error::argument("by", "is wrong")),
            query => {
                let SearchRequest { k, by, min, .. } = request;
                let result = json!({"text": query, "k": k, "by": by, "min": min}).to_string();
                let results = vec![result, r#"{"score":0.1}"#.to_owned()];
                Ok(Found { results, query_truncated: query.len() > 9 })
            }
        }
    }
}

fn searching() -> Running {
    let limits = Limits { texts: 20, ..Limits::default() };
    start_with(&[BERT], Options { limits, search: Some(Arc::new(Echo)), ..Options::default() })
}

#[test]
fn members_reach_the_search_and_results_the_client() {
    let server = searching();
    let found = server.ok("/search", &json!({"query": "cats"}));
    let first = json!({"text": "cats", "k": null, "by": null, "min": null});
    let expected = json!({"results": [first, {"score": 0.1}], "query_truncated": false});
    assert_eq!(found, expected);
    let body = json!({"query": "the price of oil", "k": 20, "by": "words", "min": 0.5});
    let found = server.ok("/search", &body);
    let first = json!({"text": "the price of oil", "k": 20, "by": "words", "min": 0.5});
    assert_eq!((&found["results"][0], &found["query_truncated"]), (&first, &json!(true)));
}

#[test]
fn failures_are_told_from_faults_of_the_request() {
    let server = searching();
    for (body, status, message, param) in [
        (json!({"query": "wrong"}), 400, "`by` is wrong", Some("by")),
        (
            json!({"query": "a", "k": 0}),
            400,
            "`k` is 0, and a request may ask for 1 to 20",
            Some("k"),
        ),
        (json!({"query": "a", "k": 21}), 400, "`k` is 21, and a request may ask", Some("k")),
        (
            json!({"query": "a", "top": 1}),
            400,
            "the body of the request: unknown field `top`",
            None,
        ),
        (json!({}), 400, "the body of the request: missing field `query`", None),
        (json!({"query": "lost"}), 500, "the files are lost", None),
        (json!({"query": "panic"}), 500, "the model failed: no such luck", None),
    ] {
        let answer = server.post("/search", &body.to_string());
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        let error = &answer.json()["error"];
        assert!(error["message"].as_str().unwrap().starts_with(message), "{body}: {error}");
        assert_eq!(error["param"], json!(param), "{body}");
    }
    assert_eq!(server.post("/search", r#"{"query": "a"}"#).status, 200);
    let refused = start().post("/search", r#"{"query": "a"}"#);
    assert_eq!(refused.status, 404);
    let message = refused.json()["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains("`--search PATH`"), "{message}");
}
