//! Texts that are continued, and the threads that do it. Each thread continues one text at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use nanoembed::{Error, FinishReason, Generator, Observer, Prompt, Result, Sampling};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::crew::Crew;
use crate::line::{Line, Wait};
use crate::metrics::Metrics;
use crate::place::Place;
use crate::turn::panicked;

/// A text to continue.
pub(crate) struct Beginning {
    pub(crate) generator: Generator,
    /// The token ids of the text.
    pub(crate) ids: Vec<u32>,
    pub(crate) sampling: Sampling,
    /// The texts that end it.
    pub(crate) stops: Vec<String>,
}

/// A part of a continuation.
pub(crate) enum Event {
    /// The next text.
    Text(String),
    /// The end, and the number of tokens that were added.
    End(FinishReason, usize),
    /// The end in place of any other.
    Failed(Error),
}

/// The threads.
pub(crate) struct Continuations(Crew<Job>);

/// A continuation as it comes. If it is dropped, no more of it is computed.
pub(crate) struct Continued {
    line: Arc<Line<Job>>,
    events: UnboundedReceiver<Event>,
}

struct Job {
    beginning: Beginning,
    /// Its length is limited by the tokens that are asked for, so that clients who read slowly do not
    /// make others wait.
    events: UnboundedSender<Event>,
    /// Held until the job is dropped.
    _place: Place,
}

impl Continuations {
    /// Starts so many threads.
    pub(crate) fn start(threads: usize, metrics: &Arc<Metrics>) -> Result<Self> {
        let metrics = Arc::clone(metrics);
        let act = move |_: &_, jobs: Vec<Job>| {
            jobs.into_iter().for_each(|job| job.run(&metrics.generated));
        };
        Crew::start("generator", threads, act).map(Self)
    }

    /// Continues a text as soon as a thread is free.
    pub(crate) fn submit(&self, beginning: Beginning, place: Place) -> Continued {
        let (sender, events) = unbounded_channel();
        self.0.line.push(Job { beginning, events: sender, _place: place });
        Continued { line: Arc::clone(&self.0.line), events }
    }
}

impl Continued {
    /// The next event. There is one until [`Event::End`] or [`Event::Failed`].
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        let ended = || Event::Failed(Error::bad_input("the thread of the models has ended"));
        self.events.poll_recv(context).map(|event| event.unwrap_or_else(ended))
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        self.events.close();
        self.line.drop_abandoned();
    }
}

impl Wait for Job {
    fn is_abandoned(&self) -> bool {
        self.events.is_closed()
    }

    fn joins(&self, _: &Self) -> bool {
        false
    }
}

/// Returns true if nobody waits for a text.
struct Abandoned<'j>(&'j UnboundedSender<Event>);

impl Observer for Abandoned<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_closed()
    }
}

impl Job {
    /// Continues the text, and counts the tokens. A panic becomes an error.
    fn run(self, generated: &AtomicU64) {
        let mut count = |tokens: usize| {
            generated.fetch_add(tokens as u64, Ordering::Relaxed);
        };
        let continued = || self.continued(&mut count);
        let ended = catch_unwind(AssertUnwindSafe(continued));
        let end = match ended.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(Some((reason, tokens))) => Event::End(reason, tokens),
            Ok(None) => return,
            Err(error) => Event::Failed(error),
        };
        drop(self.events.send(end));
    }

    /// The reason of the end and the number of tokens; `None` if nobody waits for the text. `count`
    /// is told of new tokens.
    fn continued(&self, count: &mut dyn FnMut(usize)) -> Result<Option<(FinishReason, usize)>> {
        let Beginning { generator, ids, sampling, stops } = &self.beginning;
        let observer = Abandoned(&self.events);
        let pieces = generator.generate_watched(Prompt::Ids(ids), *sampling, &observer)?;
        let mut pieces = pieces.until(stops);
        let mut counted = 0;
        while let Some(piece) = pieces.step() {
            let tokens = pieces.ids().len();
            count(tokens.saturating_sub(std::mem::replace(&mut counted, tokens)));
            let piece = piece?;
            if !piece.is_empty() {
                drop(self.events.send(Event::Text(piece)));
            }
            if self.is_abandoned() {
                return Ok(None);
            }
        }
        Ok(pieces.finish_reason().map(|reason| (reason, counted)))
    }
}

#[cfg(test)]
mod tests {
    use nanoembed::Kind;

    use super::*;
    use crate::place::Places;

    /// A line without threads, whose jobs the test takes.
    fn continuations() -> Continuations {
        Continuations::start(0, &Arc::default()).unwrap()
    }

    fn beginning() -> Beginning {
        let generator = Generator::open("../tests/data/llama/tiny.gguf").unwrap();
        let ids = generator.encode(Prompt::Text("the weather")).unwrap();
        let sampling = Sampling::greedy().max_tokens(50);
        Beginning { generator, ids, sampling, stops: Vec::new() }
    }

    #[test]
    fn texts_that_nobody_waits_for_leave_the_line() {
        let (all, places) = (continuations(), Places::new(10, 1));
        let submit = || all.submit(beginning(), places.take(0).unwrap());
        let (gone, _kept) = (submit(), submit());
        drop(gone);
        assert_eq!(places.count(), 1);
        assert_eq!(all.0.line.take().unwrap().len(), 1);
        assert_eq!(places.count(), 0);
    }

    #[test]
    fn a_text_that_nobody_waits_for_is_not_continued_to_its_end() {
        let (all, places) = (continuations(), Places::new(10, 1));
        let mut waiting = Some(all.submit(beginning(), places.take(0).unwrap()));
        let job = all.0.line.take().unwrap().remove(0);
        let mut counted = 0;
        let mut count = |tokens| {
            counted += tokens;
            if counted == 3 {
                waiting = None;
            }
        };
        assert!(job.continued(&mut count).unwrap().is_none());
        assert_eq!(counted, 3);
        // Nor is its prompt read.
        let error = job.continued(&mut |_| ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Cancelled);
    }
}
