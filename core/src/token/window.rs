//! A window onto a text that is longer.

/// Moves the bytes of `window` from `from` up to `end` to its front.
pub(crate) fn move_to_front(window: &mut [u8], from: usize, end: usize) {
    for at in from..end {
        let Some(byte) = window.get(at).copied() else { break };
        if let Some(place) = window.get_mut(at.saturating_sub(from)) {
            *place = byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_lies_at_the_front() {
        let mut window = *b"abcdef";
        move_to_front(&mut window, 2, 5);
        assert_eq!(&window[..3], b"cde");
        move_to_front(&mut window, 4, 99);
        assert_eq!(&window[..2], b"ef");
        move_to_front(&mut window, 9, 3);
    }
}
