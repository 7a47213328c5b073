//! The second layers of experts, which checkpoints store transposed, and files that are written as
//! other matrices.

use nanoembed_core::model::{Config, FamilyModel, FeedForward, Tensor, TensorName};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::convert::naming::spelled;

/// The number of experts of a model; 0 without any.
pub fn count(config: &Config) -> usize {
    match config.feed_forward {
        FeedForward::Mixed(mixture) => mixture.experts,
        _ => 0,
    }
}

/// The name in files that are written of a tensor that the checkpoint calls `own`, if it is stored
/// transposed there.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub fn written_name(model: &FamilyModel, own: &str) -> Result<Option<String>, CoreError> {
    let parts = model.names.parts(own);
    let Some(parts) = parts.filter(|it| it.tensor == Tensor::ExpertsDownTransposed) else {
        return Ok(None);
    };
    spelled(model.names, &TensorName { tensor: Tensor::ExpertsDown, ..parts })
}

/// `experts` matrices of `cols` columns, one after the other, each transposed; and the columns of
/// the result.
///
/// # Errors
///
/// [`ErrorKind::WrongShape`] if there are not whole matrices; [`ErrorKind::NoMemory`].
pub fn transposed(
    values: &[f32],
    experts: usize,
    cols: usize,
) -> Result<(Vec<f32>, usize), CoreError> {
    let each = values.len().checked_div(experts).unwrap_or(0);
    let rows = each.checked_div(cols).unwrap_or(0);
    if rows == 0 || rows * cols * experts != values.len() {
        return Err(CoreError::without_offset(ErrorKind::WrongShape));
    }
    let matrices = values.chunks_exact(each);
    let columns = matrices.flat_map(|matrix| (0..cols).map(move |col| (matrix, col)));
    let all = columns.flat_map(|(matrix, col)| matrix.iter().skip(col).step_by(cols));
    let mut turned = limit::reserved(values.len())?;
    turned.extend(all);
    Ok((turned, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_transposed_one_by_one() {
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        let expected = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 10.0, 13.0, 11.0, 14.0, 12.0, 15.0];
        assert_eq!(transposed(&values, 2, 3).unwrap(), (expected.to_vec(), 2));
        assert_eq!(transposed(&values, 5, 3).unwrap_err().kind(), ErrorKind::WrongShape);
        assert_eq!(transposed(&values, 0, 3).unwrap_err().kind(), ErrorKind::WrongShape);
    }
}
