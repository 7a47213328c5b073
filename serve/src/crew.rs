//! Threads that do the jobs of a line.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use nanoembed::{Error, Result};

use crate::line::{Line, Wait};

/// Threads that do the jobs of a line. When this is dropped, they end after the jobs that wait.
pub(crate) struct Crew<J> {
    pub(crate) line: Arc<Line<J>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Wait + Send + 'static> Crew<J> {
    /// Starts so many threads, each of which does what it takes from the line.
    pub(crate) fn start(
        name: &str,
        threads: usize,
        act: impl Fn(&Line<J>, Vec<J>) + Clone + Send + 'static,
    ) -> Result<Self> {
        let mut crew = Self { line: Arc::default(), threads: Vec::new() };
        for _ in 0..threads {
            let (line, act) = (Arc::clone(&crew.line), act.clone());
            let work = move || {
                while let Some(jobs) = line.take() {
                    act(&line, jobs);
                }
            };
            let thread = Builder::new().name(name.into()).spawn(work);
            let thread = thread.map_err(|error| Error::usage(format!("no thread: {error}")))?;
            crew.threads.push(thread);
        }
        Ok(crew)
    }
}

impl<J> Drop for Crew<J> {
    fn drop(&mut self) {
        self.line.end();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}
