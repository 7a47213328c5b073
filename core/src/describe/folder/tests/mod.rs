//! Rejected settings of folders.

extern crate std;

mod listed_modules;
mod modules;
