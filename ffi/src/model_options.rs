//! The choices with which a model is opened, and the memory that it takes then.

use core::ffi::c_char;

use crate::status::{Outcome, invalid};

/// How the model computes: a choice of `nanoembed_model_options`.
pub type nanoembed_activations = u32;
/// As the model was made for: quantised if its 8-bit weights were calibrated for that or weights
/// are in blocks of a scale each, else in 32-bit floats.
pub const NANOEMBED_ACTIVATIONS_AUTO: nanoembed_activations = 0;
/// In 32-bit floats: as precise as the weights are.
pub const NANOEMBED_ACTIVATIONS_FLOAT: nanoembed_activations = 1;
/// Quantised where weights are 8-bit or in blocks: faster, and the same bits on every machine.
pub const NANOEMBED_ACTIVATIONS_QUANTIZED: nanoembed_activations = 2;
/// In integers alone, for processors without an FPU; the same bits on every machine. Needs weights
/// of 8 bits, and a library built with the feature `fixed`: without it NANOEMBED_INVALID_ARGUMENT.
pub const NANOEMBED_ACTIVATIONS_FIXED: nanoembed_activations = 3;

/// How tokens are found: a choice of `nanoembed_model_options`.
pub type nanoembed_vocabulary = u32;
/// By the index that the file holds if it has one and lies in storage, else by an index in memory.
pub const NANOEMBED_VOCABULARY_AUTO: nanoembed_vocabulary = 0;
/// Not at all: texts come as token ids. Needs neither memory nor a vocabulary in the file.
pub const NANOEMBED_VOCABULARY_NONE: nanoembed_vocabulary = 1;
/// By the index that the file holds: no memory, and some hundred bytes read for each token.
pub const NANOEMBED_VOCABULARY_IN_FILE: nanoembed_vocabulary = 2;
/// By an index in memory, some 6.5 bytes a token: fast. The file must be in memory.
pub const NANOEMBED_VOCABULARY_INDEXED: nanoembed_vocabulary = 3;

/// How a model is to be opened. All zeros but its size is a good start.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_model_options {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Tokens that a workspace has room for: the longest text, or several short ones together;
    /// longer texts are truncated. 0 for as many as the model uses (256 unless its file says
    /// otherwise). 2 to 32768; `nanoembed_model_open` also takes as many as the model has positions
    /// if these are more, and 1 for a table.
    pub tokens: u32,
    /// Bytes of weights that are read at a time from storage; 0 for the least. More means fewer,
    /// larger reads. Without meaning where the file is in memory.
    pub tile_bytes: u32,
    /// How the model computes.
    pub activations: nanoembed_activations,
    /// How tokens are found.
    pub vocabulary: nanoembed_vocabulary,
    /// Tokens that pass through the feed-forward layers together; 0 for as many as is fast. Fewer
    /// take less memory, and weights in storage are read again for each block. Without meaning for
    /// tables, which have no such layers.
    pub block_tokens: u32,
    /// Names of unknown settings that are ignored, each ended by a zero; NULL if there are none. A
    /// folder, or a file that keeps the texts of one, is refused with
    /// `NANOEMBED_UNSUPPORTED_SETTING` and the setting's name if no reader knows the setting, as it
    /// might change results; known settings are honoured or refused whatever is named here.
    /// `nanoembed_model_warning` lists those that were ignored. For models with memory of their own:
    /// in lent memory, names are `NANOEMBED_INVALID_ARGUMENT`.
    pub allow_unknown: *const *const c_char,
    /// How many names `allow_unknown` has.
    pub allow_unknown_count: usize,
}

// The first version ends with `block_tokens` and has no pointer.
crate::versioned!(
    nanoembed_model_options,
    since core::mem::offset_of!(nanoembed_model_options, allow_unknown),
    align_of::<u32>()
);

/// How much memory a model takes, to the byte: with less a call answers
/// `NANOEMBED_BUFFER_TOO_SMALL`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_plan {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Memory for the model, as long as it is used.
    pub model_bytes: usize,
    /// Memory for the workspace of one thread.
    pub workspace_bytes: usize,
    /// Elements of an embedding.
    pub dimensions: u32,
    /// Tokens that a workspace has room for.
    pub tokens: u32,
    /// Bytes of weights that are read at a time; 0 if the file is in memory.
    pub tile_bytes: u32,
    /// 1 if activations are quantised, else 0.
    pub quantized: u32,
}

crate::versioned!(nanoembed_plan);

/// More tokens than any model uses at once.
pub(crate) const MOST_TOKENS: u32 = 1 << 15;

/// True if models may be computed in integers alone.
pub(crate) const FIXED: bool = cfg!(feature = "fixed");

/// Returns true if activations are quantised, in a model that was made for it or not.
pub(crate) fn quantizes(activations: nanoembed_activations, made_for: bool) -> Outcome<bool> {
    Ok(match activations {
        NANOEMBED_ACTIVATIONS_AUTO => made_for,
        NANOEMBED_ACTIVATIONS_FLOAT => false,
        NANOEMBED_ACTIVATIONS_QUANTIZED => true,
        NANOEMBED_ACTIVATIONS_FIXED if FIXED => true,
        _ => return Err(invalid("activations")),
    })
}
