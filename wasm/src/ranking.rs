//! Passages ranked by their words and by similarities that JavaScript gives.
//!
//! JavaScript writes texts and similarities where it is told to, and reads scores and hits there. What
//! a function returned holds until the next call of any.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_ranking::{
    DEPTH, Hit, Passages as _, Scores, WEIGHT, WordIndex, Words, weight_of_built_in,
};

/// An index, and memory for what is passed.
#[derive(Debug, Default)]
pub struct Ranking {
    index: WordIndex,
    text: Vec<u8>,
    /// Similarities with the query, and scores of the words that are shared with it.
    meaning: Vec<f32>,
    words: Vec<f32>,
    count_beside_meaning: bool,
    hits: Vec<Hit>,
}

/// The ways to find passages, as numbers.
const MEANING: u32 = 1;
const WORDS: u32 = 2;

/// A new index, which lives as long as the module.
#[unsafe(no_mangle)]
pub extern "C" fn ranking_new() -> *mut Ranking {
    Box::into_raw(Box::default())
}

/// Room for a text of so many bytes.
///
/// # Safety
///
/// `ranking` is from [`ranking_new`], and nothing else uses it during the call. So it is for all
/// functions here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn text_room(ranking: *mut Ranking, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's.
    let ranking = unsafe { &mut *ranking };
    ranking.text.clear();
    ranking.text.resize(bytes, 0);
    ranking.text.as_mut_ptr()
}

/// The text is the next passage.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_passage(ranking: *mut Ranking) {
    // SAFETY: the caller's.
    let ranking = unsafe { &mut *ranking };
    ranking.index.add(&String::from_utf8_lossy(&ranking.text));
}

/// The next passage is none that is searched.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leave_out_passage(ranking: *mut Ranking) {
    // SAFETY: the caller's.
    unsafe { &mut *ranking }.index.leave_out();
}

/// A passage is not searched any more.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remove_passage(ranking: *mut Ranking, passage: usize) {
    // SAFETY: the caller's.
    unsafe { &mut *ranking }.index.remove(passage);
}

/// The scores of all passages by the words that they share with the text: those that may not be found
/// are to be set to 0.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn score_words(ranking: *mut Ranking) -> *mut f32 {
    // SAFETY: the caller's.
    let ranking = unsafe { &mut *ranking };
    let words = Words::new(&String::from_utf8_lossy(&ranking.text), &ranking.index);
    ranking.count_beside_meaning = words.count_beside_meaning();
    ranking.words = words.scores(&ranking.index);
    ranking.words.as_mut_ptr()
}

/// Room for the similarities of all passages, none of which is a number yet.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn similarity_room(ranking: *mut Ranking) -> *mut f32 {
    // SAFETY: the caller's.
    let ranking = unsafe { &mut *ranking };
    ranking.meaning.clear();
    ranking.meaning.resize(ranking.index.end(), f32::NAN);
    ranking.meaning.as_mut_ptr()
}

/// The share of meaning for the text as a query; less if the model is the built-in one and knows
/// little of it.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn usual_weight(ranking: *const Ranking, is_built_in: bool) -> f32 {
    // SAFETY: the caller's.
    let ranking = unsafe { &*ranking };
    match is_built_in {
        true => weight_of_built_in(&String::from_utf8_lossy(&ranking.text), &ranking.index),
        false => WEIGHT,
    }
}

/// The number of best passages by words, and by meaning, that are ranked together: `least` or more.
#[unsafe(no_mangle)]
pub extern "C" fn usual_depth(least: usize) -> usize {
    DEPTH.max(least)
}

/// Ranks passages by the scores, by the similarities or by both, `by` being a sum of 1 for
/// similarities and 2 for words; returns the number of hits.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rank(ranking: *mut Ranking, by: u32, weight: f32, depth: usize) -> usize {
    // SAFETY: the caller's.
    let ranking = unsafe { &mut *ranking };
    let meaning = (by & MEANING != 0).then_some(ranking.meaning.as_slice());
    let counts = by & WORDS != 0 && (meaning.is_none() || ranking.count_beside_meaning);
    let words = counts.then_some(ranking.words.as_slice());
    ranking.hits = Scores { meaning, words }.rank(weight, depth);
    ranking.hits.len()
}

/// The hits, the best first.
///
/// # Safety
///
/// As [`text_room`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hits(ranking: *const Ranking) -> *const Hit {
    // SAFETY: the caller's.
    unsafe { &*ranking }.hits.as_ptr()
}
