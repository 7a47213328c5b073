//! The endpoints.
//!
//! | file | role |
//! |---|---|
//! | `exchange` | the steps from a request to its answer |
//! | `origin` | requests of other sites |
//! | `failure` | errors, in the shape of each interface |
//! | `input` | texts and token ids, as requests have them |
//! | `embedding` | texts to embed, of every interface |
//! | `ranking` | texts to rank, of every interface |
//! | `base64` | vectors as base64 |
//! | `completions` | texts to continue, as OpenAI has it |
//! | `openai`, `ollama`, `inference`, `rerank` | interfaces of OpenAI; Ollama; text-embeddings-inference; Jina and Cohere |
//! | `search` | passages of files |
//! | `own` | health, metrics, the description of the interface |

mod base64;
mod completions;
mod embedding;
mod exchange;
mod failure;
mod inference;
mod input;
mod ollama;
mod openai;
mod origin;
mod own;
mod ranking;
mod rerank;
mod search;

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, get, post};
use nanoembed::Result;

use crate::continuation::Continuations;
use crate::metrics::Metrics;
use crate::models::{Models, Served};
use crate::options::Options;
use crate::place::Places;
use crate::queue::Queue;
use crate::search::Searches;
use completions::{ChatRequest, Completion, TextRequest, post_to_continue};
use exchange::{Endpoint, Page, get_page, post_to};
use failure::{Failure, Shape};

/// What all endpoints share.
pub(crate) struct App {
    pub(crate) models: Models,
    pub(crate) options: Options,
    pub(crate) places: Arc<Places>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) queue: Queue,
    pub(crate) continuations: Continuations,
    /// `None` if there is nothing to search.
    pub(crate) searches: Option<Searches>,
    /// True if there is a port and no key: any program of the machine can send requests.
    has_open_port: bool,
}

impl App {
    pub(crate) fn new(models: Models, options: Options, has_port: bool) -> Result<Self> {
        let metrics = Arc::new(Metrics::default());
        let queue = Queue::start(Arc::clone(&metrics))?;
        let threads = if models.continue_texts() { options.limits.continuations.max(1) } else { 0 };
        let continuations = Continuations::start(threads, &metrics)?;
        let searches = Searches::start(options.search.as_ref())?;
        let places = Places::new(options.limits.requests, options.limits.body_bytes);
        let has_open_port = has_port && options.api_key.is_none();
        Ok(Self { models, options, places, metrics, queue, continuations, searches, has_open_port })
    }

    /// The model called `name`.
    fn served(&self, name: &str) -> Result<&Served, Failure> {
        self.models.named(name).ok_or_else(|| {
            let names: Vec<&str> = self.models.all().iter().map(|model| &*model.name).collect();
            let names = names.join(", ");
            Failure::no_model(format!("there is no model `{name}`; this server has {names}"))
        })
    }

    /// The model called `name`, or the first for which `can` finds something. `does` completes "the
    /// model does not …".
    fn model<T>(
        &self,
        name: Option<&str>,
        does: &str,
        can: impl for<'s> Fn(&'s Served) -> Option<&'s T>,
    ) -> Result<(&str, &T), Failure> {
        if let Some(name) = name {
            let served = self.served(name)?;
            let model = can(served).ok_or_else(|| {
                Failure::no_model(format!("the model `{}` does not {does}", served.name))
            })?;
            return Ok((&served.name, model));
        }
        let mut models = self.models.all().iter();
        let found = models.find_map(|served| Some((&*served.name, can(served)?)));
        found.ok_or_else(|| Failure::no_model(format!("no model of this server can {does}")))
    }
}

/// The endpoints of the server.
pub(crate) fn router(app: Arc<App>) -> Router {
    fn to<E: Endpoint>() -> MethodRouter<Arc<App>> {
        post(post_to::<E>)
    }
    fn of(path: &'static str, shape: Shape, page: Page) -> MethodRouter<Arc<App>> {
        get(move |app, request| get_page(app, request, path, shape, page))
    }
    fn continued<C: Completion>() -> MethodRouter<Arc<App>> {
        post(post_to_continue::<C>)
    }
    Router::new()
        .route("/v1/chat/completions", continued::<ChatRequest>())
        .route("/v1/completions", continued::<TextRequest>())
        .route("/v1/embeddings", to::<openai::Embeddings>())
        .route("/v1/models", of("/v1/models", Shape::OpenAi, openai::models))
        .route("/v1/rerank", to::<rerank::Rerank>())
        .route("/api/embed", to::<ollama::Embed>())
        .route("/api/embeddings", to::<ollama::Embeddings>())
        .route("/api/show", to::<ollama::Show>())
        .route("/api/tags", of("/api/tags", Shape::Ollama, ollama::tags))
        .route("/api/version", of("/api/version", Shape::Ollama, ollama::version))
        .route("/embed", to::<inference::Embed>())
        .route("/rerank", to::<inference::Rerank>())
        .route("/tokenize", to::<inference::Tokenize>())
        .route(search::PATH, post(search::post_to_search))
        .route("/", of("/", Shape::Ollama, own::root))
        .route("/health", of("/health", Shape::OpenAi, own::health))
        .route("/metrics", of("/metrics", Shape::OpenAi, own::metrics))
        .route("/openapi.json", of("/openapi.json", Shape::OpenAi, own::openapi))
        .fallback(exchange::no_endpoint)
        .method_not_allowed_fallback(exchange::no_method)
        .with_state(app)
}
