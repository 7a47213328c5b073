//! The limit on requests in progress, and on the bytes of their bodies. A request takes a place.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limit on the bytes of all bodies together, as a number of bodies of the largest size.
const LARGEST_BODIES: usize = 16;

/// Places for requests.
#[derive(Debug)]
pub(crate) struct Places {
    requests: usize,
    bytes: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    requests: usize,
    bytes: usize,
}

/// The place of a request. Each part of the work on a request holds a clone; when the last is dropped
/// the place is free again.
pub(crate) type Place = Arc<Taking>;

/// A place that is taken.
#[derive(Debug)]
pub(crate) struct Taking {
    places: Arc<Places>,
    bytes: usize,
}

impl Places {
    pub(crate) fn new(requests: usize, body_bytes: usize) -> Arc<Self> {
        let bytes = body_bytes.saturating_mul(LARGEST_BODIES);
        Arc::new(Self { requests, bytes, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a request with so many bytes, if there is one.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Place> {
        let mut taken = self.taken();
        let sum = taken.bytes.saturating_add(bytes);
        if taken.requests >= self.requests || sum > self.bytes {
            return None;
        }
        taken.requests += 1;
        taken.bytes = sum;
        Some(Arc::new(Taking { places: Arc::clone(self), bytes }))
    }

    /// The number of places that are taken.
    pub(crate) fn count(&self) -> usize {
        self.taken().requests
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.requests -= 1;
        taken.bytes -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_by_requests_and_by_bytes() {
        let places = Places::new(2, 10);
        let first = places.take(10);
        let second = places.take(10);
        assert!(first.is_some() && second.is_some() && places.take(0).is_none());
        let clone = first.clone();
        drop(first);
        assert!(places.take(0).is_none());
        drop(clone);
        assert!(places.take(0).is_some());
        let many = Places::new(100, 10);
        let all: Vec<_> = (0..20).map_while(|_| many.take(10)).collect();
        assert_eq!((all.len(), many.count()), (LARGEST_BODIES, LARGEST_BODIES));
    }
}
