//! The offsets and sizes of the sections, computed from the header.

use crate::error::{Error, ErrorKind, Result};
use crate::format::amb::grammar::{HEADER_BYTES, Header, TOKENIZER_HEAD_BYTES};

/// Offsets of the header's fields, for errors about them.
pub(super) mod field {
    pub(in super::super) const FLAGS: u64 = 6;
    pub(in super::super) const TOKENIZER_BYTES: u64 = 16;
    pub(in super::super) const WEIGHTS_BYTES: u64 = 20;
}

/// A byte range of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AmbPlace {
    /// Absolute offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl AmbPlace {
    /// Absolute offset of the end, exclusive.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// The offsets and sizes of the sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AmbLayout {
    /// JSON about the model's origin.
    pub metadata: AmbPlace,
    /// JSON with the model's sizes.
    pub config: AmbPlace,
    /// The tokenizer; empty if there is none.
    pub tokenizer: AmbPlace,
    /// The tensors' records.
    pub weights: AmbPlace,
}

/// The layout of sections with the header's sizes.
pub(super) fn places(header: &Header) -> Result<AmbLayout> {
    let overflow = Error::new(field::WEIGHTS_BYTES, ErrorKind::SizeOverflow);
    let place = |offset: u64, bytes: u64| {
        offset.checked_add(bytes).map(|_| AmbPlace { offset, bytes }).ok_or(overflow)
    };
    let metadata = place(HEADER_BYTES, header.metadata_bytes.into())?;
    let config = place(metadata.end(), header.config_bytes.into())?;
    let tokenizer = place(config.end(), header.tokenizer_bytes.into())?;
    let weights = place(tokenizer.end(), header.weights_bytes)?;
    if (1..TOKENIZER_HEAD_BYTES).contains(&tokenizer.bytes) {
        return Err(Error::new(field::TOKENIZER_BYTES, ErrorKind::SizeMismatch));
    }
    Ok(AmbLayout { metadata, config, tokenizer, weights })
}
