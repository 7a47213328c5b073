//! UTF-8 encoding of characters without panics.

/// The UTF-8 of `c`, in `room`.
///
/// `char::encode_utf8` formats a message if the buffer is too small: in WebAssembly modules, where
/// callers share its code, that is a kilobyte that never runs.
pub(crate) fn utf8(c: char, room: &mut [u8; 4]) -> &str {
    c.encode_utf8(room)
}

/// Writes the UTF-8 of `c` into `out` at `length`; returns the new length, or `None` if `out` is
/// too small.
pub(crate) fn push(c: char, out: &mut [u8], length: usize) -> Option<usize> {
    let mut room = [0; 4];
    let bytes = utf8(c, &mut room).as_bytes();
    let end = length.checked_add(bytes.len())?;
    out.get_mut(length..end)?.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Some(end)
}
