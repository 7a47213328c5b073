//! The tokenizer of decoders: texts to ids by byte-level BPE, and ids to what they say.

use core::mem::size_of;

use nanoembed_core::model::ModelSource;
use nanoembed_core::model::llama::{BpeMemory, BpeNeeds, BpeSource, FileBpe};
use nanoembed_core::token::AddedToken;
use nanoembed_core::token::bpe::merge::{Candidate, Symbol};
use nanoembed_core::token::bpe::{Merge, Scratch};

use crate::memory::{Lent, Sum, number};
use crate::pointer::{self, text};
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    BAD_POINTER, Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report,
};
use crate::tokenized::nanoembed_tokenized;

/// The tokenizer of a decoder. Used by any number of threads at a time.
#[derive(Debug)]
pub struct nanoembed_bpe {
    tokenizer: FileBpe<'static>,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

/// Stands for a token that a tokenizer does not have.
pub const NANOEMBED_NO_TOKEN: u32 = u32::MAX;

/// What a tokenizer takes and has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_bpe_plan {
    /// Memory of `nanoembed_bpe_init`.
    pub bpe_bytes: usize,
    /// The number of tokens.
    pub tokens: u32,
    /// The usual token that ends a text, or `NANOEMBED_NO_TOKEN`: sampled, it says that the model
    /// has finished. Chat models have further ones: ask `nanoembed_bpe_ends_text`.
    pub end: u32,
    /// The token that is put before every text, or `NANOEMBED_NO_TOKEN`.
    pub begin: u32,
}

/// What is known before there is memory.
struct Opening {
    source: BpeSource<'static>,
    needs: BpeNeeds,
}

impl Opening {
    /// # Safety
    ///
    /// `source` is what its type says.
    unsafe fn new(source: *const nanoembed_source) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let file = unsafe { Bytes::new(source) }?.memory().ok_or(BAD_POINTER)?;
        let source = ModelSource::parse(file)?.byte_pairs()?;
        Ok(Self { source, needs: source.needs() })
    }

    fn bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_bpe>(1)?;
        sum.add::<u32>(self.needs.samples)?;
        sum.add::<u32>(self.needs.slots)?;
        sum.add::<Merge>(self.needs.merges)?;
        sum.add::<u32>(self.needs.merge_slots)?;
        sum.add::<AddedToken>(self.needs.added)?;
        Ok(sum.bytes())
    }

    fn memory(&self, lent: &mut Lent) -> Outcome<BpeMemory<'static>> {
        Ok(BpeMemory {
            samples: lent.filled(self.needs.samples, 0)?,
            slots: lent.filled(self.needs.slots, 0)?,
            merges: lent.filled(self.needs.merges, Merge::default())?,
            merge_slots: lent.filled(self.needs.merge_slots, 0)?,
            added: lent.filled(self.needs.added, AddedToken::default())?,
        })
    }
}

/// Reads the byte-level BPE tokenizer of an `.amb` or GGUF file in memory and says how much memory
/// an index over it takes. `NANOEMBED_MISSING_VOCABULARY` without a tokenizer,
/// `NANOEMBED_UNSUPPORTED_VERSION` for one of another kind.
///
/// # Safety
///
/// `source` is what its type says, `plan` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_bpe(
    source: *const nanoembed_source,
    plan: *mut nanoembed_bpe_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, opening) = unsafe { (pointer::out(plan)?, Opening::new(source)?) };
        out.write(nanoembed_bpe_plan {
            bpe_bytes: opening.bytes()?,
            tokens: opening.source.count(),
            end: opening.source.ends().end.first().unwrap_or(NANOEMBED_NO_TOKEN),
            begin: opening.source.ends().begin.unwrap_or(NANOEMBED_NO_TOKEN),
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the tokenizer of an `.amb` or GGUF file in `memory`, and puts the handle, which lies
/// there, into `*bpe`. The file must be in memory (read, mapped, or in flash), and stay as it is as
/// long as the tokenizer is used. There is nothing to close.
///
/// # Safety
///
/// `source` is what its type says, `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`,
/// that nobody else touches as long as the tokenizer is used; `bpe` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_bpe_init(
    source: *const nanoembed_source,
    memory: *mut u8,
    memory_bytes: usize,
    bpe: *mut *mut nanoembed_bpe,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, opening) = unsafe {
            let lent = Lent::new(memory, memory_bytes)?;
            (pointer::out(bpe)?, lent, Opening::new(source)?)
        };
        if memory_bytes < opening.bytes()? {
            return Err(TOO_SMALL);
        }
        let handle: *mut nanoembed_bpe = lent.place(1)?;
        let memory = opening.memory(&mut lent)?;
        let tokenizer = opening.source.open(memory)?;
        // SAFETY: the place was taken for it.
        unsafe { handle.write(nanoembed_bpe { tokenizer, owned_bytes: 0 }) };
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// How many bytes of scratch memory always suffice to encode a text of so many bytes. Less may: it
/// is words that need memory, each as much as this function says of its own length.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_bpe_scratch_bytes(text_bytes: usize) -> usize {
    let mut sum = Sum::default();
    let added = sum
        .add::<Symbol>(text_bytes)
        .and_then(|()| sum.add::<Candidate>(Scratch::heap_needed(text_bytes)));
    added.map_or(usize::MAX, |()| sum.bytes())
}

