//! Handles that several threads use at once.

use std::ptr::null_mut;
use std::thread;

use nanoembed_ffi::embed::nanoembed_workspace_init;
use nanoembed_ffi::lookup::nanoembed_words_find;
use nanoembed_ffi::status::*;

use crate::models::HIDDEN;
use crate::{Lent, Room, Stored, in_memory, models, vector, words};

/// A handle that other threads may use.
struct Shared<T>(*const T);

// SAFETY: models and words are immutable, and the callback reads what does not change.
unsafe impl<T> Sync for Shared<T> {}

#[test]
fn threads_share_a_model_with_a_workspace_each() {
    let file = models::table();
    let lent = Lent::of(&in_memory(&file));
    let (shared, bytes) = (&Shared(lent.model), lent.plan.workspace_bytes);
    let embed = move |text| {
        let (room, mut workspace) = (Room::new(bytes), null_mut());
        // SAFETY: the model outlives the thread, and the memory the workspace.
        let made = unsafe { nanoembed_workspace_init(shared.0, room.start, bytes, &mut workspace) };
        assert_eq!(made, NANOEMBED_OK);
        vector(shared.0, workspace, HIDDEN, text)
    };
    let found = thread::scope(|scope| {
        let threads = ["cat", "dog"].map(|text| scope.spawn(move || embed(text)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    assert_eq!(found, ["cat", "dog"].map(|text| lent.vector(text)));
    assert_ne!(found[0], found[1]);
}

#[test]
fn threads_share_words_after_a_callback() {
    let file = models::words();
    let stored = Stored::new(&file, 100);
    let lent = words::Lent::open(&stored.source(), 1);
    let shared = &Shared(lent.words);
    let find = move |word: &'static str| {
        let (start, bytes, mut row) = (word.as_ptr().cast(), word.len(), u32::MAX);
        // SAFETY: the words outlive the thread, and the rest lies here.
        let status = unsafe { nanoembed_words_find(shared.0, start, bytes, &mut row, null_mut()) };
        (status, row)
    };
    let found = thread::scope(|scope| {
        let threads = models::WORDS.map(|word| scope.spawn(move || find(word)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    assert_eq!(found, [0, 1, 2, 3].map(|row| (NANOEMBED_OK, row)));
}
