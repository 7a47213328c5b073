//! Models of texts of any family, ready to be written as one file with all texts of a folder.
//!
//! | file | role |
//! |---|---|
//! | `checkpoint` | a model, and the parts of it that go into a file |
//! | `folder`, `gguf` | the models in folders and in GGUF files |
//! | `tensors`, `gguf_tensors` | the tensors of several files; those of GGUF under the family's names |
//! | `layout` | texts beside the weights in a `.weights` or `.amb` file |

pub(super) mod checkpoint;
pub(super) mod folder;
mod gguf;
mod gguf_tensors;
mod layout;
mod tensors;

pub(super) use folder::naming;
pub(super) use tensors::integers;
