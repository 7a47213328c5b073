//! Texts inside binary files.

pub mod json;
pub mod toml;
