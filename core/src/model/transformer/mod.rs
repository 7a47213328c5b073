//! Transformers of all families that embed texts, out of `.weights` files that keep the texts of a
//! folder, in lent memory.
//!
//! | part | what it is |
//! |---|---|
//! | `source` | what a file says of its model, and how much memory that takes |
//! | `linear`, `classes` | what stands behind the transformer, out of the file |
//! | `cross_encoder` | tokens of a pair to its scores |
//!
//! `docs/models.md` has the layout of these files. Nothing here allocates, and the vectors are those
//! of `owned::TextEncoder`, bit for bit.

mod classes;
mod cross_encoder;
mod linear;
mod source;

pub use cross_encoder::CrossEncoder;
pub use source::{TransformerMemory, TransformerNeeds, TransformerSource};

use crate::error::{Error, ErrorKind};

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);
const MISSING: Error = Error::without_offset(ErrorKind::MissingTensor);
const WRONG_SHAPE: Error = Error::without_offset(ErrorKind::WrongShape);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const TOO_LARGE: Error = Error::without_offset(ErrorKind::SizeOverflow);
