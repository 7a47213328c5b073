//! The order of rows of query and key weights.
//!
//! Rotary embedding turns pairs of elements of a head. Hugging Face pairs element `j` with `j +
//! half`, ggml's `llama` pairs neighbours, so its converter moves row `(half h', j)` of each head,
//! `h'` being 0 or 1, to `2 j + h'`.

use nanoembed_core::{Error, limit};

/// Whose order the result shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Ggml,
    HuggingFace,
}

/// The rows of `data`, each of `row_bytes`, put in the other order for `heads` heads; `None` if
/// they cannot be divided.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn reorder(
    data: &[u8],
    row_bytes: usize,
    heads: usize,
    to: To,
) -> Result<Option<Vec<u8>>, Error> {
    let Some((rows, head)) = division(data.len(), row_bytes, heads) else { return Ok(None) };
    let mut out = limit::reserved(data.len())?;
    for row in 0..rows {
        let (start, inside) = (row / head * head, row % head);
        let from = match to {
            To::Ggml => inside % 2 * (head / 2) + inside / 2,
            To::HuggingFace => inside % (head / 2) * 2 + inside / (head / 2),
        };
        let from = (start + from) * row_bytes;
        out.extend_from_slice(data.get(from..from + row_bytes).unwrap_or_default());
    }
    Ok(Some(out))
}

/// The number of rows, and those of a head.
fn division(bytes: usize, row_bytes: usize, heads: usize) -> Option<(usize, usize)> {
    let rows = bytes.checked_div(row_bytes)?;
    let head = rows.checked_div(heads)?;
    let is_even = rows * row_bytes == bytes && head * heads == rows && head.is_multiple_of(2);
    is_even.then_some((rows, head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_become_neighbours_and_back() {
        let hugging_face = [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32];
        let ggml = reorder(&hugging_face, 1, 2, To::Ggml).unwrap().unwrap();
        assert_eq!(ggml, [0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32]);
        let back = reorder(&ggml, 1, 2, To::HuggingFace).unwrap();
        assert_eq!(back.as_deref(), Some(&hugging_face[..]));
        for (row_bytes, heads) in [(1, 4), (5, 2), (1, 0)] {
            assert_eq!(reorder(&ggml, row_bytes, heads, To::Ggml), Ok(None));
        }
    }
}
