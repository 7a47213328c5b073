//! The settings of a model, as its files state them.
//!
//! | part | contents |
//! |---|---|
//! | `bert` | the metadata of `.weights` and `.amb` files with a BERT encoder |

mod bert;

pub use bert::BertConfig;
