//! Models that are a table with a vector for each token, in lent memory.
//!
//! | part | what it is |
//! |---|---|
//! | `rows` | the table: tokens to a vector |
//! | `file` | what a `.weights` file says of its table |
//! | `cut` | how much of a text counts |
//! | `model` | texts to vectors |
//!
//! `docs/models.md` has the layout of these files. Nothing here allocates: settings are read where
//! they are spelled, and what is not done here is refused by name.

mod cut;
#[cfg(feature = "embd")]
mod file;
#[cfg(feature = "embd")]
mod model;
mod rows;

#[cfg(any(feature = "embd", feature = "pipeline"))]
pub(crate) use cut::cut;
#[cfg(feature = "embd")]
pub use file::TableSource;
#[cfg(feature = "embd")]
pub use model::TableModel;
pub use rows::TokenTable;
