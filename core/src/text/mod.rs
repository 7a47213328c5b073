//! Texts inside binary files.

pub mod fraction;
pub mod json;
pub mod toml;
