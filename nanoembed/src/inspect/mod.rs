//! What files say of themselves, and whether it is true.

pub mod difference;
pub mod distribution;
pub mod inspection;
pub mod model_check;
mod text_model;
pub mod verification;
