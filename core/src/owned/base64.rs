//! Base64 as [RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4) has it, with padding and
//! nothing between.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::filled;
use crate::text::base64;

pub use crate::text::base64::encode;

/// The bytes that `text` stands for; `None` if it is not written so.
///
/// # Errors
///
/// [`NoMemory`](crate::ErrorKind::NoMemory).
pub fn decode(text: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = filled(base64::room_for(text), 0)?;
    let Some(length) = base64::decode(text, &mut bytes) else { return Ok(None) };
    bytes.truncate(length);
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
        {
            assert_eq!(decode(text).unwrap().unwrap(), bytes.as_bytes());
            let mut written = String::new();
            encode(bytes.as_bytes(), &mut written).unwrap();
            assert_eq!(written, text);
        }
    }
}
