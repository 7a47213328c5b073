//! What became of a text that was made token ids.

/// What became of a text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_tokenized {
    /// How many ids there are, special tokens included.
    pub tokens: u32,
    /// How many the whole text has, special tokens included.
    pub total: u32,
    /// 1 if the text has more tokens than were kept, else 0.
    pub truncated: u32,
}
