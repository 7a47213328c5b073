//! Norms: where their tensors lie.

use crate::model::weights::Matrix;

/// Weight and bias of a layer norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Norm {
    pub(in crate::model) weight: Matrix,
    pub(in crate::model) bias: Matrix,
}

impl Norm {
    pub(in crate::model) const EMPTY: Self = Self { weight: Matrix::EMPTY, bias: Matrix::EMPTY };
}
