//! Health, metrics, the description of the interface.

use serde_json::json;

use super::App;
use super::exchange::JSON;

/// The description of the endpoints, in OpenAPI 3.1.
const OPENAPI: &str = include_str!("openapi.json");

/// `/`, by which programs look whether a server is there.
pub(super) fn root(_: &App) -> (&'static str, Vec<u8>) {
    ("text/plain; charset=utf-8", b"nanoembed is running".to_vec())
}

/// `/health`.
pub(super) fn health(_: &App) -> (&'static str, Vec<u8>) {
    (JSON, json!({"status": "ok"}).to_string().into_bytes())
}

/// `/metrics`.
pub(super) fn metrics(app: &App) -> (&'static str, Vec<u8>) {
    let page = app.metrics.page(app.places.count());
    ("text/plain; version=0.0.4; charset=utf-8", page.into_bytes())
}

/// `/openapi.json`.
pub(super) fn openapi(_: &App) -> (&'static str, Vec<u8>) {
    (JSON, OPENAPI.as_bytes().to_vec())
}
