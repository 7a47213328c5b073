//! Handles on the heap, for hosts that have one: planned, allocated and opened in one call.

mod handles;
mod heap;
mod model;

pub use handles::*;
pub use model::*;
