//! The handle of a decoder.

use nanoembed_core::kernel::Kernels;
use nanoembed_core::model::llama::{Llama, LlamaLayer};

use crate::memory::LentSlice;

/// A decoder over a file in memory. Immutable: several threads may use it at once, each with a
/// session of its own.
#[derive(Debug)]
pub struct nanoembed_decoder {
    pub(crate) file: &'static [u8],
    pub(crate) llama: Llama<LentSlice<LlamaLayer>>,
    pub(crate) kernels: Kernels,
    pub(crate) positions: usize,
    pub(crate) tokens_at_once: usize,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    pub(crate) owned_bytes: usize,
}
