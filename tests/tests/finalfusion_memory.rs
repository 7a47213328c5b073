//! Hostile files cannot make a caller request memory: opening, indexing and verifying take no more
//! than 64 KiB and twice the file, and core itself allocates nothing.

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed_core::event::{Decode as _, Event, Mode};
use nanoembed_core::format::finalfusion::{
    BrokenUtf8, Finalfusion, FinalfusionDecoder, FinalfusionVerifier, MAX_ITEM_BYTES, StorageSpec,
};
use nanoembed_core::read::Push;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::words::{Duplicates, Index, IndexOptions, Memory, Words};
use nanoembed_tests::data;
use nanoembed_tests::finalfusion::{KINDS, Parts, made_up};
use nanoembed_tests::hostile::each_mutation;

/// Counts the allocated bytes, and their maximum.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        let live = LIVE.fetch_add(block.size(), Ordering::Relaxed) + block.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, start: *mut u8, block: Block) {
        LIVE.fetch_sub(block.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(start, block) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The largest number of bytes that `run` has allocated at any time.
fn peak(run: impl FnOnce()) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run();
    PEAK.load(Ordering::Relaxed) - before
}

/// Opens, verifies and indexes a file as hosts with a heap do, and looks some words up.
fn use_file(file: &[u8]) {
    let decoder = FinalfusionDecoder::new(Mode::Lenient).broken_utf8(BrokenUtf8::Bytes);
    let mut carry = vec![0; MAX_ITEM_BYTES.min(file.len())];
    let mut push = Push::new(FinalfusionVerifier::new(decoder.clone()), &mut carry);
    let verified = push.feed(file, |_| Ok(())).and_then(|()| push.finish(|_| Ok(())));
    let _ = verified;
    drop(carry);
    let Ok(read) = Finalfusion::parse_with(decoder, file) else { return };
    let Some(needed) = Index::memory_needed(read.layout()) else { return };
    let options = IndexOptions { seed: 1, duplicates: Duplicates::First };
    let memory = vec![0; needed];
    let Ok(index) = Index::build(&Memory(file), read.layout(), options, memory, &mut []) else {
        return;
    };
    let words = Words::with_index(Memory(file), *read.layout(), index);
    for word in read.words().take(3) {
        let _ = words.find(word);
    }
}

#[track_caller]
fn assert_bounded(file: &[u8], what: &str) {
    let peak = peak(|| use_file(file));
    let allowed = (64 << 10) + 2 * file.len();
    assert!(peak <= allowed, "{what}: {peak} bytes for a file of {}", file.len());
}

/// Many words without vectors.
fn tiny_items(words: Vec<Vec<u8>>, subwords: Subwords, ngrams: Vec<(Vec<u8>, u64)>) -> Vec<u8> {
    let rows = words.len() as u64 + ngrams.iter().map(|(_, index)| index + 1).max().unwrap_or(0);
    let parts = Parts {
        metadata: None,
        vocabulary: WordVocabulary {
            words: 0,
            subwords,
            min_n: 1,
            max_n: 1,
            begin: Bracket::BEGIN,
            end: Bracket::END,
        },
        words,
        ngrams,
        storage: StorageSpec::Array { rows, cols: 0 },
        floats: vec![],
        codes: vec![],
        norms: None,
    };
    parts.write()
}

// A single test, since the memory of all threads is counted together.
#[test]
fn nothing_allocates_more_than_64_kib_and_twice_the_file() {
    assert!(peak(|| drop(vec![0_u8; 1 << 20])) >= 1 << 20, "the allocator counts");
    for (name, file) in data::files("finalfusion", &["fifu"]) {
        assert_bounded(&file, &name);
        for cut in (0..file.len()).step_by(file.len() / 50 + 1) {
            assert_bounded(&file[..cut], &format!("{name} cut at {cut}"));
        }
    }
    for kind in KINDS {
        for quantized in [false, true] {
            let file = made_up(kind + 20, kind, quantized).write();
            let places = 0..file.len().min(200);
            each_mutation(&file, places, |mutated, what| {
                assert_bounded(mutated, &format!("{kind} {quantized} {what:?}"));
            });
        }
    }
    // 2^20 tiny items: all empty, all different, and n-grams.
    let empty = vec![vec![]; 1 << 20];
    assert_bounded(&tiny_items(empty, Subwords::None, vec![]), "empty words");
    let different = (0..1_u32 << 20).map(|word| word.to_le_bytes()[..3].to_vec()).collect();
    assert_bounded(&tiny_items(different, Subwords::None, vec![]), "three bytes each");
    let two: Vec<Vec<u8>> = (0..=u16::MAX).map(|word| word.to_le_bytes().to_vec()).collect();
    assert_bounded(&tiny_items(two, Subwords::None, vec![]), "two bytes each");
    let ngrams: Vec<(Vec<u8>, u64)> = (0..1_u32 << 18)
        .rev()
        .map(|word| (word.to_le_bytes()[..3].to_vec(), word.into()))
        .collect();
    let count = Subwords::Explicit { ngrams: 1 << 18 };
    assert_bounded(&tiny_items(vec![], count, ngrams), "n-grams out of order");
    // Core allocates nothing in a decoder's whole run, whatever the file.
    let file = data::read("finalfusion/explicit.fifu");
    let run = || {
        let mut decoder = FinalfusionDecoder::new(Mode::Strict);
        let mut rest = &file[..];
        while let Ok(step) = decoder.next(rest) {
            rest = &rest[step.used..];
            if step.event == Some(Event::End) {
                break;
            }
        }
        assert!(decoder.layout().is_some());
    };
    assert_eq!(peak(run), 0);
}
