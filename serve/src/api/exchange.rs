//! The steps from a request to its answer: check the key, take a place, read the body, have the models
//! work, write the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use hyper::body::Frame;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::failure::{Failure, Shape};
use super::{App, origin};
use crate::place::Place;
use crate::turn::{Output, Work};

/// An endpoint that takes JSON and answers with JSON. The models work between its two steps.
pub(super) trait Endpoint: Send + Sized + 'static {
    /// The path.
    const PATH: &'static str;

    /// The shape of errors.
    const SHAPE: Shape;

    /// The body of a request.
    type Request: DeserializeOwned;

    /// Checks a request. Returns what the answer needs to know, and the work for the models.
    fn read(app: &App, request: Self::Request) -> Result<(Self, Option<Work>), Failure>;

    /// Writes the answer. `output` is that of the models, if there was work for them.
    fn answer(self, app: &App, output: Option<Output>) -> Result<Vec<u8>, Failure>;
}

/// A page: its type and its bytes.
pub(super) type Page = fn(&App) -> (&'static str, Vec<u8>);

/// The type of JSON.
pub(super) const JSON: &str = "application/json";

/// Answers a request to an endpoint.
pub(super) async fn post_to<E: Endpoint>(
    State(app): State<Arc<App>>,
    request: Request,
) -> Response<Body> {
    let start = Instant::now();
    let answer = exchange::<E>(&app, request).await.map(|bytes| (JSON, bytes));
    app.finish(("POST", E::PATH, E::SHAPE), answer, start)
}

/// Answers a request for a page.
pub(super) async fn get_page(
    State(app): State<Arc<App>>,
    request: Request,
    path: &'static str,
    shape: Shape,
    page: Page,
) -> Response<Body> {
    let start = Instant::now();
    // Whoever watches the server need not be able to use it.
    let allowed = if path == "/health" { Ok(()) } else { app.check(request.headers()) };
    app.finish(("GET", path, shape), allowed.map(|()| page(&app)), start)
}

/// Answers a request to an unknown path.
pub(super) async fn no_endpoint(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let failure = Failure::no_endpoint(request.uri().path());
    app.finish(("?", "other", Shape::OpenAi), Err(failure), Instant::now())
}

/// Answers a request with a method that the path does not support.
pub(super) async fn no_method(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let failure = Failure::no_method(request.method().as_str(), request.uri().path());
    app.finish(("?", "other", Shape::OpenAi), Err(failure), Instant::now())
}

impl App {
    /// Checks the key or, without one, that no other site made a browser send the request.
    fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        if self.has_open_port { origin::check(headers) } else { self.check_key(headers) }
    }

    /// Checks the key, in a time that does not depend on how much of it is right.
    fn check_key(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(key) = &self.options.api_key else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        let (scheme, given) = given.split_at_checked(7).unwrap_or_default();
        let differences =
            given.iter().zip(key.as_bytes()).fold(0, |bits, (given, own)| bits | (given ^ own));
        let is_right =
            scheme.eq_ignore_ascii_case(b"Bearer ") && given.len() == key.len() && differences == 0;
        is_right.then_some(()).ok_or_else(Failure::no_key)
    }

    /// Makes the response of an answer, and notes it.
    pub(super) fn finish(
        &self,
        (method, path, shape): (&str, &'static str, Shape),
        answer: Result<(&'static str, Vec<u8>), Failure>,
        start: Instant,
    ) -> Response<Body> {
        let (response, failure) = match answer {
            Ok((kind, bytes)) => (response(kind, Body::from(bytes)), None),
            Err(failure) => (failure.response(shape), Some(failure)),
        };
        self.note((method, path, response.status().as_u16()), failure.as_ref(), start);
        response
    }

    /// Counts an answered request and tells the observer.
    pub(super) fn note(
        &self,
        (method, path, status): (&str, &'static str, u16),
        failure: Option<&Failure>,
        start: Instant,
    ) {
        let took = start.elapsed();
        self.metrics.answered(path, status, took);
        let observer = &self.options.observer;
        let message = failure.map(Failure::message);
        if failure.is_some_and(Failure::is_own) {
            observer.warn(&format!("{method} {path}: {}", message.unwrap_or_default()));
        } else if self.options.notes_requests {
            let message = message.map(|message| format!(": {message}")).unwrap_or_default();
            let time = took.as_secs_f64() * 1000.0;
            observer.note(&format!("{method} {path} {status} {time:.1} ms{message}"));
        }
    }
}

/// A response with a body of a type.
pub(super) fn response(kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The answer of an endpoint. If the client disconnects, this is dropped, and the work with it.
async fn exchange<E: Endpoint>(app: &Arc<App>, request: Request) -> Result<Vec<u8>, Failure> {
    let (place, body) = receive(app, request).await?;
    let (endpoint, work) = apart(app, &place, move |app| E::read(app, parse(&body)?)).await?;
    let output = match work {
        Some(work) => Some(app.queue.submit(work, Arc::clone(&place)).await?),
        None => None,
    };
    apart(app, &place, move |app| endpoint.answer(app, output)).await
}

/// Admits a request, and reads its body.
pub(super) async fn receive(app: &Arc<App>, request: Request) -> Result<(Place, Vec<u8>), Failure> {
    let limits = app.options.limits;
    let (head, body) = request.into_parts();
    let most = limits.body_bytes;
    let length = head.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let admitted = app.check(&head.headers).and_then(|()| match length {
        Some(length) if length > most => Err(Failure::too_large(most)),
        length => app.places.take(length.unwrap_or(most)).ok_or_else(Failure::busy),
    });
    let place = match admitted {
        Ok(place) => place,
        Err(failure) => {
            // A client that still sends when the connection is closed does not see the answer.
            drop(timeout(limits.patience, discard(body, most)).await);
            return Err(failure);
        }
    };
    let Ok(body) = timeout(limits.patience, collect(body, most)).await else {
        return Err(Failure::slow());
    };
    Ok((place, body?))
}

/// The members of a request.
pub(super) fn parse<R: DeserializeOwned>(body: &[u8]) -> Result<R, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::unreadable(&error))
}

/// The bytes of an answer.
pub(super) fn to_json(answer: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(answer).map_err(|error| Failure::failed(error.to_string()))
}

/// Runs `act` on another thread, so that other connections do not wait for it. It holds the place until
/// it is done, even if the client has disconnected.
pub(super) async fn apart<T: Send + 'static>(
    app: &Arc<App>,
    place: &Place,
    act: impl FnOnce(&App) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (app, place) = (Arc::clone(app), Arc::clone(place));
    let done = spawn_blocking(move || {
        let done = act(&app);
        drop(place);
        done
    });
    done.await.unwrap_or_else(|panic| Err(Failure::failed(format!("the server failed: {panic}"))))
}

/// The bytes of a body.
async fn collect(mut body: Body, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(frame) = next_frame(&mut body).await {
        let Ok(data) = frame.map_err(|_| Failure::broken())?.into_data() else { continue };
        if data.len() > most - bytes.len() {
            return Err(Failure::too_large(most));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Reads a body and drops it, up to `most` bytes.
async fn discard(mut body: Body, most: usize) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = next_frame(&mut body).await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > most {
            return;
        }
    }
}

/// The next part of a body.
async fn next_frame(
    body: &mut Body,
) -> Option<Result<Frame<<Body as HttpBody>::Data>, <Body as HttpBody>::Error>> {
    poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}
