//! The options of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nanoembed::{Observer, Silent};

use crate::search::Search;

/// Limits on requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest size of a request's body in bytes.
    pub body_bytes: usize,
    /// The largest number of texts in a request.
    pub texts: usize,
    /// The largest number of requests in progress: being read, waiting or being computed. Further
    /// ones are answered with status 429.
    pub requests: usize,
    /// The largest number of texts that are continued at a time. Each takes memory for its prompt and
    /// as many tokens as are asked for; further ones wait.
    pub continuations: usize,
    /// How long a client may take to send a request's head, to send its body, or to read any part of
    /// an answer.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            texts: 2048,
            requests: 256,
            continuations: 4,
            patience: Duration::from_secs(30),
        }
    }
}

/// The options of a server.
#[derive(Clone)]
pub struct Options {
    /// Limits on requests.
    pub limits: Limits,
    /// The key that every request must have as `Authorization: Bearer KEY`, if there is one.
    pub api_key: Option<String>,
    /// True if the observer is told of every request.
    pub notes_requests: bool,
    /// Answers requests to `/search`, if there is something to search.
    pub search: Option<Arc<dyn Search>>,
    /// Receives failures of the server as warnings, and notes of requests.
    pub observer: Arc<dyn Observer + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        let observer = Arc::new(Silent);
        Self {
            limits: Limits::default(),
            api_key: None,
            notes_requests: false,
            search: None,
            observer,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("limits", &self.limits).finish_non_exhaustive()
    }
}
