//! The limit on the length of a text.

/// The prefix of a text that Model2Vec tokenises, and whether it is shorter than the text: `limit`
/// times the number of characters of a token, if `token_characters` is given.
pub(crate) fn cut(text: &str, limit: usize, token_characters: Option<usize>) -> (&str, bool) {
    let most = token_characters.map_or(usize::MAX, |characters| limit.saturating_mul(characters));
    // A text has no more characters than bytes.
    let end = if text.len() > most { text.char_indices().nth(most) } else { None };
    match end {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(cut("añb", 3, None), ("añb", false));
        assert_eq!(cut("añb", 3, Some(1)), ("añb", false));
        assert_eq!(cut("añb", 1, Some(2)), ("añ", true));
        assert_eq!(cut("añb", 0, Some(2)), ("", true));
        assert_eq!(cut("", 0, Some(2)), ("", false));
        assert_eq!(cut("a", usize::MAX, Some(2)), ("a", false));
    }
}
