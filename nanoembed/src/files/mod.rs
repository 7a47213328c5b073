//! Files: read whole, mapped or piece by piece, and written so that they are whole or not there.

pub mod mapped;
pub mod new_file;
pub mod on_disk;
pub mod whole_file;

/// What some editors put at a text's start.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
