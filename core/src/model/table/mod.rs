//! A static model: a table with a vector for each token (`rows`), and the limit on a text's length
//! (`cut`).

mod cut;
mod rows;

pub(crate) use cut::cut;
pub use rows::TokenTable;
