//! Scratch memory that threads take turns with.

use std::sync::{Mutex, PoisonError};

use nanoembed_core::limit;

/// Unused values, kept for reuse.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pool<T> {
    /// Does something with one of them, or with what `make` makes if there is none.
    pub(crate) fn borrow<R, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
        act: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut thing = self.take().map_or_else(make, Ok)?;
        let done = act(&mut thing);
        self.put(thing);
        done
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps it, if there is memory for that.
    fn put(&self, thing: T) {
        let _ = limit::push(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), thing);
    }
}

impl<T: Default> Pool<T> {
    /// Does something with one of them, or with a new one.
    pub(crate) fn lend<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        let mut thing = self.take().unwrap_or_default();
        let done = act(&mut thing);
        self.put(thing);
        done
    }
}
