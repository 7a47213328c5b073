//! Families of models, each a folder with the names of its tensors: what is called how, and where
//! it belongs.

pub mod bert;
pub mod llama;
