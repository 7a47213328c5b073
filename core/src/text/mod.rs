//! Texts inside binary files.

pub mod json;
