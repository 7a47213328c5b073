//! The outcome of tokenising a text.

/// The numbers of tokens of a tokenised text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_tokenized {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// How many ids there are, special tokens included.
    pub tokens: u32,
    /// How many the whole text has, special tokens included.
    pub total: u32,
    /// 1 if the text has more tokens than were kept, else 0.
    pub truncated: u32,
}

crate::versioned!(nanoembed_tokenized);

impl nanoembed_tokenized {
    pub(crate) fn from_encoded(encoded: &nanoembed_core::token::Encoded) -> Self {
        Self {
            tokens: crate::memory::number(encoded.tokens),
            total: crate::memory::number(encoded.total),
            truncated: encoded.truncated.into(),
            ..Self::default()
        }
    }
}
