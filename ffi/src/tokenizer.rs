//! Tokenizers of every kind: texts to token ids, and ids to what they say.

use core::ffi::c_char;

use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;
use nanoembed_core::source::tokenizer::{
    Tokenizer, TokenizerKind, TokenizerNeeds, TokenizerSource,
};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::{Error, ErrorKind};

use crate::memory::{Lent, Sum, number};
use crate::memory_file::parse;
use crate::pointer::{self, text};
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    BAD_POINTER, INVALID, Outcome, answer, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::tokenized::nanoembed_tokenized;
use crate::tokenizer_index::{add_bytes, memory};
use crate::tokenizer_memory::{fitting, scratch, scratch_bytes};
use crate::versioned;

/// Which tokenizer it is.
pub type nanoembed_tokenizer_kind = u32;
/// WordPiece: BERT and its relatives.
pub const NANOEMBED_TOKENIZER_WORDPIECE: nanoembed_tokenizer_kind = 1;
/// Byte-level BPE: GPT-2, Llama 3, Qwen.
pub const NANOEMBED_TOKENIZER_BPE: nanoembed_tokenizer_kind = 2;
/// SentencePiece, of both its kinds: Llama 2, Phi-3, T5.
pub const NANOEMBED_TOKENIZER_SENTENCEPIECE: nanoembed_tokenizer_kind = 3;

/// The treatment of special and other added tokens that a text spells, such as `<|im_start|>` or
/// `[SEP]`.
pub type nanoembed_special_tokens = u32;
/// Text like any other: for what users write, who must not be able to end their turn.
pub const NANOEMBED_SPECIAL_TOKENS_AS_TEXT: nanoembed_special_tokens = 0;
/// The tokens themselves: for prompt templates.
pub const NANOEMBED_SPECIAL_TOKENS_AS_TOKENS: nanoembed_special_tokens = 1;

/// Stands for a token that a tokenizer does not have.
pub const NANOEMBED_NO_TOKEN: u32 = u32::MAX;

/// A tokenizer. Used by any number of threads at a time.
#[derive(Debug)]
pub struct nanoembed_tokenizer {
    tokenizer: Tokenizer<'static>,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    pub(crate) owned_bytes: usize,
}

/// The memory requirements of a tokenizer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_tokenizer_plan {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Memory of `nanoembed_tokenizer_init`.
    pub tokenizer_bytes: usize,
}

crate::versioned!(nanoembed_tokenizer_plan);

/// The kind of a tokenizer, its number of tokens, and the tokens at the ends of texts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_tokenizer_info {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Which one it is.
    pub kind: nanoembed_tokenizer_kind,
    /// The number of tokens.
    pub tokens: u32,
    /// The token that is put before every text, or `NANOEMBED_NO_TOKEN`.
    pub begin: u32,
    /// The usual token that ends a text, or `NANOEMBED_NO_TOKEN`: sampled, it says that the model
    /// has finished. Chat models have further ones: ask `nanoembed_tokenizer_ends_text`.
    pub end: u32,
}

crate::versioned!(nanoembed_tokenizer_info);

/// The contents of a file, before there is memory for its tokenizer.
struct Opening {
    source: TokenizerSource<'static>,
    needs: TokenizerNeeds,
}

