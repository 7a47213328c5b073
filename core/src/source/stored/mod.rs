//! A `.weights` file that lies anywhere: what one pass over it tells, and its weights and tokens
//! read where they lie.
//!
//! [`Contents::read`] drives the decoder over storage and keeps what opening a model needs: the
//! sizes, the places of the tensors in lent memory, and where the tokens lie. Nothing of the file
//! stays in memory: [`StoredWeights`] and [`StoredTokens`] read it again where they are asked.

mod contents;
mod tokens;
mod weights;

pub use contents::{Contents, TensorPlace};
pub use tokens::{StoredIds, StoredTokens, TokenIndex, TokenPlaces};
pub use weights::StoredWeights;
