//! Opening word vectors: how much memory they take, and a handle in that memory.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{FinalfusionDecoder, FinalfusionLayout, Storage};
use nanoembed_core::read::Seek;
use nanoembed_core::words::Words;

use crate::memory::{Lent, Sum, number};
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::versioned;
use crate::word_index::{self, IndexMemory};

pub use crate::words_options::*;

/// How much memory word vectors take, to the byte.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_words_plan {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
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

crate::versioned!(nanoembed_words_plan);

/// The words of a `.fifu` file. Immutable: several threads may use it at once.
#[derive(Debug)]
pub struct nanoembed_words {
    pub(crate) words: Words<Bytes, IndexMemory>,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    pub(crate) owned_bytes: usize,
}

struct Opening {
    source: Bytes,
    layout: FinalfusionLayout,
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
            let options = versioned::given(options)?;
            (Bytes::new(source)?, options)
        };
        let mut seek =
            Seek::new(source, FinalfusionDecoder::new(Mode::Lenient), scratch).without_data();
        while seek.next_event(|_| Ok(()))? {}
        let layout = seek.decoder().layout().ok_or(ErrorKind::UnexpectedEnd)?;
        Ok(Self { source, layout, options })
    }

    fn words_bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_words>(1)?;
        sum.add::<u64>(word_index::elements(&self.options, &self.layout)?)?;
        Ok(sum.bytes())
    }

    fn plan(&self) -> Outcome<nanoembed_words_plan> {
        let words: Words<Bytes, IndexMemory> = Words::open(self.source, self.layout, None);
        Ok(nanoembed_words_plan { words_bytes: self.words_bytes()?, ..plan_of(&words)? })
    }
}

/// The memory requirements of calls on open word vectors.
fn plan_of(words: &Words<Bytes, IndexMemory>) -> Outcome<nanoembed_words_plan> {
    let vector_floats = words.scratch_needed();
    Ok(nanoembed_words_plan {
        words_bytes: 0,
        vector_floats,
        analogy_floats: vector_floats.checked_add(words.cols()).ok_or(TOO_SMALL)?,
        similar_bytes: similar_bytes(words)?,
        dimensions: number(words.cols()),
        words: words.layout().vocabulary.words,
        rows: words.layout().storage.rows(),
        ..nanoembed_words_plan::default()
    })
}

/// Bytes of a search with one query: floats, and a row where rows must be read.
pub(crate) fn similar_bytes(words: &Words<Bytes, IndexMemory>) -> Outcome<usize> {
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

/// Reads a `.fifu` file but for its vectors and says how much memory it takes. `scratch` must hold
/// the longest word and the longest entry of the list of n-grams: 512 bytes in real files; in a
/// file in memory larger ones make it faster. `options` may be NULL.
///
/// # Safety
///
/// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes,
/// `plan` to memory for one.
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
            (versioned::room(plan)?, Opening::new(source, options, scratch)?)
        };
        out.write(opening.plan()?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the word vectors of a `.fifu` file in `memory`, and puts the handle, which lies there,
/// into `*words`. `options` may be NULL; they must be those of the plan. `scratch` is used only
/// meanwhile. There is nothing to close.
///
/// # Safety
///
/// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes,
/// `memory` aligned to `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the words are
/// used. `words` points to memory for a pointer.
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
        let needed = opening.words_bytes()?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let handle: *mut nanoembed_words = lent.place(1)?;
        let Opening { source, layout, options } = opening;
        let index = word_index::build(&source, &layout, &options, &mut lent, scratch)?;
        let made = nanoembed_words { words: Words::open(source, layout, index), owned_bytes: 0 };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
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
        let (words, out) = unsafe { (&pointer::get(words)?.words, versioned::room(plan)?) };
        out.write(plan_of(words)?);
        Ok(())
    };
    answer(make())
}
