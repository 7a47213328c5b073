//! Static models: a table with a vector for each token, in caller-provided memory.
//!
//! | part | contents |
//! |---|---|
//! | `rows` | the table: tokens to a vector |
//! | `file` | the settings of a table in a `.weights` file |
//! | `cut` | the limit on a text's length |
//! | `model` | texts to vectors |
//!
//! `docs/models.md` has the layout of these files. Nothing here allocates: settings are read in
//! place, and unsupported ones are rejected by name.

mod cut;
mod file;
mod model;
mod rows;

pub(crate) use cut::cut;
pub use file::TableSource;
pub use model::{StaticModel, TableTokenizer};
pub use rows::TokenTable;
