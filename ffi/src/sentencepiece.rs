//! SentencePiece tokenizers: texts to ids, and ids to what they say.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::sniff;
use nanoembed_core::model::llama::SentencePieceSource;
use nanoembed_core::token::bpe::merge::{Candidate, Symbol};
use nanoembed_core::token::sentencepiece::{
    Needs, Part, Piece, Scratch, SentencePiece, Slot, Spec, Step,
};
use nanoembed_core::token::{AddedTable, AddedToken, TextEnds};

use crate::bpe::NANOEMBED_NO_TOKEN;
use crate::memory::{Lent, Sum, number};
use crate::pointer::{self, text};
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    BAD_POINTER, Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report,
};
use crate::tokenized::nanoembed_tokenized;

/// A SentencePiece tokenizer. Used by any number of threads at a time.
#[derive(Debug)]
pub struct nanoembed_sentencepiece {
    tokenizer: SentencePiece<'static>,
    added: AddedTable<'static>,
    ends: TextEnds,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

/// What a tokenizer takes and has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_sentencepiece_plan {
    /// Memory of `nanoembed_sentencepiece_init`.
    pub sentencepiece_bytes: usize,
    /// The number of pieces.
    pub pieces: u32,
    /// The usual piece that ends a text, or `NANOEMBED_NO_TOKEN`: sampled, it says that the model
    /// has finished. Chat models have further ones: ask `nanoembed_sentencepiece_ends_text`.
    pub end: u32,
    /// The piece that is put before every text, or `NANOEMBED_NO_TOKEN`.
    pub begin: u32,
}

/// What is known before there is memory.
struct Opening {
    source: SentencePieceSource<'static>,
    spec: Spec,
    slots: usize,
    added: usize,
}

impl Opening {
    /// # Safety
    ///
    /// `source` is what its type says.
    unsafe fn new(source: *const nanoembed_source) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let file = unsafe { Bytes::new(source) }?.memory().ok_or(BAD_POINTER)?;
        let source = match sniff(file) {
            Some(Format::Amb) => SentencePieceSource::amb(&Amb::parse(file, Mode::Lenient)?)?,
            Some(_) => return Err(ErrorKind::UnsupportedTokenizer.into()),
            None => SentencePieceSource::model(file),
        };
        let spec = Spec::read(source.bytes(), source.offset())?;
        let mut added = 0_usize;
        source.each_added(|_| {
            added = added.saturating_add(1);
            Ok(())
        })?;
        Ok(Self { source, spec, slots: spec.slots_needed()?, added })
    }

    fn bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_sentencepiece>(1)?;
        sum.add::<Piece>(self.spec.pieces() as usize)?;
        sum.add::<Slot>(self.slots)?;
        sum.add::<AddedToken>(self.added)?;
        Ok(sum.bytes())
    }
}

/// Reads the SentencePiece model of an `.amb` file, or a model alone (`tokenizer.model`), in
/// memory, and says how much memory a table and an index of its pieces take.
/// `NANOEMBED_MISSING_VOCABULARY` without a tokenizer, `NANOEMBED_UNSUPPORTED_VERSION` for one of
/// another kind.
///
/// # Safety
///
/// `source` is what its type says, `plan` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_sentencepiece(
    source: *const nanoembed_source,
    plan: *mut nanoembed_sentencepiece_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, opening) = unsafe { (pointer::out(plan)?, Opening::new(source)?) };
        out.write(nanoembed_sentencepiece_plan {
            sentencepiece_bytes: opening.bytes()?,
            pieces: opening.spec.pieces(),
            end: opening.source.ends().end.first().unwrap_or(NANOEMBED_NO_TOKEN),
            begin: opening.source.ends().begin.unwrap_or(NANOEMBED_NO_TOKEN),
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the SentencePiece model of an `.amb` file, or a model alone, in `memory`, and puts the
/// handle, which lies there, into `*sentencepiece`. The file must be in memory (read, mapped, or in
/// flash), and stay as it is as long as the tokenizer is used. There is nothing to close.
///
/// # Safety
///
/// `source` is what its type says, `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`,
/// that nobody else touches as long as the tokenizer is used; `sentencepiece` points to memory for
/// a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sentencepiece_init(
    source: *const nanoembed_source,
    memory: *mut u8,
    memory_bytes: usize,
    sentencepiece: *mut *mut nanoembed_sentencepiece,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, opening) = unsafe {
            let lent = Lent::new(memory, memory_bytes)?;
            (pointer::out(sentencepiece)?, lent, Opening::new(source)?)
        };
        if memory_bytes < opening.bytes()? {
            return Err(TOO_SMALL);
        }
        let handle: *mut nanoembed_sentencepiece = lent.place(1)?;
        let pieces = lent.filled(opening.spec.pieces() as usize, Piece::default())?;
        let slots = lent.filled(opening.slots, Slot::default())?;
        let added = lent.filled(opening.added, AddedToken::default())?;
        let source = &opening.source;
        let tokenizer = SentencePiece::build(source.bytes(), source.offset(), pieces, slots)?;
        let mut places = added.iter_mut();
        source.each_added(|id| {
            if let Some(place) = places.next() {
                *place = tokenizer.added_token(id)?;
            }
            Ok(())
        })?;
        let added = AddedTable::build(source.bytes(), added)?;
        let ends = *source.ends();
        let made = nanoembed_sentencepiece { tokenizer, added, ends, owned_bytes: 0 };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

fn scratch_sum(needs: &Needs) -> Outcome<usize> {
    let mut sum = Sum::default();
    sum.add::<u8>(needs.text)?;
    sum.add::<Symbol<Part>>(needs.symbols)?;
    sum.add::<Candidate<Part>>(needs.heap)?;
    sum.add::<Step>(needs.steps)?;
    sum.add::<u16>(needs.splits)?;
    Ok(sum.bytes())
}

/// How many bytes of scratch memory a text takes, put into `*bytes`; the model's rules may make it
/// longer.
///
/// # Safety
///
/// `sentencepiece` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `bytes` to memory
/// for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sentencepiece_scratch_bytes(
    sentencepiece: *const nanoembed_sentencepiece,
    text_start: *const u8,
    text_bytes: usize,
    bytes: *mut usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, text, out) = unsafe {
            (pointer::get(sentencepiece)?, text(text_start, text_bytes)?, pointer::out(bytes)?)
        };
        out.write(scratch_sum(&model.tokenizer.needs(text)?)?);
        Ok(())
    };
    answer(make())
}

