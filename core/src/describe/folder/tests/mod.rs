//! Settings of folders that are refused.

extern crate std;

mod modules;
