//! Work on the threads, without the interpreter's lock. The calling thread waits, and looks now and
//! then whether Python has a signal to handle: Ctrl-C ends the work between two batches.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nanoembed::{Observer, Task};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::error::OrException;

/// The interval at which Python's signals are checked.
const INTERVAL: Duration = Duration::from_millis(50);

/// The state shared between the work and its watcher.
#[derive(Default)]
struct Watch {
    done: AtomicU64,
    /// `u64::MAX` if it is not known.
    total: AtomicU64,
    is_cancelled: AtomicBool,
    warnings: Mutex<Vec<String>>,
}

impl Observer for Watch {
    fn begin(&self, task: Task) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(task.total.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn advance(&self, by: u64) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    fn warn(&self, warning: &str) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(warning.to_owned());
    }
}

impl Watch {
    /// Handles signals, and tells `progress` where the work is.
    fn look(&self, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            self.tell(py, progress)
        })
    }

    fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(progress) = progress else { return Ok(()) };
        let (done, total) = (&self.done, &self.total);
        let (done, total) = (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
        let total = (total != u64::MAX).then_some(total);
        progress.call1(py, (done, total)).map(drop)
    }
}

/// A watch for work that does not ask whether it is cancelled: it is unwound from the place where
/// it reports progress. Its values are dropped, unfinished files too.
struct Unwinding<'w>(&'w dyn Observer);

/// The payload of the panic that ends the work.
struct Interrupted;

impl Observer for Unwinding<'_> {
    fn begin(&self, task: Task) {
        self.0.begin(task);
    }

    fn advance(&self, by: u64) {
        self.0.advance(by);
        if self.0.is_cancelled() {
            resume_unwind(Box::new(Interrupted));
        }
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn warn(&self, warning: &str) {
        self.0.warn(warning);
    }
}

/// Does `work`, which has no progress to show, on the usual threads; Ctrl-C ends it where it tells
/// how far it is.
pub(crate) fn interruptible<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&dyn Observer) -> nanoembed::Result<R> + Send,
) -> PyResult<R> {
    let pool = crate::threads::usual()?;
    watched(py, &pool, None, |observer| {
        let unwinding = Unwinding(observer);
        match catch_unwind(AssertUnwindSafe(|| work(&unwinding))) {
            Ok(result) => result,
            // The signal's exception is raised instead of this error.
            Err(payload) if payload.is::<Interrupted>() => Err(nanoembed::Error::bad_input("")),
            Err(payload) => resume_unwind(payload),
        }
    })
}

/// Runs `work` on threads of `pool`; `progress` is called with the finished part and the total.
/// Exceptions that the signal's handler or `progress` raises cancel the work and are raised.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    pool: &ThreadPool,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Observer) -> nanoembed::Result<R> + Send,
) -> PyResult<R> {
    let watch = Watch::default();
    let (mut result, mut raised) = (None, None);
    py.detach(|| {
        let (done, when_done) = mpsc::channel::<()>();
        let (watch, result) = (&watch, &mut result);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                *result = Some(work(watch));
                drop(done);
            });
            while when_done.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = watch.look(progress).err();
                    watch.is_cancelled.store(raised.is_some(), Ordering::Relaxed);
                }
            }
        });
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    let result = result.ok_or_else(|| PyRuntimeError::new_err("the work was lost"))?;
    let result = result.or_exception(py)?;
    watch.tell(py, progress)?;
    warn(py, watch.warnings.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    Ok(result)
}

/// Warns of each of these.
pub(crate) fn warn(py: Python<'_>, warnings: Vec<String>) -> PyResult<()> {
    warnings.iter().try_for_each(|warning| {
        let text = CString::new(&*nanoembed::escape::line(warning))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)
    })
}
