//! Text inside binary files: JSON, TOML, numbers and paths.

pub(crate) mod base64;
pub(crate) mod character;
pub mod decimal;
pub mod fraction;
pub mod json;
pub mod path;
pub mod terminal;
pub mod toml;
#[cfg(test)]
pub(crate) mod utf8_shapes;
