//! `/v1/rerank`, as Jina and Cohere have it.

use serde::{Deserialize, Serialize};

use super::App;
use super::exchange::{Endpoint, to_json};
use super::failure::{Failure, Shape};
use super::ranking::{Ranked, Ranking};
use crate::turn::{Output, Work};

/// Documents that are to be ranked.
pub(super) struct Rerank {
    ranking: Ranking,
    top: usize,
    /// The documents, if they are part of the answer.
    documents: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    model: Option<String>,
    query: String,
    documents: Vec<Document>,
    top_n: Option<usize>,
    return_documents: Option<bool>,
    truncate: Option<bool>,
}

/// A document: its text, or an object that has it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a document is a text, or an object with a `text` alone")]
enum Document {
    Text(String),
    Object(Object),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    text: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    model: &'a str,
    results: Vec<Item<'a>>,
    usage: Usage,
}

#[derive(Serialize)]
struct Item<'a> {
    index: usize,
    relevance_score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Text<'a>>,
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Usage {
    total_tokens: usize,
}

impl Endpoint for Rerank {
    const PATH: &'static str = "/v1/rerank";
    const SHAPE: Shape = Shape::OpenAi;
    type Request = Request;

    fn read(app: &App, request: Request) -> Result<(Self, Option<Work>), Failure> {
        if request.top_n == Some(0) {
            return Err(Failure::invalid("top_n", "is 0"));
        }
        let texts = request.documents.into_iter().map(|document| match document {
            Document::Text(text) | Document::Object(Object { text }) => text,
        });
        let texts: Vec<String> = texts.collect();
        let documents = request.return_documents.unwrap_or_default().then(|| texts.clone());
        let (model, truncate) = (request.model.as_deref(), request.truncate.unwrap_or_default());
        let (ranking, work) =
            Ranking::prepare(app, model, &request.query, ("documents", texts), truncate)?;
        let top = request.top_n.unwrap_or(usize::MAX);
        Ok((Self { ranking, top, documents }, Some(work)))
    }

    fn answer(self, _: &App, output: Option<Output>) -> Result<Vec<u8>, Failure> {
        let (ranked, total_tokens) = self.ranking.ranked(output)?;
        let item = |Ranked { index, score }| {
            let document = self.documents.as_ref().and_then(|documents| documents.get(index));
            let document = document.map(|text| Text { text });
            Item { index, relevance_score: score.score(), document }
        };
        let results = ranked.into_iter().take(self.top).map(item).collect();
        let usage = Usage { total_tokens };
        let answer = Answer { model: &self.ranking.model, results, usage };
        to_json(&answer)
    }
}
