//! Searches in files, which whoever runs the server provides.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use nanoembed::{Error, Observer, Result};
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::crew::Crew;
use crate::line::{Pending, Wait};
use crate::place::Place;
use crate::turn::panicked;

/// Finds passages of files for the endpoint `/search`: see [`Options::search`](crate::Options::search).
pub trait Search: Send + Sync {
    /// The passages that answer a query. `observer` may cancel the search.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](nanoembed::Kind::Usage) with the name of a member that is wrong; all other
    /// errors are the server's own.
    fn search(&self, request: &SearchRequest, observer: &dyn Observer) -> Result<Found>;
}

/// A request to search.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchRequest {
    /// The query.
    pub query: String,
    /// The most results.
    pub k: Option<usize>,
    /// The way that passages are found.
    pub by: Option<String>,
    /// The least similarity of the meanings.
    pub min: Option<f32>,
}

/// The passages that answer a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// JSON objects, the best first.
    pub results: Vec<String>,
    /// True if the query has more tokens than the model takes.
    pub query_truncated: bool,
}

/// The thread that searches.
pub(crate) struct Searches(Crew<Job>);

pub(crate) struct Job {
    request: SearchRequest,
    reply: oneshot::Sender<Result<Found>>,
    /// Held until the job is dropped.
    _place: Place,
}

impl Searches {
    /// Starts the thread, if there is something to search.
    pub(crate) fn start(search: Option<&Arc<dyn Search>>) -> Result<Option<Self>> {
        let Some(search) = search else { return Ok(None) };
        let search = Arc::clone(search);
        let act = move |_: &_, jobs: Vec<Job>| {
            jobs.into_iter().for_each(|job| job.run(&*search));
        };
        Crew::start("search", 1, act).map(Self).map(Some)
    }

    /// Searches as soon as the searches before are done.
    pub(crate) fn submit(&self, request: SearchRequest, place: Place) -> Pending<Job, Found> {
        let (sender, reply) = oneshot::channel();
        self.0.line.push(Job { request, reply: sender, _place: place });
        Pending::new(&self.0.line, reply)
    }
}

impl Wait for Job {
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn joins(&self, _: &Self) -> bool {
        false
    }
}

impl Observer for Job {
    fn is_cancelled(&self) -> bool {
        self.is_abandoned()
    }
}

impl Job {
    /// Searches, and sends the result. A panic becomes an error.
    fn run(self, search: &dyn Search) {
        let found = || search.search(&self.request, &self);
        let found: Result<Found> = catch_unwind(AssertUnwindSafe(found))
            .unwrap_or_else(|panic| Err::<Found, Error>(panicked(&*panic)));
        drop(self.reply.send(found));
    }
}
