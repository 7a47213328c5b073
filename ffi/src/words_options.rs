//! The choices with which word vectors are opened.

use core::mem::size_of;

/// How word vectors are to be opened. All zeros is a good start: no index, no memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_words_options {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// 1 to find words by an index in memory, some 12.5 bytes a word; 0 to look through the
    /// vocabulary each time. A library built without the feature `word-index` answers
    /// `NANOEMBED_INVALID_ARGUMENT` to 1.
    pub indexed: u32,
    /// 1 to take the first of words that stand in a vocabulary twice, 0 to refuse the file. Noticed
    /// with an index only.
    pub first_of_duplicates: u32,
    /// Random seed of the index; prevents hash flooding by a hostile file.
    pub seed: u64,
}

crate::versioned!(nanoembed_words_options);
