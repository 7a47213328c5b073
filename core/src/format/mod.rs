//! The formats: one folder each, with the same parts.
//!
//! | file | role |
//! |---|---|
//! | `grammar` | plain nom functions, one per item of the layout |
//! | `decoder` | the sans-I/O state machine over the grammar, an implementation of [`Decode`](crate::event::Decode) |
//! | `view` | random access to a whole file in memory, validated once by the decoder |
//! | `write` | the same layout, written |

#[cfg(feature = "embd")]
pub mod embd;
#[cfg(feature = "safetensors")]
pub mod safetensors;
#[cfg(feature = "uqff")]
pub mod uqff;

use crate::event::Format;

/// How many bytes [`sniff`] wants to see.
pub const SNIFF_BYTES: usize = 8;

/// Recognises a format by a file's first bytes.
#[must_use]
pub fn sniff(start: &[u8]) -> Option<Format> {
    #[cfg(feature = "embd")]
    if start.starts_with(embd::MAGIC) {
        return Some(Format::Embd);
    }
    let _ = start;
    None
}
