//! A file's bytes, shared.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::files::mapped_file::MappedFile;

/// The bytes of a file: mapped, read, or part of the program. Clones share them.
#[derive(Clone)]
pub struct Bytes(Held);

#[derive(Clone)]
enum Held {
    MappedFile(Arc<MappedFile>),
    Shared(Arc<[u8]>),
    Static(&'static [u8]),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::MappedFile(bytes) => bytes,
            Held::Shared(bytes) => bytes,
            Held::Static(bytes) => bytes,
        }
    }
}

impl Bytes {
    /// The bytes, for as long as a clone of this lives.
    ///
    /// # Safety
    ///
    /// Borrowers must not use the bytes after the last clone is dropped.
    pub(crate) unsafe fn unbound(&self) -> &'static [u8] {
        let bytes: *const [u8] = &raw const **self;
        // SAFETY: they lie on the heap, in a map or in the program, and do not move or change as
        // long as a clone lives, which the caller sees to.
        unsafe { &*bytes }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}

impl From<MappedFile> for Bytes {
    fn from(bytes: MappedFile) -> Self {
        Self(Held::MappedFile(Arc::new(bytes)))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        MappedFile::Read(bytes).into()
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Held::Shared(bytes))
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self(Held::Static(bytes))
    }
}

impl<const N: usize> From<&'static [u8; N]> for Bytes {
    fn from(bytes: &'static [u8; N]) -> Self {
        bytes.as_slice().into()
    }
}
