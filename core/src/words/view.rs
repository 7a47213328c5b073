//! Vectors and words borrowed from memory instead of copied.

use super::index::entry_bytes;
use super::lookup::Words;
use super::source::Memory;
use crate::error::{Error, ErrorKind, Result};
use crate::format::finalfusion::{Array, Storage};

impl<'a, M: AsRef<[u64]>> Words<Memory<'a>, M> {
    /// The word of a row, borrowed from the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is no such word.
    pub fn word(&self, row: u32) -> Result<&'a [u8]> {
        let offset = self.word_offset(row)?;
        let bytes = entry_bytes(self.source(), offset)?;
        self.lent(offset.saturating_add(4), bytes as u64)
    }

    /// The vector of a row, borrowed from the file: [`cols`](Self::cols) unaligned little-endian
    /// f32. `None` if the file does not store plain vectors but product-quantised ones.
    ///
    /// ```
    /// # use nanoembed_core::words::{Memory, Words};
    /// # fn sum(words: &Words<Memory<'_>>, word: &str) -> Result<Option<f32>, nanoembed_core::Error> {
    /// let Some(row) = words.find(word.as_bytes())? else { return Ok(None) };
    /// let vector = words.row_view(row.into())?;
    /// Ok(vector.map(|vector| vector.iter().map(|bytes| f32::from_le_bytes(*bytes)).sum()))
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is no such row.
    #[inline]
    pub fn row_view(&self, row: u64) -> Result<Option<&'a [[u8; 4]]>> {
        let Storage::Array(Array { rows, cols, offset }) = self.layout().storage else {
            return Ok(None);
        };
        if row >= rows {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let row_bytes = u64::from(cols).saturating_mul(4);
        let offset = row.saturating_mul(row_bytes).saturating_add(offset);
        Ok(Some(self.lent(offset, row_bytes)?.as_chunks().0))
    }

    /// A stretch of the file.
    #[inline]
    fn lent(&self, offset: u64, bytes: u64) -> Result<&'a [u8]> {
        let Memory(file) = *self.source();
        let range = || {
            let start = usize::try_from(offset).ok()?;
            file.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
        };
        range().ok_or(Error::new(offset, ErrorKind::SourceChanged))
    }
}
