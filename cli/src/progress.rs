//! Progress on stderr, and only if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How far a job is. Nothing is drawn where stderr is not a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A job over `total` bytes.
    pub(crate) fn bytes(what: &'static str, total: u64) -> Self {
        Self::new(what, Some(total), "{msg} {wide_bar} {bytes}/{total_bytes} {eta}")
    }

    /// A job over an unknown number of texts.
    pub(crate) fn texts(what: &'static str, total: Option<u64>) -> Self {
        match total {
            Some(_) => {
                Self::new(what, total, "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}")
            }
            None => Self::new(what, None, "{spinner} {msg} {human_pos} texts {per_sec}"),
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
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar)
    }

    pub(crate) fn advance(&self, by: u64) {
        self.0.inc(by);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
