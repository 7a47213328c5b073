//! `/v1/chat/completions` and `/v1/completions`: texts to continue, as OpenAI has it.
//!
//! | file | role |
//! |---|---|
//! | `request` | the members of requests |
//! | `message` | the messages of a conversation |
//! | `wanted` | the continuation that a request asks for |
//! | `answer` | answers, whole and in chunks |
//! | `stream` | answers as server-sent events |

mod answer;
mod message;
mod request;
mod stream;
mod wanted;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use serde::de::DeserializeOwned;

use super::App;
use super::exchange::{JSON, apart, parse, receive};
use super::failure::{Failure, Shape};
use crate::continuation::{Continued, Event};
use answer::{Answer, Form};
use stream::Stream;
use wanted::Wanted;

pub(super) use request::{ChatRequest, TextRequest};

/// A request for the continuation of a text.
pub(super) trait Completion: DeserializeOwned + Send + 'static {
    /// The path.
    const PATH: &'static str;

    /// The form of answers.
    const FORM: Form;

    /// Checks the members.
    fn wanted(self) -> Result<Wanted, Failure>;
}

/// An answer that has begun.
enum Begun {
    Whole(Vec<u8>),
    Stream(Stream),
}

/// Answers a request to continue a text.
pub(super) async fn post_to_continue<C: Completion>(
    State(app): State<Arc<App>>,
    request: Request,
) -> Response<Body> {
    let start = Instant::now();
    let answer = match begin::<C>(&app, request).await {
        Ok(Begun::Stream(stream)) => return stream.response(app, C::PATH, start),
        Ok(Begun::Whole(bytes)) => Ok((JSON, bytes)),
        Err(failure) => Err(failure),
    };
    app.finish(("POST", C::PATH, Shape::OpenAi), answer, start)
}

/// The answer to its end, or up to its first part if it is streamed: a failure before that has a status
/// of its own. If the client disconnects, this is dropped, and the work with it.
async fn begin<C: Completion>(app: &Arc<App>, request: Request) -> Result<Begun, Failure> {
    let (place, body) = receive(app, request).await?;
    let prepare = move |app: &App| parse::<C>(&body)?.wanted()?.prepare(app, C::FORM);
    let (answer, beginning, is_streamed) = apart(app, &place, prepare).await?;
    let mut continued = app.continuations.submit(beginning, Arc::clone(&place));
    if is_streamed {
        let first = match next(&mut continued).await {
            Event::Failed(error) => return Err(error.into()),
            first => first,
        };
        return Ok(Begun::Stream(Stream::new(answer, first, continued, place)));
    }
    whole(&answer, &mut continued).await.map(Begun::Whole)
}

/// The whole answer.
async fn whole(answer: &Answer, continued: &mut Continued) -> Result<Vec<u8>, Failure> {
    let mut text = String::new();
    loop {
        match next(continued).await {
            Event::Text(piece) => text.push_str(&piece),
            Event::End(reason, tokens) => {
                return Ok(answer.whole(&text, reason, tokens).to_string().into_bytes());
            }
            Event::Failed(error) => return Err(error.into()),
        }
    }
}

async fn next(continued: &mut Continued) -> Event {
    poll_fn(|context| continued.poll_next(context)).await
}
