//! Progress of long jobs, and their cancellation.

/// Receives progress and messages of a job. All methods do nothing by default; [`Silent`] is an
/// observer that keeps to that.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use nanoembed::{Observer, Task};
///
/// #[derive(Default)]
/// struct Counter(AtomicU64);
///
/// impl Observer for Counter {
///     fn advance(&self, by: u64) {
///         self.0.fetch_add(by, Ordering::Relaxed);
///     }
/// }
/// ```
pub trait Observer: Sync {
    /// A task begins. A job has one task at a time.
    fn begin(&self, task: Task) {
        let _ = task;
    }

    /// The task has done `by` more of its units. Called from several threads.
    fn advance(&self, by: u64) {
        let _ = by;
    }

    /// The task has ended.
    fn end(&self) {}

    /// Returns true to end the job now, with [`Kind::Cancelled`](crate::Kind::Cancelled). Asked
    /// often, from several threads; once true, it stays true. Jobs that cannot be cancelled do not
    /// ask.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Something is not as the user may expect, though the job goes on.
    fn warn(&self, warning: &str) {
        let _ = warning;
    }

    /// Something that is good to know.
    fn note(&self, note: &str) {
        let _ = note;
    }
}

/// An observer that listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// A stretch of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// The name of the task, such as `converting`.
    pub name: &'static str,
    /// The number of units, where that is known.
    pub total: Option<u64>,
    /// The unit that is counted.
    pub unit: Unit,
}

/// A unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes of a file.
    Bytes,
    /// Texts.
    Texts,
}

/// A task that runs, and ends when this is dropped.
pub struct Progress<'o>(&'o dyn Observer);

impl<'o> Progress<'o> {
    /// A task over `total` bytes.
    pub fn bytes(observer: &'o dyn Observer, name: &'static str, total: u64) -> Self {
        observer.begin(Task { name, total: Some(total), unit: Unit::Bytes });
        Self(observer)
    }

    /// A task over texts.
    pub fn texts(observer: &'o dyn Observer, name: &'static str, total: Option<u64>) -> Self {
        observer.begin(Task { name, total, unit: Unit::Texts });
        Self(observer)
    }

    /// A task without an observer.
    pub fn silent() -> Self {
        Self(&Silent)
    }

    /// So many more units are done.
    pub fn advance(&self, by: u64) {
        self.0.advance(by);
    }

    /// An observer of a part of the task, which counts into it.
    #[must_use]
    pub const fn part(&self) -> impl Observer {
        Part(self.0)
    }
}

/// Takes the units of a part of a task. Its beginning and end are not those of the task.
struct Part<'o>(&'o dyn Observer);

impl Observer for Part<'_> {
    fn advance(&self, by: u64) {
        self.0.advance(by);
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn warn(&self, warning: &str) {
        self.0.warn(warning);
    }

    fn note(&self, note: &str) {
        self.0.note(note);
    }
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
