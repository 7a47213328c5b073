//! The order of rows of query and key weights.
//!
//! Rotary embedding turns pairs of elements of a head. Hugging Face pairs element `j` with `j +
//! half`, ggml's `llama` pairs neighbours, so its converter moves row `(half h', j)` of each head,
//! `h'` being 0 or 1, to `2 j + h'`.

/// Whose order the result shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Ggml,
    HuggingFace,
}

/// The rows of `data`, each of `row_bytes`, put in the other order for `heads` heads; `None` if
/// they cannot be divided.
pub fn reorder(data: &[u8], row_bytes: usize, heads: usize, to: To) -> Option<Vec<u8>> {
    let rows = data.len().checked_div(row_bytes)?;
    let head = rows.checked_div(heads)?;
    if rows * row_bytes != data.len() || head * heads != rows || !head.is_multiple_of(2) {
        return None;
    }
    let mut out = Vec::with_capacity(data.len());
    for row in 0..rows {
        let (start, inside) = (row / head * head, row % head);
        let from = match to {
            To::Ggml => inside % 2 * (head / 2) + inside / 2,
            To::HuggingFace => inside % (head / 2) * 2 + inside / (head / 2),
        };
        let from = (start + from) * row_bytes;
        out.extend_from_slice(data.get(from..from + row_bytes)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_become_neighbours_and_back() {
        let hugging_face = [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32];
        let ggml = reorder(&hugging_face, 1, 2, To::Ggml).unwrap();
        assert_eq!(ggml, [0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32]);
        assert_eq!(reorder(&ggml, 1, 2, To::HuggingFace).unwrap(), hugging_face);
        assert_eq!(reorder(&ggml, 1, 4, To::Ggml), None);
        assert_eq!(reorder(&ggml, 5, 2, To::Ggml), None);
        assert_eq!(reorder(&ggml, 1, 0, To::Ggml), None);
    }
}