/// Writes the ids of a text in UTF-8 into `ids`, as many as there is room for, behind the piece
/// that begins every text if the file says so. Control pieces that the file lists, `<|im_start|>`
/// for example, become what they are where the text spells them.
///
/// `NANOEMBED_BUFFER_TOO_SMALL` if there is less scratch memory than
/// `nanoembed_sentencepiece_scratch_bytes` says. In the error, `NANOEMBED_INVALID_UTF8` has the
/// offset in the text.
///
/// # Safety
///
/// `sentencepiece` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `scratch` to
/// `scratch_bytes` bytes, aligned to `NANOEMBED_ALIGN`, that nobody else touches meanwhile, `ids`
/// to `capacity` ids, `tokenized` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sentencepiece_encode(
    sentencepiece: *const nanoembed_sentencepiece,
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
        let (model, text, mut lent, ids, out) = unsafe {
            (
                pointer::get(sentencepiece)?,
                text(text_start, text_bytes)?,
                Lent::new(scratch, scratch_bytes)?,
                pointer::slice_mut(ids, capacity)?,
                pointer::out(tokenized)?,
            )
        };
        let needs = model.tokenizer.needs(text)?;
        let normalized = lent.filled(needs.text, 0)?;
        let symbols = lent.filled(needs.symbols, Symbol::default())?;
        let heap = lent.filled(needs.heap, Candidate::default())?;
        let steps = lent.filled(needs.steps, Step::default())?;
        let splits = lent.filled(needs.splits, 0)?;
        let mut scratch = Scratch::new(normalized, symbols, heap, steps, splits);
        let found = model
            .ends
            .around(ids, |ids| model.tokenizer.encode(text, &model.added, ids, &mut scratch))?;
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

/// Whether a piece that was sampled says that the model has finished: 1, or 0 for any other piece
/// and without a tokenizer.
///
/// # Safety
///
/// `sentencepiece` is NULL or a tokenizer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sentencepiece_ends_text(
    sentencepiece: *const nanoembed_sentencepiece,
    id: u32,
) -> u8 {
    // SAFETY: the caller's promise.
    let model = unsafe { pointer::get(sentencepiece) };
    model.is_ok_and(|model| model.ends.end.contains(id)).into()
}

/// Writes the bytes that a piece stands for within a text into `out`, and their number into
/// `*bytes`: words begin with their space. A character of several bytes may be spread over several
/// pieces: what has been written one after the other is UTF-8.
///
/// `NANOEMBED_TOKEN_OUT_OF_RANGE` for an id of no piece, `NANOEMBED_BUFFER_TOO_SMALL` if `capacity`
/// does not suffice.
///
/// # Safety
///
/// `sentencepiece` is NULL or a tokenizer, `out` points to `capacity` bytes, `bytes` to memory for
/// one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sentencepiece_piece(
    sentencepiece: *const nanoembed_sentencepiece,
    id: u32,
    out: *mut u8,
    capacity: usize,
    bytes: *mut usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, room, length) = unsafe {
            let model = pointer::get(sentencepiece)?;
            (model, pointer::slice_mut(out, capacity)?, pointer::out(bytes)?)
        };
        length.write(model.tokenizer.bytes(id, room)?);
        Ok(())
    };
    answer(make())
}
