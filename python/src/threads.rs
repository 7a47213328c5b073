//! Threads that compute. A forked process has none of its parent's: it makes its own when it first
//! needs them. rayon's global threads are never used, as they cannot be made again.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The most threads that may be asked for.
const MOST: usize = 1024;

/// So many threads, when they are needed.
pub(crate) struct Threads {
    /// 0 for one for each CPU that the process may use.
    count: usize,
    /// With the process that has made them.
    made: Mutex<Option<(u32, Arc<ThreadPool>)>>,
}

/// The threads of all models that ask for no number.
static USUAL: Threads = Threads { count: 0, made: Mutex::new(None) };

/// Those of a model.
pub(crate) enum Chosen {
    Usual,
    Own(Threads),
}

impl Chosen {
    pub(crate) fn new(count: Option<usize>) -> PyResult<Self> {
        match count {
            None => Ok(Self::Usual),
            Some(count @ 1..=MOST) => Ok(Self::Own(Threads { count, made: Mutex::default() })),
            Some(count) => {
                Err(PyValueError::new_err(format!("threads={count} is out of range: 1 to {MOST}")))
            }
        }
    }

    /// The threads, ready to work.
    pub(crate) fn pool(&self) -> PyResult<Arc<ThreadPool>> {
        match self {
            Self::Usual => USUAL.pool(),
            Self::Own(threads) => threads.pool(),
        }
    }
}

/// The threads of work that belongs to no model.
pub(crate) fn usual() -> PyResult<Arc<ThreadPool>> {
    USUAL.pool()
}

impl Threads {
    fn pool(&self) -> PyResult<Arc<ThreadPool>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let process = process::id();
        match made.take() {
            Some((maker, pool)) if maker == process => {
                *made = Some((maker, Arc::clone(&pool)));
                return Ok(pool);
            }
            // What the parent left has no threads to end: only its memory is here.
            Some((_, pool)) => std::mem::forget(pool),
            None => {}
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.count)
            .thread_name(|index| format!("nanoembed {index}"))
            .build()
            .map_err(|error| PyValueError::new_err(format!("threads: {error}")))?;
        let pool = Arc::new(pool);
        *made = Some((process, Arc::clone(&pool)));
        Ok(pool)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let made = self.made.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = made.take_if(|(maker, _)| *maker != process::id()) {
            std::mem::forget(pool);
        }
    }
}
