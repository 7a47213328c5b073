//! The interface of Ollama.

use std::time::Instant;

use nanoembed::Prefix;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::App;
use super::embedding::{Wanted, rows};
use super::exchange::{Endpoint, JSON, to_json};
use super::failure::{Failure, Shape};
use super::input::Input;
use crate::models::Served;
use crate::turn::{Output, Work};

/// `/api/embed`: vectors of length 1; texts are cut unless `truncate` is false.
pub(super) struct Embed {
    start: Instant,
    model: String,
    texts: usize,
    tokens: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbedRequest {
    model: String,
    input: Input,
    truncate: Option<bool>,
    dimensions: Option<usize>,
    options: Option<Map<String, Value>>,
    /// Models stay in memory.
    #[serde(rename = "keep_alive")]
    _keep_alive: Option<IgnoredAny>,
}

#[derive(Serialize)]
struct EmbedAnswer<'a> {
    model: &'a str,
    embeddings: Vec<&'a [f32]>,
    total_duration: u64,
    load_duration: u64,
    prompt_eval_count: usize,
}

/// `/api/embeddings`, which `/api/embed` has replaced: one text, the model's own vector.
pub(super) struct Embeddings;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbeddingsRequest {
    model: String,
    prompt: String,
    options: Option<Map<String, Value>>,
    #[serde(rename = "keep_alive")]
    _keep_alive: Option<IgnoredAny>,
}

/// `/api/show`.
pub(super) struct Show(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowRequest {
    #[serde(alias = "name")]
    model: String,
    /// Nothing is left out.
    #[serde(rename = "verbose")]
    _verbose: Option<bool>,
}

/// Refuses options, which would change what the model computes.
fn check_options(options: Option<Map<String, Value>>) -> Result<(), Failure> {
    match options.unwrap_or_default().keys().next() {
        Some(name) => Err(Failure::invalid("options", format!("has `{name}`, which is not known"))),
        None => Ok(()),
    }
}

impl Endpoint for Embed {
    const PATH: &'static str = "/api/embed";
    const SHAPE: Shape = Shape::Ollama;
    type Request = EmbedRequest;

    fn read(app: &App, request: EmbedRequest) -> Result<(Self, Option<Work>), Failure> {
        let start = Instant::now();
        check_options(request.options)?;
        let is_empty = match &request.input {
            Input::Texts(texts) => texts.iter().all(String::is_empty) && texts.len() < 2,
            Input::Ids(_) => {
                return Err(Failure::invalid("input", "has token ids instead of texts"));
            }
        };
        if is_empty {
            // Clients load models this way.
            let (name, _) = app.embedder(Some(&request.model))?;
            return Ok((Self { start, model: name.to_owned(), texts: 0, tokens: 0 }, None));
        }
        let wanted = Wanted {
            model: Some(request.model),
            param: "input",
            input: request.input,
            prompt: Prefix::Usual,
            truncate: request.truncate.unwrap_or(true),
            dimensions: request.dimensions,
            normalize: true,
        };
        let prepared = wanted.prepare(app)?;
        let (texts, tokens) = (prepared.texts, prepared.tokens);
        Ok((Self { start, model: prepared.model, texts, tokens }, Some(prepared.work)))
    }

    fn answer(self, _: &App, output: Option<Output>) -> Result<Vec<u8>, Failure> {
        let answer = EmbedAnswer {
            model: &self.model,
            embeddings: rows(&output, self.texts).collect(),
            total_duration: u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            load_duration: 0,
            prompt_eval_count: self.tokens,
        };
        to_json(&answer)
    }
}

impl Endpoint for Embeddings {
    const PATH: &'static str = "/api/embeddings";
    const SHAPE: Shape = Shape::Ollama;
    type Request = EmbeddingsRequest;

    fn read(app: &App, request: EmbeddingsRequest) -> Result<(Self, Option<Work>), Failure> {
        check_options(request.options)?;
        if request.prompt.is_empty() {
            return app.embedder(Some(&request.model)).map(|_| (Self, None));
        }
        let wanted = Wanted {
            model: Some(request.model),
            param: "prompt",
            input: Input::Texts(vec![request.prompt]),
            prompt: Prefix::Usual,
            truncate: true,
            dimensions: None,
            normalize: false,
        };
        Ok((Self, Some(wanted.prepare(app)?.work)))
    }

    fn answer(self, _: &App, output: Option<Output>) -> Result<Vec<u8>, Failure> {
        let vector = rows(&output, 1).next().unwrap_or_default();
        to_json(&json!({"embedding": vector}))
    }
}

impl Endpoint for Show {
    const PATH: &'static str = "/api/show";
    const SHAPE: Shape = Shape::Ollama;
    type Request = ShowRequest;

    fn read(app: &App, request: ShowRequest) -> Result<(Self, Option<Work>), Failure> {
        Ok((Self(app.served(&request.model)?.name.clone()), None))
    }

    fn answer(self, app: &App, _: Option<Output>) -> Result<Vec<u8>, Failure> {
        let served = app.served(&self.0)?;
        let mut info = json!({"general.architecture": "nanoembed"});
        if let Some(model) = &served.embedder {
            info["nanoembed.context_length"] = model.max_tokens().into();
            info["nanoembed.embedding_length"] = model.dimensions().into();
        } else if let Some(model) = &served.reranker {
            info["nanoembed.context_length"] = model.max_tokens().into();
        } else if let Some(model) = &served.generator {
            info["nanoembed.context_length"] = model.positions().into();
        }
        to_json(&json!({
            "details": details(),
            "model_info": info,
            "capabilities": capabilities(served),
        }))
    }
}

/// What the server knows of a model's file.
fn details() -> Value {
    json!({"parent_model": "", "format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""})
}

fn capabilities(served: &Served) -> Vec<&'static str> {
    served.embedder.iter().map(|_| "embedding").collect()
}

/// `/api/tags`.
pub(super) fn tags(app: &App) -> (&'static str, Vec<u8>) {
    let model = |served: &Served| {
        let name = format!("{}:latest", served.name);
        json!({"name": name, "model": name, "details": details()})
    };
    let models: Vec<Value> = app.models.all().iter().map(model).collect();
    (JSON, json!({"models": models}).to_string().into_bytes())
}

/// `/api/version`.
pub(super) fn version(_: &App) -> (&'static str, Vec<u8>) {
    (JSON, json!({"version": env!("CARGO_PKG_VERSION")}).to_string().into_bytes())
}
