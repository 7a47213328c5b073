//! Words with vectors, found with an index and without, over files in memory and behind a callback.

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::Finalfusion;
use nanoembed_core::words::{Memory, Words};
use nanoembed_ffi::lookup::*;
use nanoembed_ffi::similar::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::top_k::*;
use nanoembed_ffi::words::*;

use crate::models::{COLS, WORDS};
use crate::{Room, Stored, bits, in_memory, models, of};

const SCRATCH_BYTES: usize = 512;

/// Words in exactly the memory that is planned.
pub(crate) struct Lent {
    pub(crate) words: *mut nanoembed_words,
    plan: nanoembed_words_plan,
    _room: Room,
}

impl Lent {
    pub(crate) fn open(source: &nanoembed_source, indexed: u32) -> Self {
        let options = nanoembed_words_options { indexed, seed: 3, ..Default::default() };
        let (mut plan, mut again) = (nanoembed_words_plan::default(), Default::default());
        let (scratch, mut words, none) = (Room::new(SCRATCH_BYTES), null_mut(), null_mut());
        let (at, bytes) = (scratch.start, scratch.bytes());
        // SAFETY: everything is there, with its true sizes.
        let planned = unsafe { nanoembed_plan_words(source, &options, at, bytes, &mut plan, none) };
        assert_eq!(planned, NANOEMBED_OK);
        // SAFETY: as before, and the memory outlives the handle.
        let room = Room::exactly(plan.words_bytes, |place, size| unsafe {
            nanoembed_words_init(source, &options, place, size, at, bytes, &mut words, none)
        });
        // SAFETY: the handle is good.
        assert_eq!(unsafe { nanoembed_words_get_plan(words, &mut again) }, NANOEMBED_OK);
        assert_eq!((again.words, again.rows), (WORDS.len() as u32, WORDS.len() as u64 + 2));
        assert_eq!(again.similar_bytes, plan.similar_bytes);
        Self { words, plan, _room: room }
    }

    fn find(&self, word: &str) -> Result<u32, nanoembed_status> {
        let (start, bytes, mut row) = (word.as_ptr().cast(), word.len(), u32::MAX);
        // SAFETY: the handle is good, and the rest lies here.
        match unsafe { nanoembed_words_find(self.words, start, bytes, &mut row, null_mut()) } {
            NANOEMBED_OK => Ok(row),
            status => Err(status),
        }
    }

    fn vector(&self, word: &str) -> Result<([f32; COLS], nanoembed_found), nanoembed_status> {
        let (start, bytes, words) = (word.as_ptr().cast(), word.len(), self.words);
        let (mut vector, mut found) = ([f32::NAN; COLS], nanoembed_found::default());
        let floats = self.plan.vector_floats;
        // An empty vector is not NULL; it is 16 bytes that are not initialised.
        let scratch = Room::new((4 * floats).max(16));
        let (at, out, none) = (scratch.start.cast(), vector.as_mut_ptr(), null_mut());
        // SAFETY: the handle is good, and the rest lies here.
        match unsafe {
            let found = &mut found;
            nanoembed_words_vector(words, start, bytes, at, floats, out, COLS, found, none)
        } {
            NANOEMBED_OK => Ok((vector, found)),
            status => Err(status),
        }
    }

    fn word(&self, row: u32) -> Result<Vec<u8>, nanoembed_status> {
        let (mut word, mut length) = ([0_u8; 8], 0);
        let (out, room) = (word.as_mut_ptr().cast(), word.len());
        // SAFETY: the handle is good, and the rest lies here.
        match unsafe { nanoembed_words_word(self.words, row, out, room, &mut length, null_mut()) } {
            NANOEMBED_OK => Ok(word[..length].to_vec()),
            status => Err(status),
        }
    }

    /// The rows that are most similar to a vector, but for those of `skip`.
    fn similar(&self, query: &[f32], skip: &[u32], most: usize) -> Vec<u32> {
        let room = Room::new(self.plan.similar_bytes);
        let (memory, size, words) = (room.start, room.bytes(), self.words);
        let (best, mut found) = (Room::new(8 * most), 0);
        let (query, cols, place) = (query.as_ptr(), query.len(), best.start.cast());
        let (skip, skips, out, none) = (skip.as_ptr(), skip.len(), &raw mut found, null_mut());
        // SAFETY: the handle is good, and the rest lies here.
        unsafe {
            let status = nanoembed_words_similar(
                words, query, cols, skip, skips, memory, size, place, most, out, none,
            );
            assert_eq!(status, NANOEMBED_OK);
            (0..found).map(|at| (*place.add(at)).row).collect()
        }
    }

