//! A line of jobs. A job leaves it as soon as nobody waits for its result.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use nanoembed::{Error, Result};
use tokio::sync::oneshot;

/// A job in a line.
pub(crate) trait Wait {
    /// True if nobody waits for the result any longer.
    fn is_abandoned(&self) -> bool;

    /// True if both can be done together.
    fn joins(&self, other: &Self) -> bool;
}

/// The future result of a job. If it is dropped, the job leaves the line.
pub(crate) struct Pending<J: Wait, T> {
    line: Arc<Line<J>>,
    pub(crate) reply: oneshot::Receiver<Result<T>>,
}

/// Jobs that wait, the next one first.
pub(crate) struct Line<J> {
    jobs: Mutex<Jobs<J>>,
    changed: Condvar,
}

struct Jobs<J> {
    waiting: VecDeque<J>,
    is_ended: bool,
}

impl<J> Default for Line<J> {
    fn default() -> Self {
        let jobs = Jobs { waiting: VecDeque::new(), is_ended: false };
        Self { jobs: Mutex::new(jobs), changed: Condvar::new() }
    }
}

impl<J> Line<J> {
    fn jobs(&self) -> MutexGuard<'_, Jobs<J>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job behind those that wait.
    pub(crate) fn push(&self, job: J) {
        self.jobs().waiting.push_back(job);
        self.changed.notify_one();
    }

    /// Puts unfinished jobs behind those that wait. For those who [take](Self::take) jobs: nobody is
    /// woken.
    pub(crate) fn put_back(&self, jobs: Vec<J>) {
        self.jobs().waiting.extend(jobs);
    }

    /// Ends the line: the jobs that wait are the last.
    pub(crate) fn end(&self) {
        self.jobs().is_ended = true;
        self.changed.notify_all();
    }
}

impl<J: Wait> Line<J> {
    /// The next job and those that join it, as soon as there is one; `None` at the end.
    pub(crate) fn take(&self) -> Option<Vec<J>> {
        let mut jobs = self.jobs();
        let first = loop {
            match jobs.waiting.pop_front() {
                Some(first) => break first,
                None if jobs.is_ended => return None,
                None => {}
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        };
        let (mut taken, mut others) = (vec![first], VecDeque::new());
        for job in std::mem::take(&mut jobs.waiting) {
            match taken.first().is_some_and(|first| job.joins(first)) {
                true => taken.push(job),
                false => others.push_back(job),
            }
        }
        jobs.waiting = others;
        Some(taken)
    }

    /// Drops the jobs that nobody waits for.
    pub(crate) fn drop_abandoned(&self) {
        self.jobs().waiting.retain(|job| !job.is_abandoned());
    }
}

impl<J: Wait, T> Pending<J, T> {
    pub(crate) fn new(line: &Arc<Line<J>>, reply: oneshot::Receiver<Result<T>>) -> Self {
        Self { line: Arc::clone(line), reply }
    }
}

impl<J: Wait, T> Future for Pending<J, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(Pin::new(&mut self.reply).poll(context));
        let gone = |_| Err(Error::bad_input("the thread of the models has ended"));
        Poll::Ready(reply.unwrap_or_else(gone))
    }
}

impl<J: Wait, T> Drop for Pending<J, T> {
    fn drop(&mut self) {
        self.reply.close();
        self.line.drop_abandoned();
    }
}
