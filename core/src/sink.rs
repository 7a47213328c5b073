//! Where written bytes go: the counterpart of the sources in [`read`](crate::read).

use crate::error::Result;

/// Takes the bytes of a file as they are written, one after the other.
pub trait Sink {
    /// Takes all of `bytes`.
    ///
    /// # Errors
    ///
    /// Whatever keeps the sink from taking them;
    /// [`ErrorKind::WriteFailed`](crate::ErrorKind::WriteFailed) as a rule.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        (**self).write(bytes)
    }
}
