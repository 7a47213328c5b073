//! How much all steps together may make of a text: what a file says becomes of a character may be as
//! long as the file, and each of many steps may do the same again.

use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;

/// Bytes that may become of a text. Parts of the text share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance(usize);

impl Allowance {
    /// The allowance of `text`.
    pub(crate) const fn for_text(text: &str) -> Self {
        Self::for_bytes(text.len())
    }

    /// The allowance of a text of so many bytes.
    pub(crate) const fn for_bytes(bytes: usize) -> Self {
        let most = bytes.saturating_mul(Limit::EXPANSION.most);
        Self(most.saturating_add(Limit::SHORT_EXPANSION.most))
    }

    /// Takes what has become of a part of the text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] if less is left.
    pub(crate) const fn take(&mut self, bytes: usize) -> Result<()> {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(Error::without_offset(ErrorKind::OverLimit)),
        }
    }

    /// The bytes that are left.
    pub(crate) const fn left(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_grow_to_its_allowance_and_no_further() {
        let mut allowance = Allowance::for_text("abc");
        assert_eq!(allowance.take(3 * 32), Ok(()));
        assert_eq!(allowance.take(1024), Ok(()));
        assert_eq!(allowance.take(0), Ok(()));
        assert_eq!(allowance.take(1), Err(Error::without_offset(ErrorKind::OverLimit)));
    }
}
