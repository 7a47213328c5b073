//! That work grows as the input grows, in counted steps: calls of decoders and the bytes that they
//! look at, and the memory that any reader and tokenizer asks for in all. The code's own steps are
//! counted by `.ci/run complexity`, which needs a build for that.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use nanoembed_core::Error;
use nanoembed_core::event::{Decode, Mode, Step};
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::{amb, embd, finalfusion, gguf, safetensors, uqff};
use nanoembed_core::read::Push;
use nanoembed_host_tests::complexity::{Subject, subjects};

/// How much more than the input the work may grow.
const MOST_GROWTH: f64 = 1.15;
/// The same of memory: a vector that grows doubles, so that what it took is at most twice what it
/// would be. What grows with the square of the input grows by four here.
const MOST_GROWTH_OF_MEMORY: f64 = 2.1;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|it| it.set(it.get() + layout.size() as u64));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts what is asked of a decoder.
struct Counted<'c, D> {
    decoder: D,
    steps: &'c Cell<u64>,
}

impl<D: Decode> Decode for Counted<'_, D> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error> {
        self.steps.set(self.steps.get() + 1 + input.len() as u64);
        self.decoder.next(input)
    }

    fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    fn skippable(&self) -> u64 {
        self.decoder.skippable()
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        self.decoder.skip(bytes)
    }

    fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }
}

/// Calls, and bytes looked at, of a decoder that a file is pushed through in small chunks.
fn steps(decoder: impl Decode, file: &[u8]) -> u64 {
    let steps = Cell::new(0);
    // Whoever pushes has room for the longest item, or the file is refused.
    let mut carry = vec![0; 4096];
    let mut push = Push::new(Counted { decoder, steps: &steps }, &mut carry);
    let mut on_event = |_: nanoembed_core::event::Event<'_>| Ok(());
    for chunk in file.chunks(64) {
        if push.feed(chunk, &mut on_event).is_err() {
            return steps.get();
        }
    }
    let _ = push.finish(&mut on_event);
    steps.get()
}

fn steps_of(name: &str, file: &[u8]) -> Option<u64> {
    let mode = Mode::Lenient;
    let mut entries = vec![Entry::default(); file.len() / 40 + 1];
    Some(match name.split(": ").next()? {
        "gguf" => steps(gguf::Decoder::<64>::new(mode), file),
        "amb" => steps(amb::Decoder::<64>::new(mode), file),
        "weights" => steps(embd::Decoder::<64>::new(mode), file),
        "finalfusion" => steps(finalfusion::Decoder::new(mode), file),
        "safetensors" => steps(safetensors::Decoder::new(mode, &mut entries), file),
        "uqff" => steps(uqff::Decoder::new(mode, &mut entries), file),
        _ => return None,
    })
}

/// How much more than the input something grew.
#[allow(clippy::cast_precision_loss)]
fn growth(sizes: [usize; 2], counts: [u64; 2]) -> f64 {
    let ratio = |pair: [f64; 2]| pair[1] / pair[0];
    ratio(counts.map(|count| count as f64)) / ratio(sizes.map(|size| size as f64))
}

#[test]
fn decoders_look_at_bytes_a_bounded_number_of_times() {
    let mut measured = 0;
    for Subject { name, make, .. } in subjects() {
        let files = [20_000, 80_000].map(&make);
        let sizes = files.each_ref().map(Vec::len);
        let Some(few) = steps_of(&name, &files[0]) else { continue };
        let many = steps_of(&name, &files[1]).expect("the same reader");
        let growth = growth(sizes, [few, many]);
        assert!(growth <= MOST_GROWTH, "{name}: {few} to {many} steps, {growth:.3}");
        measured += 1;
    }
    assert!(measured >= 10, "{measured}");
}

#[test]
fn memory_that_is_asked_for_grows_as_the_input() {
    for Subject { name, make, run } in subjects() {
        let inputs = [20_000, 80_000].map(&make);
        // What is made once is made before.
        run(&inputs[0]);
        let allocated = inputs.each_ref().map(|input| {
            let before = ALLOCATED.get();
            run(input);
            // What little is needed besides counts for nothing.
            (ALLOCATED.get() - before).max(20_000)
        });
        let growth = growth(inputs.each_ref().map(Vec::len), allocated);
        assert!(growth <= MOST_GROWTH_OF_MEMORY, "{name}: {allocated:?} bytes, {growth:.3}");
    }
}
