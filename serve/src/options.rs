//! The options of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nanoembed::{Observer, Silent};

/// Limits on requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a request's body.
    pub body_bytes: usize,
    /// The most texts of a request.
    pub texts: usize,
    /// The most requests that are read, wait or are computed at a time; more are refused with
    /// status 429.
    pub requests: usize,
    /// The time that a client may take to send the head of a request, its body, or to read a part
    /// of the answer.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body_bytes: 8 << 20, texts: 2048, requests: 256, patience: Duration::from_secs(30) }
    }
}

/// The options of a server.
#[derive(Clone)]
pub struct Options {
    /// Limits on requests.
    pub limits: Limits,
    /// The key that requests have to bring, as `Authorization: Bearer KEY`.
    pub api_key: Option<String>,
    /// True if the observer gets a note of every request.
    pub notes_requests: bool,
    /// Receives failures of the server as warnings, and notes of requests.
    pub observer: Arc<dyn Observer + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        let observer = Arc::new(Silent);
        Self { limits: Limits::default(), api_key: None, notes_requests: false, observer }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("limits", &self.limits).finish_non_exhaustive()
    }
}
