//! Settings of folders that are refused.

extern crate std;

mod listed;
mod modules;
