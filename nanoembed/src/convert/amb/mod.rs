//! AMB files: writing a checkpoint as one, and one as a checkpoint.
//!
//! `types` says how tensors are stored, `energy` measures what their columns meet
//! in texts and `probes`, `budget` shares out the bits of adaptive
//! precision, `feedback` compensates errors, `write` puts the file together, `source` reads one.

mod budget;
pub mod energy;
mod feedback;
mod probes;
pub mod source;
mod types;
mod write;

pub use types::AmbOptions;
pub use write::{AmbSource, encoder_config, wordpiece, write};
