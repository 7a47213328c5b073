//! The interface of OpenAI.

use nanoembed::Prefix;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::App;
use super::base64::encode_vector;
use super::embedding::{Wanted, rows};
use super::exchange::{Endpoint, JSON, to_json};
use super::failure::{Failure, Shape};
use super::input::Input;
use crate::turn::{Output, Work};

/// `/v1/embeddings`.
pub(super) struct Embeddings {
    model: String,
    texts: usize,
    tokens: usize,
    format: Format,
}

/// A request. `truncate`, `prompt_name` and `input_type` are those of other servers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    input: Input,
    model: Option<String>,
    #[serde(default)]
    encoding_format: Option<Format>,
    dimensions: Option<usize>,
    /// Tells OpenAI's customers apart.
    #[serde(rename = "user")]
    _user: Option<IgnoredAny>,
    truncate: Option<bool>,
    prompt_name: Option<String>,
    input_type: Option<InputType>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Float,
    Base64,
}

/// The role of the texts, as several services call it.
#[derive(Clone, Copy, Debug, Deserialize)]
enum InputType {
    #[serde(rename = "query", alias = "search_query")]
    Query,
    #[serde(rename = "document", alias = "passage", alias = "search_document")]
    Document,
}

#[derive(Serialize)]
struct Answer<'a> {
    object: &'static str,
    data: Vec<Item<'a>>,
    model: &'a str,
    usage: Usage,
}

#[derive(Serialize)]
struct Item<'a> {
    object: &'static str,
    index: usize,
    embedding: Vector<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Vector<'a> {
    Floats(&'a [f32]),
    Base64(String),
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: usize,
    total_tokens: usize,
}

impl Endpoint for Embeddings {
    const PATH: &'static str = "/v1/embeddings";
    const SHAPE: Shape = Shape::OpenAi;
    type Request = Request;

    fn read(app: &App, request: Request) -> Result<(Self, Option<Work>), Failure> {
        let prompt = match (request.prompt_name, request.input_type) {
            (Some(_), Some(_)) => {
                return Err(Failure::invalid("prompt_name", "cannot stand beside `input_type`"));
            }
            (Some(name), None) => Prefix::Named(name),
            (None, Some(InputType::Query)) => Prefix::Query,
            (None, Some(InputType::Document)) => Prefix::Document,
            (None, None) => Prefix::Usual,
        };
        let wanted = Wanted {
            model: request.model,
            param: "input",
            input: request.input,
            prompt,
            truncate: request.truncate.unwrap_or_default(),
            dimensions: request.dimensions,
            // Shortened vectors are of length 1 there.
            normalize: request.dimensions.is_some(),
        };
        let prepared = wanted.prepare(app)?;
        let format = request.encoding_format.unwrap_or_default();
        let (texts, tokens) = (prepared.texts, prepared.tokens);
        Ok((Self { model: prepared.model, texts, tokens, format }, Some(prepared.work)))
    }

    fn answer(self, _: &App, output: Option<Output>) -> Result<Vec<u8>, Failure> {
        let item = |(index, row)| {
            let embedding = match self.format {
                Format::Float => Vector::Floats(row),
                Format::Base64 => Vector::Base64(encode_vector(row)),
            };
            Item { object: "embedding", index, embedding }
        };
        let data = rows(&output, self.texts).enumerate().map(item).collect();
        let usage = Usage { prompt_tokens: self.tokens, total_tokens: self.tokens };
        let answer = Answer { object: "list", data, model: &self.model, usage };
        to_json(&answer)
    }
}

/// `/v1/models`.
pub(super) fn models(app: &App) -> (&'static str, Vec<u8>) {
    let model =
        |name| json!({"id": name, "object": "model", "created": 0, "owned_by": "nanoembed"});
    let models: Vec<_> = app.models.all().iter().map(|served| model(&served.name)).collect();
    (JSON, json!({"object": "list", "data": models}).to_string().into_bytes())
}
