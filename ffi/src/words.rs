//! Word vectors: lookup, out-of-vocabulary words, similar words, analogies.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{Decoder, Layout, Storage};
use nanoembed_core::kernel;
use nanoembed_core::read::Seek;
use nanoembed_core::words::{
    Duplicates, Found, Index, IndexOptions, Rows, Scored, SearchMemory, TopK, Words,
};

use crate::memory::{Lent, LentSlice, Sum};
use crate::model::number;
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Failure, INVALID, NANOEMBED_NOT_FOUND, Outcome, TOO_SMALL, answer, nanoembed_error,
    nanoembed_status, report,
};
use crate::tokenize::text;

/// How word vectors are to be opened. All zeros is a good start: no index, no memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct nanoembed_words_options {
    /// 1 to find words by an index in memory, some 12.5 bytes a word; 0 to look through the vocabulary each time.
    pub indexed: u32,
    /// 1 to take the first of words that stand in a vocabulary twice, 0 to refuse the file. Noticed with an index only.
    pub first_of_duplicates: u32,
    /// A number that whoever wrote the file cannot know: with one, no choice of words makes the index slow.
    pub seed: u64,
}

/// How much memory word vectors take, to the byte.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_words_plan {
    /// Memory for the handle and the index, as long as they are used.
    pub words_bytes: usize,
    /// Floats of scratch for `nanoembed_words_vector`.
    pub vector_floats: usize,
    /// Floats of scratch for `nanoembed_words_analogy`.
    pub analogy_floats: usize,
    /// Bytes of scratch for `nanoembed_words_similar`; more means fewer, larger reads from storage.
    pub similar_bytes: usize,
    /// Elements of a vector.
    pub dimensions: u32,
    /// Words in the vocabulary.
    pub words: u32,
    /// Rows in all: words, then buckets or n-grams.
    pub rows: u64,
}

/// The words of a `.fifu` file. Immutable: several threads may use it at once.
#[derive(Debug)]
pub struct nanoembed_words {
    words: Words<Bytes, LentSlice<u64>>,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

/// A vector that was found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_found {
    /// The word's row; `UINT32_MAX` if it is made of its n-grams.
    pub row: u32,
    /// How many rows of n-grams were added up; 0 if the word is in the vocabulary.
    pub subwords: u32,
    /// The length that the vector had before it was normalised.
    pub norm: f32,
}

/// A row and its score, the dot product of its vector with the query.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_scored {
    /// The score.
    pub score: f32,
    /// The row.
    pub row: u32,
}
const _: () = assert!(size_of::<nanoembed_scored>() == size_of::<Scored>());

struct Opening {
    source: Bytes,
    layout: Layout,
    options: nanoembed_words_options,
}

impl Opening {
    /// # Safety
    ///
    /// The pointers are what the functions that take them say.
    unsafe fn new(
        source: *const nanoembed_source,
        options: *const nanoembed_words_options,
        scratch: &mut [u8],
    ) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let (source, options) = unsafe {
            let options = if options.is_null() {
                nanoembed_words_options::default()
            } else {
                *pointer::get(options)?
            };
            (Bytes::new(source)?, options)
        };
        let mut seek = Seek::new(source, Decoder::new(Mode::Lenient), scratch).without_data();
        while seek.next_event(|_| Ok(()))? {}
        let layout = seek.decoder().layout().ok_or(ErrorKind::UnexpectedEnd)?;
        Ok(Self { source, layout, options })
    }

    fn index_elements(&self) -> Outcome<usize> {
        match self.options.indexed {
            0 => Ok(0),
            _ => Index::memory_needed(&self.layout).ok_or(TOO_SMALL),
        }
    }

    fn words_bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_words>(1)?;
        sum.add::<u64>(self.index_elements()?)?;
        Ok(sum.bytes())
    }

    fn plan(&self) -> Outcome<nanoembed_words_plan> {
        let words: Words<Bytes, LentSlice<u64>> = Words::open(self.source, self.layout, None);
        let vector_floats = words.scratch_needed();
        Ok(nanoembed_words_plan {
            words_bytes: self.words_bytes()?,
            vector_floats,
            analogy_floats: vector_floats.checked_add(words.cols()).ok_or(TOO_SMALL)?,
            similar_bytes: similar_bytes(&words)?,
            dimensions: number(words.cols()),
            words: self.layout.vocabulary.words,
            rows: self.layout.storage.rows(),
        })
    }
}

/// Bytes of a search with one query: floats, and a row where rows must be read.
fn similar_bytes(words: &Words<Bytes, LentSlice<u64>>) -> Outcome<usize> {
    let floats = words.search_memory_needed(1).ok_or(TOO_SMALL)?;
    let row = match &words.layout().storage {
        Storage::Array(array) => (array.cols as usize).checked_mul(4).ok_or(TOO_SMALL)?,
        Storage::Quantized(quantized) => (quantized.codes_per_row as usize).max(4),
    };
    let mut sum = Sum::default();
    sum.add::<f32>(floats)?;
    sum.add::<u8>(row)?;
    Ok(sum.bytes())
}

