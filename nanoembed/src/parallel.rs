//! One loop on several threads. Rayon's adaptors compile to dozens of functions for each closure,
//! so the crate's loops call this one through a reference.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed_core::{Error, limit};
use rayon::prelude::*;

/// Elements of [`sum`] that a thread takes at once.
const PIECE: usize = 1 << 14;

/// An item, and later its result.
struct Slot<T, R> {
    item: Option<T>,
    result: Option<Result<R, Error>>,
}

/// Calls `job` with every index below `count`, on the threads of rayon's pool.
fn each(count: usize, job: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(job);
}

/// The results of `job` for all `items` in their order, or the first error. Memory for them is
/// reserved before the threads start; after an error, no item that follows it is begun.
///
/// # Errors
///
/// The first error among the results; [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn gathered<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T>,
    job: &(dyn Fn(T) -> Result<R, Error> + Sync),
) -> Result<Vec<R>, Error> {
    let slots = items.map(|item| Mutex::new(Slot { item: Some(item), result: None }));
    run(limit::exactly(slots)?, job)
}

fn run<T: Send, R: Send>(
    slots: Vec<Mutex<Slot<T, R>>>,
    job: &(dyn Fn(T) -> Result<R, Error> + Sync),
) -> Result<Vec<R>, Error> {
    let mut results = limit::reserved(slots.len())?;
    let failed = AtomicUsize::new(usize::MAX);
    // A lock is poisoned only by a panic, which rayon passes on.
    let with = |at: usize, change: &mut dyn FnMut(&mut Slot<T, R>)| {
        if let Some(Ok(mut slot)) = slots.get(at).map(Mutex::lock) {
            change(&mut slot);
        }
    };
    each(slots.len(), &|at| {
        if at > failed.load(Ordering::Relaxed) {
            return;
        }
        // The lock is not held while the job runs, which may have loops of its own.
        let mut item = None;
        with(at, &mut |slot| item = slot.item.take());
        let mut result = item.map(job);
        if matches!(result, Some(Err(_))) {
            failed.fetch_min(at, Ordering::Relaxed);
        }
        with(at, &mut |slot| slot.result = result.take());
    });
    for slot in slots {
        let result = slot.into_inner().ok().and_then(|slot| slot.result);
        results.extend(result.transpose()?);
    }
    Ok(results)
}

/// Calls `job` with all `items`.
///
/// # Errors
///
/// As [`gathered`].
pub(crate) fn try_each<T: Send>(
    items: impl ExactSizeIterator<Item = T>,
    job: &(dyn Fn(T) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    gathered(items, job).map(drop)
}

/// The sum of `term` for all elements of `a`; `b`, as long as `a`, has its second arguments. It does
/// not depend on the number of threads.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn sum(a: &[f32], b: &[f32], term: fn(f32, f32) -> f64) -> Result<f64, Error> {
    let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
    let sums = gathered(pieces, &|(a, b)| Ok(a.iter().zip(b).map(|(a, b)| term(*a, *b)).sum()))?;
    Ok(sums.iter().sum::<f64>())
}

/// Σ x².
///
/// # Errors
///
/// As [`sum`].
pub(crate) fn power(x: &[f32]) -> Result<f64, Error> {
    sum(x, x, |x, _| f64::from(x).powi(2))
}

/// Σ (a − b)².
///
/// # Errors
///
/// As [`sum`].
pub(crate) fn squared_error(a: &[f32], b: &[f32]) -> Result<f64, Error> {
    sum(a, b, |a, b| f64::from(a - b).powi(2))
}

#[cfg(test)]
mod tests {
    use nanoembed_core::ErrorKind;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        let squares = gathered(0..10_000_usize, &|i| Ok(i * i)).unwrap();
        assert!(squares.iter().enumerate().all(|(i, square)| *square == i * i));
        assert_eq!(squares.len(), 10_000);
    }

    #[test]
    fn the_first_error_in_order_is_returned() {
        for _ in 0..100 {
            let fail = |at: u32| Err(Error::new(u64::from(at), ErrorKind::InvalidArgument));
            let result = try_each(0..64_u32, &|i| if i < 3 { Ok(()) } else { fail(i) });
            assert_eq!(result.unwrap_err().offset(), Some(3));
        }
    }

    #[test]
    fn items_are_changed_in_place() {
        let mut values = vec![1_u32; 1000];
        let offsets: Vec<u32> = (0..100).collect();
        try_each(values.chunks_mut(10).zip(&offsets), &|(part, offset)| {
            part.fill(*offset);
            Ok(())
        })
        .unwrap();
        assert!(values.iter().enumerate().all(|(i, value)| *value == i as u32 / 10));
    }

    #[test]
    fn sums_take_every_element() {
        let values: Vec<f32> = (0..100_001).map(|i| i as f32 % 8.0).collect();
        let expected: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
        assert_eq!(power(&values).unwrap(), expected);
        assert_eq!(squared_error(&values, &vec![0.0; values.len()]).unwrap(), expected);
    }
}