impl Opening {
    /// # Safety
    ///
    /// `source` is what its type says.
    unsafe fn new(source: *const nanoembed_source) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let file = unsafe { Bytes::new(source) }?.memory().ok_or(BAD_POINTER)?;
        let source = source_of(file)?;
        let needs = source.needs()?;
        Ok(Self { source, needs })
    }

    fn bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_tokenizer>(1)?;
        add_bytes(&self.needs, &mut sum)?;
        Ok(sum.bytes())
    }

    #[inline(never)] // so that reading the file has its stack to itself
    fn open(&self, lent: &mut Lent) -> Outcome<*mut nanoembed_tokenizer> {
        let handle: *mut nanoembed_tokenizer = lent.place(1)?;
        let memory = memory(&self.needs, lent)?;
        match self.source.open(memory) {
            Ok(tokenizer) => {
                // SAFETY: the place was taken for it.
                unsafe { handle.write(nanoembed_tokenizer { tokenizer, owned_bytes: 0 }) };
                Ok(handle)
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[inline(never)] // so that what a file says of a model has its stack to itself
fn source_of(file: &'static [u8]) -> Outcome<TokenizerSource<'static>> {
    let unknown = Error::new(0, ErrorKind::UnknownFormat);
    match sniff(file) {
        None => Ok(TokenizerSource::model(file).ok_or(unknown)?),
        Some(Format::Finalfusion) => Err(ErrorKind::OtherModel.into()),
        Some(_) => Ok(parse(file)?.tokenizer()?),
    }
}

/// Reads what the file of a model in memory says of its tokenizer and says how much memory an index
/// over it takes. The file is a `.weights`, `.amb` or GGUF file of an encoder or of a model that
/// continues texts, or a SentencePiece model alone (`tokenizer.model`).
///
/// `NANOEMBED_MISSING_VOCABULARY` without a tokenizer, `NANOEMBED_UNSUPPORTED_TOKENIZER` for one
/// that is not known.
///
/// # Safety
///
/// `source` is what its type says, `plan` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_tokenizer(
    source: *const nanoembed_source,
    plan: *mut nanoembed_tokenizer_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, opening) = unsafe { (versioned::room(plan)?, Opening::new(source)?) };
        out.write(nanoembed_tokenizer_plan {
            tokenizer_bytes: opening.bytes()?,
            ..nanoembed_tokenizer_plan::default()
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the tokenizer of a file in `memory`, and puts the handle, which lies there, into
/// `*tokenizer`. The file must be in memory (read, mapped, or in flash), and stay as it is as long
/// as the tokenizer is used. There is nothing to close.
///
/// # Safety
///
/// `source` is what its type says, `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`,
/// that nobody else touches as long as the tokenizer is used; `tokenizer` points to memory for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_init(
    source: *const nanoembed_source,
    memory_start: *mut u8,
    memory_bytes: usize,
    tokenizer: *mut *mut nanoembed_tokenizer,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, opening) = unsafe {
            let lent = Lent::new(memory_start, memory_bytes)?;
            (pointer::out(tokenizer)?, lent, Opening::new(source)?)
        };
        let needed = opening.bytes()?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        out.write(opening.open(&mut lent)?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Writes the description of the tokenizer to `info`.
///
/// # Safety
///
/// `tokenizer` is NULL or a tokenizer, `info` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_get_info(
    tokenizer: *const nanoembed_tokenizer,
    info: *mut nanoembed_tokenizer_info,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (handle, out) = unsafe { (pointer::get(tokenizer)?, versioned::room(info)?) };
        let tokenizer = &handle.tokenizer;
        out.write(nanoembed_tokenizer_info {
            kind: match tokenizer.kind() {
                TokenizerKind::WordPiece => NANOEMBED_TOKENIZER_WORDPIECE,
                TokenizerKind::BytePairs => NANOEMBED_TOKENIZER_BPE,
                TokenizerKind::SentencePiece => NANOEMBED_TOKENIZER_SENTENCEPIECE,
                _ => 0,
            },
            tokens: tokenizer.count(),
            begin: tokenizer.begin().unwrap_or(NANOEMBED_NO_TOKEN),
            end: tokenizer.end().unwrap_or(NANOEMBED_NO_TOKEN),
            ..nanoembed_tokenizer_info::default()
        });
        Ok(())
    };
    answer(make())
}

/// How many bytes of scratch memory always suffice to encode a text, put into `*bytes`; none for
/// WordPiece. Byte-level BPE may do with less: it is words that need memory, each as much as this
/// function says of a text of its own length.
///
/// # Safety
///
/// `tokenizer` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `bytes` to memory for
/// one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_scratch_bytes(
    tokenizer: *const nanoembed_tokenizer,
    text_start: *const c_char,
    text_bytes: usize,
    bytes: *mut usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (handle, text, out) = unsafe {
            (pointer::get(tokenizer)?, text(text_start, text_bytes)?, pointer::out(bytes)?)
        };
        out.write(scratch_bytes(&handle.tokenizer.scratch(text)?)?);
        Ok(())
    };
    answer(make())
}

/// Writes the token ids of a text in UTF-8 into `ids`, as many as there is room for, with the
/// tokens that are put around every text if there are any. `special` says what special tokens
/// become that the text spells.
///
/// `NANOEMBED_BUFFER_TOO_SMALL` if the scratch memory is too small, see
/// `nanoembed_tokenizer_scratch_bytes`, or if there is no room for the two special tokens of
/// WordPiece, which a text that is cut keeps. In the error, `NANOEMBED_INVALID_UTF8` has the offset
/// in the text.
///
/// # Safety
///
/// `tokenizer` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `scratch` to
/// `scratch_bytes` bytes, aligned to `NANOEMBED_ALIGN`, that nobody else touches meanwhile, `ids`
/// to `capacity` ids, `tokenized` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_encode(
    tokenizer: *const nanoembed_tokenizer,
    text_start: *const c_char,
    text_bytes: usize,
    special: nanoembed_special_tokens,
    scratch_start: *mut u8,
    scratch_bytes: usize,
    ids: *mut u32,
    capacity: usize,
    tokenized: *mut nanoembed_tokenized,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (handle, text, ids, out) = unsafe {
            (
                pointer::get(tokenizer)?,
                text(text_start, text_bytes)?,
                pointer::slice_mut(ids, capacity)?,
                versioned::room(tokenized)?,
            )
        };
        let special = match special {
            NANOEMBED_SPECIAL_TOKENS_AS_TEXT => SpecialTokens::AsText,
            NANOEMBED_SPECIAL_TOKENS_AS_TOKENS => SpecialTokens::AsTokens,
            _ => return Err(INVALID),
        };
        let tokenizer = &handle.tokenizer;
        let mut lent = match tokenizer {
            Tokenizer::WordPiece(_) => Lent::NONE,
            // SAFETY: the caller's promise.
            _ => unsafe { Lent::new(scratch_start, scratch_bytes)? },
        };
        let needs = fitting(tokenizer, text, scratch_bytes)?;
        let found = tokenizer.encode(text, special, ids, &mut scratch(&needs, &mut lent)?)?;
        out.write(nanoembed_tokenized {
            tokens: number(found.tokens),
            total: number(found.total),
            truncated: (found.tokens < found.total).into(),
            ..nanoembed_tokenized::default()
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Returns 1 if a sampled token ends the text, and 0 for any other token and without a tokenizer.
///
/// # Safety
///
/// `tokenizer` is NULL or a tokenizer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_ends_text(
    tokenizer: *const nanoembed_tokenizer,
    id: u32,
) -> u8 {
    // SAFETY: the caller's promise.
    let handle = unsafe { pointer::get(tokenizer) };
    handle.is_ok_and(|handle| handle.tokenizer.ends_text(id)).into()
}

/// Writes the bytes that a token stands for into `out`, and their number into `*bytes`. A character
/// of several bytes may be spread over several tokens: what has been written one after the other is
/// UTF-8. Words of SentencePiece begin with their space; tokens of WordPiece are as the vocabulary
/// spells them, `##` before those that go on with a word.
///
/// `NANOEMBED_TOKEN_OUT_OF_RANGE` for an id of no token, `NANOEMBED_BUFFER_TOO_SMALL` if `capacity`
/// does not suffice.
///
/// # Safety
///
/// `tokenizer` is NULL or a tokenizer, `out` points to `capacity` bytes, `bytes` to memory for one
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_token(
    tokenizer: *const nanoembed_tokenizer,
    id: u32,
    out: *mut c_char,
    capacity: usize,
    bytes: *mut usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (handle, room, length) = unsafe {
            (
                pointer::get(tokenizer)?,
                pointer::slice_mut(out.cast::<u8>(), capacity)?,
                pointer::out(bytes)?,
            )
        };
        length.write(handle.tokenizer.token(id, room)?);
        Ok(())
    };
    answer(make())
}
