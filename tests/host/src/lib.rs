//! Fuzz targets of the host crates. Those of the core are in `nanoembed_tests`.
//!
//! * [`c`]: the C interface, called as from C, with memory of exactly the stated size.
//! * [`words`]: word vectors in other programs' formats.
//! * [`models`]: converted models, and folders of shards.
//!
//! And [`complexity`]: growing inputs, to check how work grows; [`refused`]: jobs with their
//! allocations failing.

pub mod c;
pub mod complexity;
pub mod models;
pub mod refused;
pub mod words;

use nanoembed_tests::fuzz::{self, Target};

/// The targets of this crate, by name.
pub const TARGETS: &[Target] = &[
    Target::new("c", c::run, c::seeds).up_to(128 << 10),
    Target::new("families", fuzz::encoder, models::family_seeds).up_to(512 << 10),
    Target::new("fixed", models::fixed, models::fixed_seeds).up_to(512 << 10),
    Target::new("uqff_folder", models::uqff_folder, models::uqff_seeds).up_to(512 << 10),
    Target::new("words", words::run, words::seeds).up_to(32 << 10),
];

/// All targets, by name.
#[must_use]
pub fn all_targets() -> Vec<Target> {
    let mut all = [fuzz::TARGETS, TARGETS].concat();
    all.sort_by_key(|target| target.name);
    all
}
