//! Work is proportional to the input, in counted steps: calls of decoders and the bytes that they
//! read, and the total memory that any reader and tokenizer requests. The steps of the code itself
//! are counted by `.ci/run complexity`, which needs an instrumented build.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use nanoembed_core::Error;
use nanoembed_core::event::{Decode, Mode, Step};
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::{amb, embd, finalfusion, gguf, safetensors, uqff};
use nanoembed_core::read::Push;
use nanoembed_host_tests::complexity::{Subject, subjects};

/// The largest growth of the work, relative to that of the input.
const MOST_GROWTH: f64 = 1.15;
/// The same for memory: a growing vector doubles, so that it takes at most twice the minimum.
/// Quadratic growth would be a factor of four here.
const MOST_GROWTH_OF_MEMORY: f64 = 2.1;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|it| it.set(it.get() + layout.size() as u64));
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

/// Counts the calls and bytes of a decoder.
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

/// Calls, and bytes read, of a decoder to which a file is pushed in small chunks.
fn steps(decoder: impl Decode, file: &[u8]) -> u64 {
    let steps = Cell::new(0);
    // A carry for the longest item; files with longer ones are rejected.
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
        "gguf" => steps(gguf::GgufDecoder::<64>::new(mode), file),
        "amb" => steps(amb::AmbDecoder::<64>::new(mode), file),
        "weights" => steps(embd::EmbdDecoder::<64>::new(mode), file),
        "finalfusion" => steps(finalfusion::FinalfusionDecoder::new(mode), file),
        "safetensors" => steps(safetensors::SafetensorsDecoder::new(mode, &mut entries), file),
        "uqff" => steps(uqff::UqffDecoder::new(mode, &mut entries), file),
        _ => return None,
    })
}

/// The growth of a count relative to that of the input.
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
        // One-time initialisation happens first.
        run(&inputs[0]);
        let allocated = inputs.each_ref().map(|input| {
            let before = ALLOCATED.get();
            run(input);
            // Small fixed amounts are ignored.
            (ALLOCATED.get() - before).max(20_000)
        });
        let growth = growth(inputs.each_ref().map(Vec::len), allocated);
        assert!(growth <= MOST_GROWTH_OF_MEMORY, "{name}: {allocated:?} bytes, {growth:.3}");
    }
}
