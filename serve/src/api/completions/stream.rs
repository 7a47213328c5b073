//! Answers as server-sent events: a line `data: JSON` for each chunk, `data: [DONE]` at the end.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Response, header};
use hyper::body::Frame;
use serde_json::Value;

use super::answer::Answer;
use crate::api::App;
use crate::api::exchange::response;
use crate::api::failure::{Failure, Shape};
use crate::continuation::{Continued, Event};
use crate::place::Place;

/// An answer whose first part is there.
pub(super) struct Stream {
    answer: Answer,
    /// The first event, until it is written.
    first: Option<Event>,
    continued: Continued,
    /// Held until the answer is written.
    _place: Place,
}

/// The body of the response.
struct Events {
    stream: Stream,
    app: Arc<App>,
    path: &'static str,
    start: Instant,
    /// The cause of an end before the last chunk.
    failure: Option<Failure>,
    is_begun: bool,
    is_ended: bool,
}

impl Stream {
    pub(super) const fn new(
        answer: Answer,
        first: Event,
        continued: Continued,
        place: Place,
    ) -> Self {
        Self { answer, first: Some(first), continued, _place: place }
    }

    /// The response. The request is noted when it has been written.
    pub(super) fn response(
        self,
        app: Arc<App>,
        path: &'static str,
        start: Instant,
    ) -> Response<Body> {
        let (stream, failure) = (self, None);
        let (is_begun, is_ended) = (false, false);
        let events = Events { stream, app, path, start, failure, is_begun, is_ended };
        let mut response = response("text/event-stream", Body::new(events));
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

/// An event of the stream.
fn line(data: &Value) -> String {
    format!("data: {data}\n\n")
}

impl Events {
    /// The lines for an event.
    fn lines(&mut self, event: Event) -> String {
        let answer = &self.stream.answer;
        match event {
            Event::Text(text) => line(&answer.piece(&text)),
            Event::End(reason, tokens) => {
                self.is_ended = true;
                let closing = answer.closing(reason, tokens);
                closing.iter().map(line).chain(["data: [DONE]\n\n".into()]).collect()
            }
            Event::Failed(error) => {
                self.is_ended = true;
                let failure = Failure::from(error);
                let data = line(&failure.body(Shape::OpenAi));
                self.failure = Some(failure);
                data
            }
        }
    }
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let events = &mut *self;
        if events.is_ended {
            return Poll::Ready(None);
        }
        let mut lines = String::new();
        if !std::mem::replace(&mut events.is_begun, true) {
            lines.extend(events.stream.answer.opening().iter().map(line));
        }
        let event = match events.stream.first.take() {
            Some(first) => first,
            None => ready!(events.stream.continued.poll_next(context)),
        };
        lines.push_str(&events.lines(event));
        Poll::Ready(Some(Ok(Frame::data(lines.into()))))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let failure = match self.is_ended {
            true => self.failure.take(),
            false => Some(Failure::gone()),
        };
        self.app.note(("POST", self.path, 200), failure.as_ref(), self.start);
    }
}
