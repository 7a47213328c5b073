//! Rejected settings of folders, and written ones.

extern crate std;

mod listed_modules;
mod modules;
#[cfg(feature = "std")]
mod words;
mod written;
