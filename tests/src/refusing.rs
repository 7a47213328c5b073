//! An allocator that fails one allocation, for tests that run a job with its first allocation
//! failing, then its second, until it succeeds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Debug;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use nanoembed_core::model::{Batch, InOrder};
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{Encoder, FileWeights, ModelFault, TextSession};

/// Fails one allocation, and counts the bytes allocated.
#[derive(Debug)]
pub struct Refusing {
    /// True if all threads count together.
    is_shared: bool,
    /// Other allocations succeed.
    sizes: Range<usize>,
}

thread_local! {
    /// Allocations of a thread until one fails; 0 for none.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// The same of all threads.
static ALL_LEFT: AtomicUsize = AtomicUsize::new(0);
static ALL_LIVE: AtomicIsize = AtomicIsize::new(0);

impl Refusing {
    /// Fails an allocation of the thread that runs the job.
    #[must_use]
    pub const fn on_each_thread() -> Self {
        Self { is_shared: false, sizes: 0..usize::MAX }
    }

    /// Fails an allocation of one of these `sizes` in bytes on any thread. Tests of one process run
    /// one after the other then.
    #[must_use]
    pub const fn on_all_threads(sizes: Range<usize>) -> Self {
        Self { is_shared: true, sizes }
    }

    fn left(&self) -> usize {
        if self.is_shared { ALL_LEFT.load(Ordering::Relaxed) } else { LEFT.get() }
    }

    fn set_left(&self, left: usize) {
        match self.is_shared {
            true => ALL_LEFT.store(left, Ordering::Relaxed),
            false => LEFT.set(left),
        }
    }

    fn live(&self) -> isize {
        if self.is_shared { ALL_LIVE.load(Ordering::Relaxed) } else { LIVE.get() }
    }

    fn count(&self, bytes: isize) {
        match self.is_shared {
            true => drop(ALL_LIVE.fetch_add(bytes, Ordering::Relaxed)),
            false => LIVE.set(LIVE.get() + bytes),
        }
    }

    /// Returns true if this allocation is to fail.
    fn is_refused(&self, block: Layout) -> bool {
        if !self.sizes.contains(&block.size()) {
            return false;
        }
        if !self.is_shared {
            let left = LEFT.get();
            LEFT.set(left.saturating_sub(1));
            return left == 1;
        }
        let less = |left: usize| left.checked_sub(1);
        ALL_LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) == Ok(1)
    }

    /// The bytes that other threads may keep for their queues, over all runs together.
    const fn kept_by_threads(&self) -> usize {
        if self.is_shared { 64 << 10 } else { 0 }
    }

    /// Runs `job` with its first allocation failing, then its second, until it succeeds without a
    /// failure; beyond 200 allocations only one in every hundred. Returns the number of failed runs.
    ///
    /// # Panics
    ///
    /// If the job fails although nothing was refused, or leaks.
    pub fn refuse_each<T, E: Debug>(
        &self,
        name: &str,
        mut job: impl FnMut() -> Result<T, E>,
    ) -> usize {
        // Process-wide caches are not leaks.
        drop(job().unwrap_or_else(|error| panic!("{name}: {error:?}")));
        let (mut call, mut refused) = (1, 0);
        let mut before = self.live();
        loop {
            self.set_left(call);
            let outcome = job();
            let is_through = self.left() > 0;
            self.set_left(0);
            let is_error = outcome.is_err();
            drop(outcome);
            let more = (self.live() - before).unsigned_abs();
            assert!(
                more <= self.kept_by_threads(),
                "{name} leaks with call {call} refused: {more}"
            );
            if !self.is_shared {
                before = self.live();
            }
            if is_through {
                assert!(!is_error, "{name} fails though nothing was refused");
                return refused;
            }
            refused += usize::from(is_error);
            call += if call < 200 { 1 } else { call / 100 };
        }
    }
}

// SAFETY: calls that do not fail are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        if self.is_refused(block) {
            return null_mut();
        }
        self.count(block.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(block) }
    }

    // `limit::filled` requests zeroed memory only after it was given as much memory and returned
    // it, so that call never fails.
    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
        self.count(block.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(block) }
    }

    unsafe fn dealloc(&self, start: *mut u8, block: Layout) {
        self.count(-block.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(start, block) }
    }
}

/// A text of many kinds of characters, and special tokens.
pub const TEXT: &str = "Hello, wörld! 日本 e\u{301}\u{327} <mask> [MASK] \u{fdfa} naïve 123";

/// Embeds or compares a text with the model's prompt.
///
/// # Errors
///
/// Any error of the model.
pub fn used(model: Encoder<FileWeights<&[u8]>>) -> Result<(), ModelFault> {
    let mut session = TextSession::default();
    let prompt = model.prompts().choose(&Prefix::Usual).unwrap_or_default();
    let prompt = model.prompt(prompt, &mut session)?;
    let limit = 64.min(model.usual_tokens());
    if let Some(classes) = model.classes() {
        let pair = model.encode_pair(TEXT, "b", limit, &mut session)?;
        let lengths = [pair.ids.len()];
        let texts = Batch { types: &pair.types, ..Batch::new(&pair.ids, &lengths) };
        let mut logits = nanoembed_core::limit::filled(classes.labels().len(), 0.0)?;
        let mut session = model.session_for(model.plan(pair.ids.len()))?;
        return Ok(model.classify(&mut session, &InOrder, &texts, &mut logits)?);
    }
    let text = prompt.before(TEXT)?;
    let found = model.encode(&text, limit, &mut session)?;
    let mut session = model.session_for(model.plan(found.ids.len().max(1)))?;
    let mut vector = nanoembed_core::limit::filled(model.dimensions(), 0.0)?;
    let lengths = [found.ids.len()];
    Ok(model.embed(&mut session, &InOrder, &found.ids, &lengths, 0, &mut vector)?)
}