/// Writes the token ids of a text in UTF-8 into `ids`, as many as there is room for, between the
/// tokens that the model puts around every text if there are any. Special tokens that the text
/// spells out, `<|im_start|>` for example, become what they are.
///
/// `NANOEMBED_BUFFER_TOO_SMALL` if the scratch memory is too small for a word of the text. In the
/// error, `NANOEMBED_INVALID_UTF8` has the offset in the text.
///
/// # Safety
///
/// `bpe` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `scratch` to `scratch_bytes`
/// bytes, aligned to `NANOEMBED_ALIGN`, that nobody else touches meanwhile, `ids` to `capacity`
/// ids, `tokenized` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_bpe_encode(
    bpe: *const nanoembed_bpe,
    text_start: *const u8,
    text_bytes: usize,
    scratch: *mut u8,
    scratch_bytes: usize,
    ids: *mut u32,
    capacity: usize,
    tokenized: *mut nanoembed_tokenized,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (bpe, text, mut lent, ids, out) = unsafe {
            (
                pointer::get(bpe)?,
                text(text_start, text_bytes)?,
                Lent::new(scratch, scratch_bytes)?,
                pointer::slice_mut(ids, capacity)?,
                pointer::out(tokenized)?,
            )
        };
        let longest = longest_word(scratch_bytes).min(text_bytes);
        let symbols = lent.filled(longest, Symbol::default())?;
        let heap = lent.filled(Scratch::heap_needed(longest), Candidate::default())?;
        let found = bpe.tokenizer.encode(text, ids, &mut Scratch::new(symbols, heap))?;
        out.write(nanoembed_tokenized {
            tokens: number(found.tokens),
            total: number(found.total),
            truncated: (found.tokens < found.total).into(),
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// The longest word, in bytes, that so much scratch memory suffices for.
fn longest_word(scratch_bytes: usize) -> usize {
    const BYTE: usize = size_of::<Symbol>() + Scratch::heap_needed(1) * size_of::<Candidate>();
    let most = scratch_bytes / BYTE;
    // Pieces are rounded up, which takes a byte or two of the word.
    let fits = |bytes: &usize| nanoembed_bpe_scratch_bytes(*bytes) <= scratch_bytes;
    (0..=most).rev().find(fits).unwrap_or(0)
}

/// Whether a token that was sampled says that the model has finished: 1, or 0 for any other token
/// and without a tokenizer.
///
/// # Safety
///
/// `bpe` is NULL or a tokenizer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_bpe_ends_text(bpe: *const nanoembed_bpe, id: u32) -> u8 {
    // SAFETY: the caller's promise.
    let bpe = unsafe { pointer::get(bpe) };
    bpe.is_ok_and(|bpe| bpe.tokenizer.ends().contains(id)).into()
}

/// Writes the bytes that a token stands for into `out`, and their number into `*bytes`. A character
/// of several bytes may be spread over several tokens: what has been written one after the other is
/// UTF-8.
///
/// `NANOEMBED_TOKEN_OUT_OF_RANGE` for an id of no token, `NANOEMBED_BUFFER_TOO_SMALL` if `capacity`
/// does not suffice.
///
/// # Safety
///
/// `bpe` is NULL or a tokenizer, `out` points to `capacity` bytes, `bytes` to memory for one
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_bpe_token(
    bpe: *const nanoembed_bpe,
    id: u32,
    out: *mut u8,
    capacity: usize,
    bytes: *mut usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (bpe, room, length) = unsafe {
            (pointer::get(bpe)?, pointer::slice_mut(out, capacity)?, pointer::out(bytes)?)
        };
        length.write(bpe.tokenizer.bytes(id, room)?);
        Ok(())
    };
    answer(make())
}
