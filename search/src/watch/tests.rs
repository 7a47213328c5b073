//! Changes in folders, and the updates that follow them.

use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use nanoembed::Silent;

use super::*;
use crate::tree::tests::{Folders, encoder};

/// Long after an update should have come.
const LONG: Duration = Duration::from_secs(120);

/// Numbers of passages, of files read and of files removed.
type Update = (usize, u64, u64);

/// The updates of a watch, which ends when its folder is removed.
fn updates(mut watch: Watch) -> Receiver<Update> {
    let (sender, updates) = channel();
    let encoder = encoder();
    thread::spawn(move || {
        while let Ok(tree) = watch.next_update(&encoder, &Silent) {
            let update = (tree.passages(), tree.files_read, tree.files_removed);
            if sender.send(update).is_err() {
                return;
            }
        }
    });
    updates
}

/// The updates up to the one after which there are so many passages, in sum: a slow machine may need
/// several.
fn until(updates: &Receiver<Update>, passages: usize) -> (u64, u64) {
    let (mut read, mut removed) = (0, 0);
    loop {
        let update = updates.recv_timeout(LONG).unwrap();
        (read, removed) = (read + update.1, removed + update.2);
        if update.0 == passages {
            return (read, removed);
        }
    }
}

fn check(is_told: bool) {
    let folders = Folders::new();
    let mut watch = Watch::new(&[folders.texts.path()], &folders.options()).unwrap();
    // What makes it look at files.
    watch.is_begun = !is_told;
    if !is_told {
        watch.next_update(&encoder(), &Silent).unwrap();
    }
    let updates = updates(watch);
    if is_told {
        assert_eq!(until(&updates, 7), (4, 0));
    }
    folders.put("new/deep/e.txt", "Snow falls on the hills.");
    assert_eq!(until(&updates, 8), (1, 0));
    folders.put("new/deep/f.txt", "A wolf howls.\n\nAn owl listens.\n");
    assert_eq!(until(&updates, 10), (1, 0));
    fs::rename(folders.path("new"), folders.path("renamed")).unwrap();
    assert_eq!(until(&updates, 10), (2, 2));
    folders.put("renamed/deep/f.txt", "A wolf howls.");
    assert_eq!(until(&updates, 9), (1, 0));
    fs::remove_file(folders.path("renamed/deep/e.txt")).unwrap();
    assert_eq!(until(&updates, 8), (0, 1));
    // Files that are not searched are no updates.
    folders.put(".ignore", "left/\n");
    folders.put("left/out.txt", "Nobody reads this.");
    folders.put(".hidden.txt", "Nor this.");
    folders.put("g.txt", "Everybody reads this.");
    assert_eq!(until(&updates, 9), (1, 0));
}

#[cfg(feature = "notify")]
#[test]
fn changes_that_the_system_tells_are_updates() {
    check(true);
}

#[test]
fn changes_that_are_looked_for_are_updates() {
    check(false);
}

#[test]
fn two_watches_and_a_search_agree() {
    let (folders, encoder) = (Folders::new(), encoder());
    let watch = || Watch::new(&[folders.texts.path()], &folders.options()).unwrap();
    let (mut one, mut other) = (watch(), watch());
    assert_eq!(one.next_update(&encoder, &Silent).unwrap().embedded, 7);
    assert_eq!(other.next_update(&encoder, &Silent).unwrap().embedded, 0);
    let (one, other) = (updates(one), updates(other));
    // Whoever sees it first makes the update, and the others find it made.
    folders.put("h.txt", "A fox sleeps.");
    let sum = loop {
        if let Ok(update) = one.try_recv() {
            break update;
        }
        if let Ok(update) = other.try_recv() {
            break update;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(sum, (8, 1, 0));
    assert_eq!(folders.check(&encoder), 0);
}

#[test]
fn a_folder_that_is_gone_is_an_error() {
    let (folders, encoder) = (Folders::new(), encoder());
    let path = folders.path("b");
    let mut watch = Watch::new(&[&path], &folders.options()).unwrap();
    watch.next_update(&encoder, &Silent).unwrap();
    fs::remove_dir_all(&path).unwrap();
    assert!(watch.next_update(&encoder, &Silent).is_err());
    assert!(Watch::new(&[path], &folders.options()).is_err());
}
