//! An allocator that fails one allocation, for tests that run a job with its first allocation
//! failing, then its second, until it succeeds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Debug;
use std::ptr::null_mut;

use nanoembed_core::model::InOrder;
use nanoembed_core::owned::folder::Prefix;
use nanoembed_core::owned::{Encoder, FileWeights, ModelFault, TextSession};

/// Fails one allocation of the thread that runs a job, and counts the bytes that it allocates.
#[derive(Debug)]
pub struct Refusing {
    /// Smaller allocations succeed.
    least: usize,
    /// As do those of these sizes.
    spared: &'static [usize],
}

thread_local! {
    /// Allocations of a thread until one fails; 0 for none.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// The least size that a thread refuses for a while, if that is more than the allocator's.
    static LEAST: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

impl Refusing {
    /// Fails an allocation of any size.
    #[must_use]
    pub const fn on_each_thread() -> Self {
        Self { least: 0, spared: &[] }
    }

    /// Fails an allocation of at least so many bytes, but for these sizes.
    #[must_use]
    pub const fn sparing(least: usize, spared: &'static [usize]) -> Self {
        Self { least, spared }
    }

    fn count(bytes: isize) {
        LIVE.set(LIVE.get() + bytes);
    }

    /// Returns true if this allocation is to fail.
    fn is_refused(&self, block: Layout) -> bool {
        let (left, size) = (LEFT.get(), block.size());
        let least = self.least.max(LEAST.get());
        if left == 0 || size < least || self.spared.contains(&size) {
            return false;
        }
        LEFT.set(left - 1);
        left == 1
    }

    /// Runs `job` with all allocations smaller than `least` succeeding.
    pub fn with_least<T>(&self, least: usize, job: impl FnOnce() -> T) -> T {
        let before = LEAST.replace(least);
        let done = job();
        LEAST.set(before);
        done
    }

    /// Runs `job` with its first allocation failing, then its second, until it succeeds without a
    /// failure; beyond 200 allocations only one in every hundred. Returns the number of failed runs.
    ///
    /// # Panics
    ///
    /// If the job fails although nothing was refused, or leaks.
    pub fn refuse_each<T, E: Debug>(&self, name: &str, job: impl FnMut() -> Result<T, E>) -> usize {
        self.judge_each(name, job, drop)
    }

    /// The same with every outcome shown to `judge`, for which nothing is refused.
    ///
    /// # Panics
    ///
    /// As [`refuse_each`](Self::refuse_each).
    pub fn judge_each<T, E: Debug>(
        &self,
        name: &str,
        mut job: impl FnMut() -> Result<T, E>,
        mut judge: impl FnMut(Result<T, E>),
    ) -> usize {
        // Process-wide caches are not leaks.
        let first = job();
        assert!(first.is_ok(), "{name}: {:?}", first.err());
        judge(first);
        let (mut call, mut refused) = (1, 0);
        loop {
            let before = LIVE.get();
            LEFT.set(call);
            let outcome = job();
            let is_through = LEFT.replace(0) > 0;
            let is_error = outcome.is_err();
            judge(outcome);
            let more = LIVE.get() - before;
            assert!(more == 0, "{name} leaks with call {call} refused: {more}");
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
        Self::count(block.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(block) }
    }

    // `limit::filled` requests much zeroed memory only after it was given as much memory and
    // returned it, so that call never fails.
    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
        if block.size() <= MUCH && self.is_refused(block) {
            return null_mut();
        }
        Self::count(block.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(block) }
    }

    unsafe fn dealloc(&self, start: *mut u8, block: Layout) {
        Self::count(-block.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(start, block) }
    }
}

/// Bytes beyond which `limit::filled` requests zeroed memory.
const MUCH: usize = 1 << 17;

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
        let mut logits = nanoembed_core::limit::filled(classes.labels().len(), 0.0)?;
        let mut session = model.session_for(model.plan(pair.ids.len()))?;
        return Ok(model.classify(&mut session, &InOrder, &[pair], &mut logits)?);
    }
    let text = prompt.before(TEXT)?;
    let found = model.encode(&text, limit, &mut session)?;
    let mut session = model.session_for(model.plan(found.ids.len().max(1)))?;
    let mut vector = nanoembed_core::limit::filled(model.dimensions(), 0.0)?;
    let lengths = [found.ids.len()];
    Ok(model.embed(&mut session, &InOrder, &found.ids, &lengths, 0, &mut vector)?)
}
