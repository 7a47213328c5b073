//! Texts inside binary files.

pub mod decimal;
pub mod fraction;
pub mod json;
pub mod toml;
