//! Measures how work grows with the input: counted steps over sizes from 10 KB on, each four times
//! the previous one. `complexity [MOST_BYTES [PART OF A NAME]]`; `.ci/run complexity` builds it so
//! that steps are counted: the code regions that the compiler counts for coverage.
//!
//! Steps may grow by 1.15 times the growth of the input. So may the total memory requested, apart
//! from vectors, which grow by doubling. Neither is a clock: the same build gives the same numbers
//! on every machine.

#![allow(unexpected_cfgs, reason = "set by .ci/run complexity")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use nanoembed_host_tests::complexity::{Subject, subjects};

/// The largest growth of the work, relative to that of the input.
const MOST_GROWTH: f64 = 1.15;
const MOST_GROWTH_OF_MEMORY: f64 = 2.1;
/// Fixed costs: growth is not assessed below this number of steps.
const FEW_STEPS: u64 = 20_000;
const FEW_BYTES: u64 = 1 << 20;

/// The total number of bytes requested.
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(nanoembed_counted)]
fn steps() -> u64 {
    unsafe extern "C" {
        fn __llvm_profile_begin_counters() -> *const u64;
        fn __llvm_profile_end_counters() -> *const u64;
    }
    // SAFETY: the counting runtime defines these, and the counters are between them.
    let counters = unsafe {
        let (start, end) = (__llvm_profile_begin_counters(), __llvm_profile_end_counters());
        std::slice::from_raw_parts(start, usize::try_from(end.offset_from(start)).expect("order"))
    };
    counters.iter().copied().fold(0, u64::wrapping_add)
}

#[cfg(not(nanoembed_counted))]
fn steps() -> u64 {
    0
}

/// The cost of reading an input.
struct Cost {
    bytes: usize,
    steps: u64,
    allocated: u64,
}

fn cost(subject: &Subject, bytes: usize) -> Cost {
    let input = (subject.make)(bytes);
    let (steps_before, allocated_before) = (steps(), ALLOCATED.load(Ordering::Relaxed));
    (subject.run)(&input);
    Cost {
        bytes: input.len(),
        steps: steps() - steps_before,
        allocated: ALLOCATED.load(Ordering::Relaxed) - allocated_before,
    }
}

/// The growth of a count relative to that of the input; 1 for small counts.
#[allow(clippy::cast_precision_loss)]
fn growth(sizes: [usize; 2], counts: [u64; 2], few: u64) -> f64 {
    if counts[1] < few {
        return 1.0;
    }
    let of_input = sizes[1] as f64 / sizes[0] as f64;
    counts[1] as f64 / counts[0].max(few / 4) as f64 / of_input
}

fn main() -> ExitCode {
    if !cfg!(nanoembed_counted) {
        eprintln!("steps are not counted in this build: `.ci/run complexity`");
        return ExitCode::from(2);
    }
    let mut arguments = std::env::args().skip(1);
    let most = arguments.next().map_or(10_240_000, |most| most.parse().expect("bytes"));
    let part = arguments.next().unwrap_or_default();
    println!("steps a byte\tgrowth\tmemory a byte\tgrowth\tbytes\tsubject");
    let mut failed = 0;
    for subject in subjects().iter().filter(|subject| subject.name.contains(&part)) {
        // One-time initialisation happens first.
        cost(subject, 1_000);
        let sizes = (0..).map(|times| 10_000 << (2 * times)).take_while(|size| *size <= most);
        let costs: Vec<Cost> = sizes.map(|size| cost(subject, size)).collect();
        let pairs = || costs.windows(2).map(|pair| [&pair[0], &pair[1]]);
        let worst = |growths: Vec<f64>| growths.into_iter().fold(0.0, f64::max);
        let of_steps = worst(
            pairs().map(|it| growth(it.map(|c| c.bytes), it.map(|c| c.steps), FEW_STEPS)).collect(),
        );
        let of_memory = worst(
            pairs()
                .map(|it| growth(it.map(|c| c.bytes), it.map(|c| c.allocated), FEW_BYTES))
                .collect(),
        );
        let last = costs.last().expect("one size at least");
        #[allow(clippy::cast_precision_loss)]
        let each = |count: u64| count as f64 / last.bytes as f64;
        let is_over = of_steps > MOST_GROWTH || of_memory > MOST_GROWTH_OF_MEMORY;
        failed += u32::from(is_over);
        println!(
            "{:.1}\t{of_steps:.3}\t{:.1}\t{of_memory:.3}\t{}\t{}{}",
            each(last.steps),
            each(last.allocated),
            last.bytes,
            subject.name,
            if is_over { "\tOVER" } else { "" }
        );
    }
    ExitCode::from(u8::from(failed > 0))
}
