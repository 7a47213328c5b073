//! Progress on stderr, and only if that is a terminal.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use nanoembed::{Observer, Task, Unit};

use crate::error::warn;
use crate::streams::say;

/// The progress of a job. Nothing is drawn where stderr is not a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A job over `total` bytes.
    pub(crate) fn bytes(what: &'static str, total: u64) -> Self {
        Self::new(
            what,
            Some(total),
            "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
        )
    }

    /// A job over an unknown number of texts.
    pub(crate) fn texts(what: &'static str, total: Option<u64>) -> Self {
        match total {
            Some(_) => Self::new(
                what,
                total,
                "{msg} {wide_bar} {human_pos}/{human_len} {per_sec}, {eta} left",
            ),
            None => Self::new(what, None, "{spinner} {msg} {human_pos} texts {per_sec}"),
        }
    }

    /// Texts that are read from input of so many bytes, if that is known: it tells how much is
    /// left.
    fn reading(what: &'static str, input_bytes: Option<u64>) -> Self {
        match input_bytes {
            Some(_) => Self::new(what, input_bytes, "{msg} {wide_bar} {percent}%, {eta} left"),
            None => Self::new(what, None, "{spinner} {msg}, {elapsed}"),
        }
    }

    fn new(what: &'static str, total: Option<u64>, template: &str) -> Self {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        // It takes a thread.
        if !cfg!(target_os = "wasi") {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    pub(crate) fn advance(&self, by: u64) {
        self.0.inc(by);
    }
}

/// Texts that are read and dealt with, some at a time.
pub(crate) struct Reading {
    what: &'static str,
    bar: Option<Progress>,
    start: Instant,
    texts: u64,
    /// Tokens of the texts so far.
    pub(crate) tokens: u64,
}

impl Reading {
    /// Begins `what` is done to texts in input of so many bytes, if that is known.
    pub(crate) fn begin(what: &'static str, input_bytes: Option<u64>, quiet: bool) -> Self {
        let bar = (!quiet).then(|| Progress::reading(what, input_bytes));
        Self { what, bar, start: Instant::now(), texts: 0, tokens: 0 }
    }

    /// So many more texts are done, and bytes of the input read.
    pub(crate) fn read(&mut self, texts: usize, bytes: u64) {
        self.texts += texts as u64;
        let Some(Progress(bar)) = &self.bar else { return };
        let (texts, rate) = (HumanCount(self.texts), rate(self.texts, self.start.elapsed()));
        bar.set_message(format!("{}: {texts} texts, {rate:.0}/s", self.what));
        bar.inc(bytes);
    }

    /// Stops the display; later lines start on an empty line.
    pub(crate) fn end(&mut self) {
        self.bar = None;
    }

    /// Prints a summary of the finished work: see [`say_done`].
    pub(crate) fn say_done(&self, done: &str) {
        say_done(done, self.texts, self.tokens, self.start.elapsed());
    }
}

/// Shows the progress of the library's work, unless told to be quiet.
#[derive(Default)]
pub(crate) struct Terminal {
    quiet: bool,
    task: Mutex<Option<Progress>>,
}

impl Terminal {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, task: Mutex::default() }
    }

    fn set(&self, task: Option<Progress>) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = task;
    }
}

impl Observer for Terminal {
    fn begin(&self, task: Task) {
        if self.quiet {
            return;
        }
        self.set(Some(match (task.unit, task.total) {
            (Unit::Bytes, Some(total)) => Progress::bytes(task.name, total),
            (_, total) => Progress::texts(task.name, total),
        }));
    }

    fn advance(&self, by: u64) {
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.advance(by);
        }
    }

    fn end(&self) {
        self.set(None);
    }

    fn warn(&self, warning: &str) {
        if !self.quiet {
            warn(warning);
        }
    }

    fn note(&self, note: &str) {
        if !self.quiet {
            say(note);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Reports the texts and tokens that a command has worked on, in a line for people: nothing where
/// stderr is not a terminal.
pub(crate) fn say_done(what: &str, texts: u64, tokens: u64, took: Duration) {
    if texts > 1 && std::io::stderr().is_terminal() {
        say(format_args!(
            "{what} {} texts of {} tokens in {:.1} s: {:.0} texts/s",
            HumanCount(texts),
            HumanCount(tokens),
            took.as_secs_f64(),
            rate(texts, took),
        ));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}
