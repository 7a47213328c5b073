//! Models of texts of any family, ready to be written as one file with all texts of their folder.
//!
//! | file | role |
//! |---|---|
//! | `folder` | these folders, and the parts of them that go into a file |
//! | `tensors` | the tensors of several files |
//! | `layout` | texts beside the weights in a `.weights` or `.amb` file |

pub(super) mod folder;
mod layout;
mod tensors;

pub(super) use folder::naming;
pub(super) use tensors::integers;
