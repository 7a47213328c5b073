//! A text after a prompt, in pieces that are tokenised one after the other.

use crate::error::{Error, ErrorKind, Result};
use crate::token::spec::AddedTokenSpecs;

/// Returns true if texts may be cut before a space that follows a letter or a digit of ASCII: no
/// added token goes across, or takes white space or letters there.
pub(super) fn may_be_cut(added: AddedTokenSpecs<'_>) -> bool {
    added.iter().all(|token| {
        let Ok(token) = token else { return false };
        let spaces = token.content.chars().any(|c| c == ' ');
        let only = token.content.chars().all(|c| c == ' ');
        (!spaces || only) && !token.rules.strips_after && !token.rules.single_word
    })
}

/// `prompt` with as much of `text` after it as fits `room`, and what is left of the text.
///
/// # Errors
///
/// [`ErrorKind::OverLimit`] if the text does not fit and has no place where it may be cut, or if
/// none may.
pub(super) fn join<'r>(
    prompt: &str,
    text: &'r str,
    may_be_cut: bool,
    room: &'r mut [u8],
) -> Result<[&'r str; 2]> {
    let over = Error::without_offset(ErrorKind::OverLimit);
    let most = room.len().checked_sub(prompt.len()).ok_or(over)?;
    let kept = match text.len() {
        length if length <= most => length,
        _ => last_end(text.as_bytes().get(..most).unwrap_or_default())
            .filter(|_| may_be_cut)
            .ok_or(over)?,
    };
    let (first, rest) = text.split_at_checked(kept).ok_or(over)?;
    let all = prompt.bytes().chain(first.bytes());
    room.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    let length = prompt.len().saturating_add(kept);
    let whole = core::str::from_utf8(room.get(..length).ok_or(over)?).map_err(|_| over)?;
    Ok([whole, rest])
}

/// The last place before a space that follows a letter or a digit of ASCII.
fn last_end(text: &[u8]) -> Option<usize> {
    let is_end = |pair: &[u8]| matches!(pair, [a, b' '] if a.is_ascii_alphanumeric());
    text.windows(2).rposition(is_end).map(|at| at.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_from_a_space_on() {
        let mut room = [0; 16];
        let mut put = |text, cuts| join("query: ", text, cuts, &mut room).map(|it| it.map(len));
        fn len(text: &str) -> usize {
            text.len()
        }
        assert_eq!(put("one two", true), Ok([14, 0]));
        assert_eq!(put("one two three", true), Ok([14, 6]));
        assert_eq!(put("one two three", false).map_err(|it| it.kind()), Err(ErrorKind::OverLimit));
        assert_eq!(put("一二三四五", true).map_err(|it| it.kind()), Err(ErrorKind::OverLimit));
        assert_eq!(
            join("query: ", "x", true, &mut [0; 3]).map_err(|it| it.kind()),
            Err(ErrorKind::OverLimit)
        );
        assert_eq!(join("p: ", "one two", true, &mut [0; 8]), Ok(["p: one", " two"]));
    }
}