/// Reads a `.fifu` file but for its vectors and says how much memory it takes. `scratch` must hold the longest word and
/// the longest entry of the list of n-grams: 512 bytes in real files; in a file in memory larger ones make it faster.
/// `options` may be NULL.
///
/// # Safety
///
/// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes, `plan` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_words(
    source: *const nanoembed_source,
    options: *const nanoembed_words_options,
    scratch: *mut u8,
    scratch_bytes: usize,
    plan: *mut nanoembed_words_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, opening) = unsafe {
            let scratch = pointer::zeroed(scratch, scratch_bytes)?;
            (pointer::out(plan)?, Opening::new(source, options, scratch)?)
        };
        out.write(opening.plan()?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the word vectors of a `.fifu` file in `memory`, and puts the handle, which lies there, into `*words`. `options` may
/// be NULL; they must be those of the plan. `scratch` is used only meanwhile. There is nothing to close.
///
/// # Safety
///
/// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes, `memory` aligned to
/// `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the words are used. `words` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_init(
    source: *const nanoembed_source,
    options: *const nanoembed_words_options,
    memory: *mut u8,
    memory_bytes: usize,
    scratch: *mut u8,
    scratch_bytes: usize,
    words: *mut *mut nanoembed_words,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, scratch) = unsafe {
            (
                pointer::out(words)?,
                Lent::new(memory, memory_bytes)?,
                pointer::zeroed::<u8>(scratch, scratch_bytes)?,
            )
        };
        // SAFETY: the caller's promise.
        let opening = unsafe { Opening::new(source, options, scratch) }?;
        if memory_bytes < opening.words_bytes()? {
            return Err(TOO_SMALL);
        }
        let handle: *mut nanoembed_words = lent.place(1)?;
        let elements = opening.index_elements()?;
        let Opening { source, layout, options } = opening;
        let index = match options.indexed {
            0 => None,
            _ => {
                let memory = LentSlice(lent.filled(elements, 0_u64)?);
                let duplicates = match options.first_of_duplicates {
                    0 => Duplicates::Error,
                    _ => Duplicates::First,
                };
                let index_options = IndexOptions { seed: options.seed, duplicates };
                Some(Index::build(&source, &layout, index_options, memory, scratch)?)
            }
        };
        let made = nanoembed_words { words: Words::open(source, layout, index), owned_bytes: 0 };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the row of a word of the vocabulary into `*row`; `NANOEMBED_NOT_FOUND` if it is not there.
///
/// # Safety
///
/// `words` is NULL or a handle, `word` points to `word_bytes` bytes, `row` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_find(
    words: *const nanoembed_words,
    word: *const u8,
    word_bytes: usize,
    row: *mut u32,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, word, out) = unsafe {
            (pointer::get(words)?, pointer::slice(word, word_bytes)?, pointer::out(row)?)
        };
        out.write(words.words.find(word)?.ok_or(Failure::Here(NANOEMBED_NOT_FOUND))?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the vector of a word into `out`: its own, or what its n-grams add up to if the vocabulary lacks it;
/// `NANOEMBED_NOT_FOUND` if there is neither. `found` may be NULL.
///
/// # Safety
///
/// `words` is NULL or a handle, `word` points to `word_bytes` bytes, `scratch` to `scratch_floats` floats, `out` to `capacity`
/// floats, `found` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_vector(
    words: *const nanoembed_words,
    word: *const u8,
    word_bytes: usize,
    scratch: *mut f32,
    scratch_floats: usize,
    out: *mut f32,
    capacity: usize,
    found: *mut nanoembed_found,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, word, scratch) = unsafe {
            let scratch = pointer::zeroed(scratch, scratch_floats)?;
            (&pointer::get(words)?.words, text(word, word_bytes)?, scratch)
        };
        // SAFETY: the caller's promise.
        let out = unsafe { vector(words, out, capacity) }?;
        let answer = words.vector(word, out, scratch)?;
        let answer = answer.ok_or(Failure::Here(NANOEMBED_NOT_FOUND))?;
        if !found.is_null() {
            // SAFETY: the caller's promise.
            unsafe { pointer::out(found) }?.write(found_of(&answer));
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

fn found_of(found: &Found) -> nanoembed_found {
    let norm = found.norm;
    match found.rows {
        Rows::Word { row } => nanoembed_found { row, subwords: 0, norm },
        Rows::Subwords { count } => nanoembed_found { row: u32::MAX, subwords: count, norm },
    }
}

/// The floats of a vector.
///
/// # Safety
///
/// `out` points to `capacity` floats.
unsafe fn vector<'a>(
    words: &Words<Bytes, LentSlice<u64>>,
    out: *mut f32,
    capacity: usize,
) -> Outcome<&'a mut [f32]> {
    if capacity < words.cols() {
        return Err(TOO_SMALL);
    }
    // SAFETY: the caller's promise.
    unsafe { pointer::slice_mut(out, words.cols()) }
}

