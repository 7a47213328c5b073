//! Errors, in the shape of each interface.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use nanoembed::{Error, ErrorKind, Kind};
use serde_json::{Value, json};

/// The shape of answers with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{"error": {"message", "type", "param", "code"}}`
    OpenAi,
    /// `{"error": "…"}`
    Ollama,
    /// `{"error": "…", "error_type": "…"}`
    Inference,
}

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The body is not JSON, or not of the expected form.
    Unreadable,
    /// A member has a value that is not accepted.
    Invalid,
    /// There is nothing to do.
    Empty,
    /// A text has more tokens than the model takes, or a request more texts than the server.
    TooLong,
    NoModel,
    NoEndpoint,
    NoMethod,
    NoKey,
    TooLarge,
    Busy,
    Slow,
    /// The server's own fault.
    Failed,
}

/// A request that is answered with an error.
#[derive(Debug)]
pub(super) struct Failure {
    cause: Cause,
    message: String,
    /// The member of the request that is wrong.
    param: Option<&'static str>,
}

impl Failure {
    fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), param: None }
    }

    /// The body cannot be read as what it should be.
    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::new(Cause::Unreadable, format!("the body of the request: {error}"))
    }

    /// The client closed the connection, or broke the rules of HTTP, within the body.
    pub(super) fn broken() -> Self {
        Self::new(Cause::Unreadable, "the body of the request is incomplete")
    }

    /// The client closed the connection within the answer.
    pub(super) fn gone() -> Self {
        Self::new(Cause::Unreadable, "the client went away before the end")
    }

    /// A member is wrong. `message` continues the sentence that its name begins.
    pub(super) fn invalid(param: &'static str, message: impl std::fmt::Display) -> Self {
        let failure = Self::new(Cause::Invalid, format!("`{param}` {message}"));
        Self { param: Some(param), ..failure }
    }

    /// There are no texts.
    pub(super) fn empty(param: &'static str) -> Self {
        let failure = Self::new(Cause::Empty, format!("`{param}` is empty"));
        Self { param: Some(param), ..failure }
    }

    /// A text is too long.
    pub(super) fn too_long(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::new(Cause::TooLong, message) }
    }

    pub(super) fn no_model(message: impl Into<String>) -> Self {
        Self { param: Some("model"), ..Self::new(Cause::NoModel, message) }
    }

    pub(super) fn no_endpoint(path: &str) -> Self {
        let path: String = path.chars().take(100).collect();
        let message =
            format!("there is no endpoint {path}; /openapi.json describes those that are");
        Self::new(Cause::NoEndpoint, message)
    }

    pub(super) fn no_search() -> Self {
        let message = "this server searches no files: it is to be started with `--search PATH`";
        Self::new(Cause::NoEndpoint, message)
    }

    pub(super) fn no_method(method: &str, path: &str) -> Self {
        Self::new(Cause::NoMethod, format!("{path} does not answer {method}"))
    }

    pub(super) fn no_key() -> Self {
        let message = "the API key is missing or wrong: send it as `Authorization: Bearer KEY`";
        Self::new(Cause::NoKey, message)
    }

    pub(super) fn foreign(site: &str) -> Self {
        let message = format!(
            "a server without a key answers requests to this machine's own name, not `{site}`"
        );
        Self::new(Cause::NoKey, message)
    }

    pub(super) fn too_large(most: usize) -> Self {
        let message = format!("the body of the request is larger than {most} bytes");
        Self::new(Cause::TooLarge, message)
    }

    pub(super) fn busy() -> Self {
        Self::new(Cause::Busy, "too many requests are waiting; try again")
    }

    pub(super) fn slow() -> Self {
        Self::new(Cause::Slow, "the body of the request did not come in time")
    }

    /// The server's own fault.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(Cause::Failed, message)
    }

    /// True if it is the server's own fault, of which those who run it should know.
    pub(super) fn is_own(&self) -> bool {
        self.cause == Cause::Failed
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    fn status(&self, shape: Shape) -> StatusCode {
        let is_inference = shape == Shape::Inference;
        match self.cause {
            Cause::Unreadable | Cause::Invalid if is_inference => StatusCode::UNPROCESSABLE_ENTITY,
            Cause::TooLong if is_inference => StatusCode::PAYLOAD_TOO_LARGE,
            Cause::Unreadable | Cause::Invalid | Cause::Empty | Cause::TooLong => {
                StatusCode::BAD_REQUEST
            }
            Cause::NoModel | Cause::NoEndpoint => StatusCode::NOT_FOUND,
            Cause::NoMethod => StatusCode::METHOD_NOT_ALLOWED,
            Cause::NoKey => StatusCode::UNAUTHORIZED,
            Cause::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Cause::Busy => StatusCode::TOO_MANY_REQUESTS,
            Cause::Slow => StatusCode::REQUEST_TIMEOUT,
            Cause::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The type and the code of OpenAI's interface.
    const fn openai(&self) -> (&'static str, Option<&'static str>) {
        match self.cause {
            Cause::TooLong => ("invalid_request_error", Some("context_length_exceeded")),
            Cause::NoModel => ("invalid_request_error", Some("model_not_found")),
            Cause::NoKey => ("invalid_request_error", Some("invalid_api_key")),
            Cause::Busy => ("requests", Some("rate_limit_exceeded")),
            Cause::Failed => ("server_error", None),
            _ => ("invalid_request_error", None),
        }
    }

    /// The type of text-embeddings-inference.
    const fn inference(&self) -> &'static str {
        match self.cause {
            Cause::Busy => "Overloaded",
            Cause::Empty => "Empty",
            Cause::Failed => "Backend",
            _ => "Validation",
        }
    }

    /// The body of the answer.
    pub(super) fn body(&self, shape: Shape) -> Value {
        let message = &self.message;
        match shape {
            Shape::OpenAi => {
                let (kind, code) = self.openai();
                let param = self.param;
                json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
            }
            Shape::Ollama => json!({"error": message}),
            Shape::Inference => json!({"error": message, "error_type": self.inference()}),
        }
    }

    /// The answer.
    pub(super) fn response(&self, shape: Shape) -> Response<Body> {
        let body = self.body(shape);
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status(shape);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.cause {
            Cause::Busy => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Cause::NoKey => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// Errors of models: wrong arguments are the client's fault, all others the server's.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::Usage | Kind::NotFound | Kind::Core(ErrorKind::TokenOutOfRange) => {
                let param = match error.argument_name() {
                    Some("truncate_dim") => "dimensions",
                    Some(name) => name,
                    None => return Self::new(Cause::Invalid, error.message()),
                };
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                Self::invalid(param, format!("{}{hint}", error.message()))
            }
            // Memory for as many tokens as the request asks for.
            Kind::Core(ErrorKind::OverLimit) => Self::new(Cause::TooLong, error.message()),
            _ => Self::failed(error.to_string()),
        }
    }
}
