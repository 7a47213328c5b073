//! Handles that several threads use at once.

use std::thread;

use nanoembed_ffi::embed::nanoembed_workspace_init;
use nanoembed_ffi::model::nanoembed_model;
use nanoembed_ffi::status::*;

use crate::models::HIDDEN;
use crate::{Lent, Room, Stored, models, vector};

/// A model that other threads may use.
struct Shared(*const nanoembed_model);

// SAFETY: models are immutable, and the callback reads what does not change.
unsafe impl Sync for Shared {}

#[test]
fn threads_share_a_model_with_a_workspace_each() {
    let file = models::bert();
    let stored = Stored { file: &file, most: 500 };
    let lent = Lent::of(&stored.source());
    let (shared, bytes) = (&Shared(lent.model), lent.plan.workspace_bytes);
    let embed = move |text| {
        let (room, mut workspace) = (Room::new(bytes), std::ptr::null_mut());
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
