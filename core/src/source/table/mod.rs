//! Static models in files: a table with a vector for each token, in caller-provided memory.
//!
//! | part | contents |
//! |---|---|
//! | `file` | the settings of a table in a `.weights` file |
//! | `model` | texts to vectors |
//!
//! `docs/models.md` has the layout of these files. Nothing here allocates: settings are read in
//! place, and unsupported ones are rejected by name.

mod file;
mod model;

pub use file::TableSource;
pub use model::{StaticModel, TableTokenizer};