/// Puts the word of a row into `buffer`, not ended by a zero, and its length into `*length`.
///
/// # Safety
///
/// `words` is NULL or a handle, `buffer` points to `capacity` bytes, `length` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_word(
    words: *const nanoembed_words,
    row: u32,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, buffer, out) = unsafe {
            (pointer::get(words)?, pointer::slice_mut(buffer, capacity)?, pointer::out(length)?)
        };
        out.write(words.words.word_into(row, buffer)?.len());
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the words whose vectors have the largest dot products with `query`, the best first, into `best`, and how many there
/// are into `*found`: `capacity`, unless the vocabulary has fewer. The rows in `skip` are left out.
///
/// # Safety
///
/// `words` is NULL or a handle, `query` points to `dimensions` floats, `skip` to `skips` rows, `memory` to `memory_bytes`
/// bytes aligned to `NANOEMBED_ALIGN`, `best` to `capacity` elements, `found` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_similar(
    words: *const nanoembed_words,
    query: *const f32,
    dimensions: usize,
    skip: *const u32,
    skips: usize,
    memory: *mut u8,
    memory_bytes: usize,
    best: *mut nanoembed_scored,
    capacity: usize,
    found: *mut usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise; both kinds of scores have the same layout.
        let (words, query, skip, best, out) = unsafe {
            (
                &pointer::get(words)?.words,
                pointer::slice(query, dimensions)?,
                pointer::slice(skip, skips)?,
                pointer::zeroed(best.cast::<Scored>(), capacity)?,
                pointer::out(found)?,
            )
        };
        if dimensions != words.cols() {
            return Err(INVALID);
        }
        if memory_bytes < similar_bytes(words)? {
            return Err(TOO_SMALL);
        }
        // SAFETY: the caller's promise.
        let mut lent = unsafe { Lent::new(memory, memory_bytes) }?;
        let floats = lent.filled(words.search_memory_needed(1).ok_or(TOO_SMALL)?, 0.0)?;
        let tile = lent.left() / crate::memory::ALIGN * crate::memory::ALIGN;
        let tile = lent.filled(tile, 0)?;
        let mut tops = [TopK::new(best, skip)];
        let rows = 0..words.layout().vocabulary.words;
        let memory = SearchMemory { floats, tile };
        words.search(kernel::detect().product_f32, rows, query, &mut tops, memory)?;
        let [top] = tops;
        out.write(words.ranked(top)?.len());
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the query of "a is to b as c is to …" into `query`, for `nanoembed_words_similar`; `NANOEMBED_NOT_FOUND` if one of the
/// words has no vector. `rows`, which may be NULL, gets the rows of `a`, `b` and `c`, `UINT32_MAX` for words that are not in
/// the vocabulary: answers that are usually not wanted.
///
/// # Safety
///
/// `words` is NULL or a handle, `a`, `b` and `c` point to as many bytes, `scratch` to `scratch_floats` floats, `query` to
/// `capacity` floats, `rows` is NULL or points to memory for three.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_analogy(
    words: *const nanoembed_words,
    a: *const u8,
    a_bytes: usize,
    b: *const u8,
    b_bytes: usize,
    c: *const u8,
    c_bytes: usize,
    scratch: *mut f32,
    scratch_floats: usize,
    query: *mut f32,
    capacity: usize,
    rows: *mut u32,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, asked, scratch) = unsafe {
            let scratch = pointer::zeroed(scratch, scratch_floats)?;
            let asked = [text(a, a_bytes)?, text(b, b_bytes)?, text(c, c_bytes)?];
            (&pointer::get(words)?.words, asked, scratch)
        };
        // SAFETY: the caller's promise.
        let query = unsafe { vector(words, query, capacity) }?;
        let analogy = words.analogy(asked, query, scratch)?;
        if analogy.present != [true; 3] {
            return Err(Failure::Here(NANOEMBED_NOT_FOUND));
        }
        if !rows.is_null() {
            // SAFETY: the caller's promise.
            let rows = unsafe { pointer::slice_mut(rows, 3) }?;
            for (to, from) in rows.iter_mut().zip(analogy.rows) {
                *to = from.unwrap_or(u32::MAX);
            }
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// How much memory the calls over an open file take, as `nanoembed_plan_words` said.
///
/// # Safety
///
/// `words` is NULL or a handle, `plan` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_get_plan(
    words: *const nanoembed_words,
    plan: *mut nanoembed_words_plan,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, out) = unsafe { (&pointer::get(words)?.words, pointer::out(plan)?) };
        let vector_floats = words.scratch_needed();
        out.write(nanoembed_words_plan {
            words_bytes: 0,
            vector_floats,
            analogy_floats: vector_floats.checked_add(words.cols()).ok_or(TOO_SMALL)?,
            similar_bytes: similar_bytes(words)?,
            dimensions: number(words.cols()),
            words: words.layout().vocabulary.words,
            rows: words.layout().storage.rows(),
        });
        Ok(())
    };
    answer(make())
}
