//! Handles on the heap, for hosts that have one: planned, allocated and opened in one call.

mod fingerprint;
mod handles;
mod heap;
mod model;
mod other_vectors;

pub use fingerprint::*;
pub use handles::*;
pub use model::*;
pub use other_vectors::*;
