//! Models that continue texts: opening a decoder of the Llama family from an `.amb`, a GGUF or a
//! `.weights` file.

use nanoembed_core::kernel;
use nanoembed_core::model::SliceWeights;
use nanoembed_core::model::llama::{Llama, LlamaConfig, LlamaLayer};
use nanoembed_core::source::ModelSource;

use crate::memory::{Lent, LentSlice, Sum, number};
use crate::memory_file::parse;
use crate::pointer;
use crate::session::session_bytes;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    BAD_POINTER, Outcome, answer, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::versioned;

pub use crate::decoder_handle::nanoembed_decoder;

/// How a decoder is to be opened. All zeros is a good start.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_decoder_options {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Tokens that a session has room for, prompt and continuation together; 0 for as many as the
    /// model was made for. Memory grows with them.
    pub positions: u32,
    /// Tokens of a prompt that pass through the layers together; 0 for 64. More is faster, and
    /// takes more memory.
    pub tokens_at_once: u32,
}

crate::versioned!(nanoembed_decoder_options);

/// How much memory a decoder takes, to the byte, and what it is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_decoder_plan {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Memory for the decoder, as long as it is used.
    pub decoder_bytes: usize,
    /// Memory for a session: keys and values of all its tokens, and scratch.
    pub session_bytes: usize,
    /// Tokens of the vocabulary: the number of logits.
    pub vocabulary: u32,
    /// Tokens that a session has room for.
    pub positions: u32,
    /// Tokens of a prompt that pass through the layers together.
    pub tokens_at_once: u32,
    /// Layers.
    pub layers: u32,
    /// Elements of a token's vector.
    pub hidden: u32,
}

crate::versioned!(nanoembed_decoder_plan);

/// Tokens that pass through the layers together unless the caller says otherwise.
const TOKENS_AT_ONCE: usize = 64;

/// The contents of a file, before there is memory for its decoder.
struct Opening {
    file: &'static [u8],
    source: ModelSource<'static>,
    config: LlamaConfig,
    positions: usize,
    tokens_at_once: usize,
}

impl Opening {
    /// # Safety
    ///
    /// The pointers are what the functions that take them say.
    unsafe fn new(
        source: *const nanoembed_source,
        options: *const nanoembed_decoder_options,
    ) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let (source, options) = unsafe {
            let options = versioned::given(options)?;
            (Bytes::new(source)?, options)
        };
        let file = source.memory().ok_or(BAD_POINTER)?;
        let model = parse(file)?;
        let config = model.causal_config()?;
        let or = |chosen: u32, usual: usize| if chosen == 0 { usual } else { chosen as usize };
        let positions = or(options.positions, config.positions);
        let tokens_at_once = or(options.tokens_at_once, TOKENS_AT_ONCE).min(positions);
        Ok(Self { file, source: model, config, positions, tokens_at_once })
    }

    fn plan(&self) -> Outcome<nanoembed_decoder_plan> {
        plan_of(&self.config, self.positions, self.tokens_at_once)
    }
}

fn plan_of(
    config: &LlamaConfig,
    positions: usize,
    tokens_at_once: usize,
) -> Outcome<nanoembed_decoder_plan> {
    let mut sum = Sum::default();
    sum.add::<nanoembed_decoder>(1)?;
    sum.add::<LlamaLayer>(config.layers)?;
    Ok(nanoembed_decoder_plan {
        decoder_bytes: sum.bytes(),
        session_bytes: session_bytes(config, positions, tokens_at_once)?,
        vocabulary: number(config.vocabulary),
        positions: number(positions),
        tokens_at_once: number(tokens_at_once),
        layers: number(config.layers),
        hidden: number(config.hidden),
        ..nanoembed_decoder_plan::default()
    })
}

/// Reads an `.amb` or GGUF file in memory and says how much memory the decoder in it takes.
/// `options` may be NULL.
///
/// # Safety
///
/// `source` and `options` are what their types say, `plan` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_decoder(
    source: *const nanoembed_source,
    options: *const nanoembed_decoder_options,
    plan: *mut nanoembed_decoder_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, opening) = unsafe { (versioned::room(plan)?, Opening::new(source, options)?) };
        out.write(opening.plan()?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the decoder in an `.amb` or GGUF file in `memory`, and puts the handle, which lies there,
/// into `*decoder`. The file must be in memory (read, mapped, or in flash), and stay as it is as
/// long as the decoder is used. `options` may be NULL; they must be those of the plan. There is
/// nothing to close.
///
/// Tokens come and go as ids: texts are the business of the tokenizer that the model was made with.
///
/// # Safety
///
/// `source` and `options` are what their types say, `memory` points to as many bytes, aligned to
/// `NANOEMBED_ALIGN`, that nobody else touches as long as the decoder is used; `decoder` points to
/// memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_decoder_init(
    source: *const nanoembed_source,
    options: *const nanoembed_decoder_options,
    memory: *mut u8,
    memory_bytes: usize,
    decoder: *mut *mut nanoembed_decoder,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, opening) = unsafe {
            let lent = Lent::new(memory, memory_bytes)?;
            (pointer::out(decoder)?, lent, Opening::new(source, options)?)
        };
        let needed = opening.plan()?.decoder_bytes;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let handle: *mut nanoembed_decoder = lent.place(1)?;
        let layers = LentSlice(lent.filled(opening.config.layers, LlamaLayer::EMPTY)?);
        let find = |name: &str| opening.source.tensor(name);
        let weights = SliceWeights::new(opening.file, find);
        let llama = Llama::open(&weights, opening.config, layers)?;
        let Opening { file, positions, tokens_at_once, .. } = opening;
        let kernels = kernel::detect();
        let made =
            nanoembed_decoder { file, llama, kernels, positions, tokens_at_once, owned_bytes: 0 };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// The memory requirements of an open decoder's sessions, as `nanoembed_plan_decoder` gives them.
///
/// # Safety
///
/// `decoder` is NULL or a decoder, `plan` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_decoder_get_plan(
    decoder: *const nanoembed_decoder,
    plan: *mut nanoembed_decoder_plan,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (decoder, out) = unsafe { (pointer::get(decoder)?, versioned::room(plan)?) };
        let nanoembed_decoder { llama, positions, tokens_at_once, .. } = decoder;
        out.write(plan_of(llama.config(), *positions, *tokens_at_once)?);
        Ok(())
    };
    answer(make())
}
