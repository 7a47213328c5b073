//! JSON (RFC 8259) as a stream of lexemes: no tree, no memory, bounded depth.
//!
//! * [`Lexer`] takes bytes as they arrive and remembers what a chunk's end cuts; it looks at every
//!   byte once.
//! * [`Tokens`] gives the lexemes of a text in memory with their spelling.
//! * [`Value`] looks at the values of a text in memory one by one, [`Object`] keeps account of which
//!   settings were read.
//! * [`chars`], [`is`], [`unescape`], [`number_u64`] and [`number_f64`] say what a spelling means.
//!
//! Accepted and refused is exactly what crate `serde_json` accepts and refuses when it reads a
//! value, numbers beyond f64 aside, which only [`number_f64`] refuses.

mod lexer;
mod object;
mod spelling;
mod string;
mod tokens;
mod value;

pub use lexer::{Kind, Lexeme, Lexer, MAX_DEPTH};
pub use object::{Fault, Object, Read, UNKNOWN};
pub use spelling::{chars, has_escapes, is, number_f64, number_u64, unescape};
pub use tokens::{Token, Tokens};
pub use value::Value;

#[cfg(test)]
#[cfg(feature = "families")]
pub(crate) mod tests;
