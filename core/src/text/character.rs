//! The bytes of a character.

/// The UTF-8 of `c`, in `room`.
///
/// `char::encode_utf8` formats a message where there is too little room: in modules for the web,
/// where callers share its code, a kilobyte that is never run.
pub(crate) fn utf8(c: char, room: &mut [u8; 4]) -> &str {
    c.encode_utf8(room)
}
