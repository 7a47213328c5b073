//! `/search`: passages of files that answer a query.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;

use super::App;
use super::exchange::{JSON, apart, parse, receive};
use super::failure::{Failure, Shape};
use crate::search::{Found, SearchRequest};

/// The path.
pub(super) const PATH: &str = "/search";

/// Answers a request to search.
pub(super) async fn post_to_search(
    State(app): State<Arc<App>>,
    request: Request,
) -> Response<Body> {
    let start = Instant::now();
    let answer = answer(&app, request).await.map(|bytes| (JSON, bytes));
    app.finish(("POST", PATH, Shape::OpenAi), answer, start)
}

/// The answer. If the client disconnects, this is dropped, and the search with it.
async fn answer(app: &Arc<App>, request: Request) -> Result<Vec<u8>, Failure> {
    let (place, body) = receive(app, request).await?;
    let request = apart(app, &place, move |app| checked(app, parse(&body)?)).await?;
    let searches = app.searches.as_ref().ok_or_else(Failure::no_search)?;
    let found = searches.submit(request, Arc::clone(&place)).await?;
    Ok(written(&found).into_bytes())
}

fn written(found: &Found) -> String {
    let (results, query_truncated) = (found.results.join(","), found.query_truncated);
    format!("{{\"results\":[{results}],\"query_truncated\":{query_truncated}}}")
}

/// Refuses more results than a request may have texts.
fn checked(app: &App, request: SearchRequest) -> Result<SearchRequest, Failure> {
    let most = app.options.limits.texts;
    match request.k {
        Some(k) if k == 0 || k > most => {
            Err(Failure::invalid("k", format!("is {k}, and a request may ask for 1 to {most}")))
        }
        _ => Ok(request),
    }
}
