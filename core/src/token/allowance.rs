//! How much a step may make of a text: what a file says becomes of a character may be as long as the
//! file.

use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;

/// Bytes that may become of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance(usize);

impl Allowance {
    /// What may become of `text`.
    pub(crate) const fn of(text: &str) -> Self {
        Self(text.len().saturating_mul(Limit::EXPANSION.most).saturating_add(1024))
    }

    /// Refuses a text that has grown beyond it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`].
    #[cfg(feature = "pipeline")]
    pub(crate) const fn check(self, grown: &str) -> Result<()> {
        self.check_bytes(grown.len())
    }

    /// As [`check`](Self::check), of so many bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`].
    pub(crate) const fn check_bytes(self, grown: usize) -> Result<()> {
        if grown > self.0 {
            return Err(Error::without_offset(ErrorKind::OverLimit));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_grow_to_its_allowance_and_no_further() {
        let allowance = Allowance::of("abc");
        let most = 3 * 32 + 1024;
        assert_eq!(allowance.check_bytes(most), Ok(()));
        let refused = Err(Error::without_offset(ErrorKind::OverLimit));
        assert_eq!(allowance.check_bytes(most + 1), refused);
    }

    #[cfg(feature = "pipeline")]
    #[test]
    fn a_text_is_as_long_as_its_bytes() {
        let allowance = Allowance(3);
        assert_eq!(allowance.check("abc"), Ok(()));
        let refused = Err(Error::without_offset(ErrorKind::OverLimit));
        assert_eq!(allowance.check("\u{e9}\u{e9}"), refused);
    }
}