    /// The query of "a is to b as c is to …", and the rows of these.
    fn analogy(&self, [a, b, c]: [&str; 3]) -> (nanoembed_status, [f32; COLS], [u32; 3]) {
        let (mut query, mut rows) = ([f32::NAN; COLS], [0; 3]);
        let floats = self.plan.analogy_floats;
        let scratch = Room::new(4 * floats);
        // SAFETY: the handle is good, and the rest lies here.
        let status = unsafe {
            nanoembed_words_analogy(
                self.words,
                a.as_ptr().cast(),
                a.len(),
                b.as_ptr().cast(),
                b.len(),
                c.as_ptr().cast(),
                c.len(),
                scratch.start.cast(),
                floats,
                query.as_mut_ptr(),
                COLS,
                rows.as_mut_ptr(),
                null_mut(),
            )
        };
        (status, query, rows)
    }
}

/// Words and vectors are those of Rust's own `Words`.
fn assert_same(lent: &Lent, file: &[u8]) {
    let layout = *Finalfusion::parse(file, Mode::Strict).expect("words").layout();
    let rust = Words::scan(Memory(file), layout);
    for (row, word) in (0..).zip(WORDS) {
        assert_eq!(lent.find(word), Ok(row));
        assert_eq!(lent.word(row), Ok(word.into()));
    }
    assert_eq!(lent.find("odd"), Err(NANOEMBED_NOT_FOUND));
    assert_eq!(lent.word(WORDS.len() as u32), Err(of(ErrorKind::InvalidArgument)));
    for (word, known) in [("queen", true), ("kings", false)] {
        let (mut vector, mut scratch) = ([0.0; COLS], [0.0; COLS]);
        rust.vector(word, &mut vector, &mut scratch).expect("no error").expect("a vector");
        let (ours, found) = lent.vector(word).expect("a vector");
        assert_eq!(bits(&ours), bits(&vector), "{word}");
        assert_eq!((found.row != u32::MAX, found.subwords == 0), (known, known), "{word}");
    }
    assert!(matches!(lent.vector(""), Err(NANOEMBED_NOT_FOUND)));
}

#[test]
fn words_in_memory_are_those_of_rust_with_an_index_and_without() {
    let file = models::words();
    let (scanned, indexed) = [0, 1].map(|it| Lent::open(&in_memory(&file), it)).into();
    assert!(scanned.plan.words_bytes < indexed.plan.words_bytes);
    assert_same(&scanned, &file);
    assert_same(&indexed, &file);
}

#[test]
fn words_after_a_callback_are_those_of_rust() {
    let file = models::words();
    let stored = Stored::new(&file, 100);
    assert_same(&Lent::open(&stored.source(), 1), &file);
}

#[test]
fn quantized_words_are_those_of_rust() {
    let file = models::quantized_words();
    let stored = Stored::new(&file, 100);
    let lent = Lent::open(&stored.source(), 0);
    assert_eq!(lent.plan.vector_floats, COLS);
    assert_same(&lent, &file);
    // Its vector is 1, 0, 0.5, 0.5.
    assert_eq!(lent.similar(&[1.0, 0.0, 0.5, 0.5], &[], 2), [0, 2]);
}

#[test]
fn man_is_to_king_as_woman_is_to_queen() {
    let file = models::words();
    let stored = Stored::new(&file, 100);
    for source in [in_memory(&file), stored.source()] {
        let lent = Lent::open(&source, 0);
        let (status, query, rows) = lent.analogy(["man", "king", "woman"]);
        assert_eq!((status, rows), (NANOEMBED_OK, [0, 2, 1]));
        assert_eq!(lent.similar(&query, &rows, 2), [3]);
        assert_eq!(lent.similar(&[1.0, 0.0, 0.0, 0.0], &[], 2), [0, 2]);
        assert_eq!(lent.analogy(["man", "", "woman"]).0, NANOEMBED_NOT_FOUND);
    }
}

#[test]
fn the_nearest_vectors_come_first() {
    let vectors = [0.0, 1.0, 1.0, 0.0, 0.6, 0.8_f32];
    let (best, mut found) = (Room::new(8 * 5), 0);
    let place = best.start.cast::<nanoembed_scored>();
    let query = [1.0, 0.0];
    let (query, vectors) = (query.as_ptr(), vectors.as_ptr());
    // SAFETY: everything is there, with its true sizes.
    unsafe {
        assert_eq!(nanoembed_top_k(query, 2, vectors, 3, place, 5, &mut found), NANOEMBED_OK);
        let scored = (0..found).map(|at| *place.add(at)).map(|it| (it.row, it.score));
        assert!(scored.eq([(1, 1.0), (2, 0.6), (0, 0.0)]));
        let none = nanoembed_top_k(query, 0, vectors, 3, place, 5, &mut found);
        assert_eq!(none, of(ErrorKind::InvalidArgument));
    }
}
