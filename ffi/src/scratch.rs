//! The scratch memory of models.

use crate::memory::LentSlice;

/// Memory for computing: floats and bytes, or that of integers.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) floats: LentSlice<f32>,
    pub(crate) bytes: LentSlice<u8>,
    pub(crate) words: LentSlice<i32>,
    pub(crate) codes: LentSlice<i16>,
}

/// Elements of each kind of memory that a workspace takes.
pub(crate) struct Sizes {
    pub(crate) floats: usize,
    pub(crate) bytes: usize,
    pub(crate) words: usize,
    pub(crate) codes: usize,
    pub(crate) ids: usize,
    pub(crate) texts: usize,
    /// Bytes of a prompt.
    pub(crate) prompt: usize,
}

impl Sizes {
    pub(crate) const NONE: Self =
        Self { floats: 0, bytes: 0, words: 0, codes: 0, ids: 0, texts: 0, prompt: 0 };
}
