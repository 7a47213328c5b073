//! JSON (RFC 8259) as a stream of lexemes: no tree, no memory, bounded depth.
//!
//! * [`Lexer`] takes bytes as they arrive, keeps its state across chunks and looks at every byte
//!   once.
//! * [`JsonTokens`] yields the lexemes of a text in memory with their spelling.
//! * [`Value`] reads the values of a text in memory one by one; [`Object`] records which settings
//!   were read.
//! * [`Quoted`], [`Members`] and [`List`] write strings, objects and lists.
//! * [`chars`], [`is`], [`unescape`], [`number_u64`] and [`number_f64`] interpret a spelling.
//!
//! Exactly the texts that the crate `serde_json` accepts as a value are accepted, except for
//! numbers beyond f64, which only [`number_f64`] rejects.

mod lexer;
mod object;
mod spelling;
mod string;
mod tokens;
mod value;
mod writer;

pub use lexer::{Lexeme, LexemeKind, Lexer, MAX_DEPTH};
pub use object::{Fault, Object, Read, UNKNOWN};
pub use spelling::{chars, has_escapes, is, number_f64, number_u64, unescape};
pub use tokens::{JsonTokens, Token};
pub use value::Value;
pub use writer::{Comma, List, Members, Quoted};

#[cfg(test)]
pub(crate) mod tests;
