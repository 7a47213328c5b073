//! Word vectors.

use std::ptr::{null, null_mut};

use nanoembed_ffi::lookup::{
    nanoembed_found, nanoembed_words_find, nanoembed_words_vector, nanoembed_words_word,
};
use nanoembed_ffi::similar::nanoembed_words_similar;
use nanoembed_ffi::top_k::nanoembed_scored;
use nanoembed_ffi::words::{
    nanoembed_plan_words, nanoembed_words, nanoembed_words_init, nanoembed_words_options,
    nanoembed_words_plan,
};

use super::memory::Memory;
use super::{Source, call};

/// `None` if the file is rejected.
pub fn run(source: &Source<'_>, [scratch, choices]: [u8; 2]) -> Option<()> {
    let (file, from) = (source.file, &raw const source.inner);
    let options = nanoembed_words_options {
        indexed: u32::from(choices & 1),
        first_of_duplicates: u32::from(choices >> 1 & 1),
        seed: choices.into(),
        ..nanoembed_words_options::default()
    };
    let scratch = Memory::new(512 + usize::from(scratch) * 300)?;
    let (start, length) = (scratch.start, scratch.bytes());
    let mut plan = nanoembed_words_plan::default();
    // SAFETY: all pointers are to objects that outlive the call.
    call(file, |error| unsafe {
        nanoembed_plan_words(from, &raw const options, start, length, &raw mut plan, error)
    })
    .ok()?;
    let memory = Memory::new(plan.words_bytes)?;
    let mut words = null_mut();
    let mut init = |bytes| {
        let (place, options) = (&raw mut words, &raw const options);
        // SAFETY: as before, and `memory` has at least that many bytes.
        call(file, |error| unsafe {
            nanoembed_words_init(from, options, memory.start, bytes, start, length, place, error)
        })
    };
    assert!(init(memory.bytes() - 1).is_err(), "a byte less than was planned");
    init(memory.bytes()).ok()?;
    look_up(file, words, &plan)
}

fn look_up(file: &[u8], words: *const nanoembed_words, plan: &nanoembed_words_plan) -> Option<()> {
    let (mut row, mut length) = (0, 0);
    let mut name = [0_u8; 300];
    let floats = Memory::new(plan.vector_floats.checked_mul(4)?.max(4))?;
    let mut vector = vec![0.0; plan.dimensions as usize];
    for word in ["the", "nowhere-to-be-found", ""] {
        // SAFETY: a handle, a word, and a place for a row.
        let _ = call(file, |error| unsafe {
            nanoembed_words_find(words, word.as_ptr().cast(), word.len(), &raw mut row, error)
        });
        let mut found = nanoembed_found::default();
        // SAFETY: as before; floats may hold anything.
        let _ = call(file, |error| unsafe {
            let (scratch, count) = (floats.start.cast(), floats.bytes() / 4);
            let (out, room) = (vector.as_mut_ptr(), vector.len());
            let (word, bytes, place) = (word.as_ptr().cast(), word.len(), &raw mut found);
            nanoembed_words_vector(words, word, bytes, scratch, count, out, room, place, error)
        });
    }
    for row in [0, 1, plan.words.wrapping_sub(1), plan.words, u32::MAX] {
        // SAFETY: a handle, and room for a word.
        let named = call(file, |error| unsafe {
            let (buffer, room) = (name.as_mut_ptr().cast(), name.len());
            nanoembed_words_word(words, row, buffer, room, &raw mut length, error)
        });
        assert!(named.is_err() || row < plan.words && length <= name.len());
    }
    let memory = Memory::new(plan.similar_bytes)?;
    let mut best = [nanoembed_scored { score: 0.0, row: 0 }; 3];
    let mut found = 0;
    // SAFETY: a handle, a query, memory of the planned size, and places for results.
    let _ = call(file, |error| unsafe {
        let (query, count) = (vector.as_ptr(), vector.len());
        let (best, room, found) = (best.as_mut_ptr(), best.len(), &raw mut found);
        let (start, bytes) = (memory.start, memory.bytes());
        let none = null();
        nanoembed_words_similar(
            words, query, count, none, 0, start, bytes, best, room, found, error,
        )
    });
    assert!(found <= best.len());
    Some(())
}
