//! Limits on the heap memory of models from untrusted files.

use nanoembed_core::ErrorKind;

use crate::status::{Failure, Outcome};

/// Limits on a model's memory: a model that needs more is refused before it is allocated, with
/// `NANOEMBED_OVER_LIMIT` and the field's name. All zeros but its size is a good start.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_limits {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// Bytes of all files that hold the model's weights; 0 for 1 TiB.
    pub file_bytes: u64,
    /// Bytes of scratch memory that a workspace takes for the longest text, which `tokens` of the
    /// model's options makes shorter; 0 for 16 GiB.
    pub workspace_bytes: u64,
}

crate::versioned!(nanoembed_limits);

impl nanoembed_limits {
    /// Refuses files of so many bytes.
    pub(crate) fn check_files(&self, bytes: u64) -> Outcome {
        check("file_bytes", bytes, (self.file_bytes, 1 << 40))
    }

    /// Refuses a workspace of so many bytes. Memory that cannot be counted is refused where it is
    /// asked for.
    pub(crate) fn check_workspace(&self, bytes: usize) -> Outcome {
        check("workspace_bytes", bytes as u64, (self.workspace_bytes, 1 << 34))
    }
}

/// Refuses what is beyond a limit, which is the usual one where it is 0.
fn check(name: &'static str, bytes: u64, (limit, usual): (u64, u64)) -> Outcome {
    let most = if limit == 0 { usual } else { limit };
    if bytes <= most { Ok(()) } else { Err(Failure::from(ErrorKind::OverLimit).about(name)) }
}
