//! Destinations of written bytes: the counterpart of the sources in [`read`](crate::read).

use crate::error::Result;

/// Takes the bytes of a file as they are written, in order.
///
/// With the feature `alloc`, `Vec<u8>` is a sink; with `std`, `owned::IoSink` makes one of any
/// `std::io::Write`.
pub trait Sink {
    /// Takes all of `bytes`.
    ///
    /// # Errors
    ///
    /// Any error that keeps the sink from taking them, usually
    /// [`ErrorKind::WriteFailed`](crate::ErrorKind::WriteFailed).
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        (**self).write(bytes)
    }
}
