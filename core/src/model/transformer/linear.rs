//! Linear layers and norms behind a transformer, out of its file into memory.

use super::{MISSING, TOO_LARGE, TOO_SMALL};
use crate::error::Result;
use crate::model::head::classifier::HeadNorm;
use crate::model::head::dense::{Dense, DenseActivation};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights, check_presence};

/// Where the weight and the bias of a layer lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    pub(super) weight: Matrix,
    pub(super) bias: Option<Matrix>,
}

impl Linear {
    /// The layer whose tensors `find` finds by what their names end with.
    pub(super) fn find(
        has_bias: bool,
        find: impl Fn(&str) -> Result<Option<Matrix>>,
    ) -> Result<Self> {
        let weight = find(".weight")?.ok_or(MISSING)?;
        Ok(Self { weight, bias: check_presence(find(".bias")?, has_bias)? })
    }

    /// Whether it makes so many outputs of so many inputs.
    pub(super) fn fits(&self, outputs: usize, inputs: usize) -> bool {
        let Self { weight, bias } = self;
        (weight.rows, weight.cols) == (outputs, inputs)
            && bias.is_none_or(|bias| (bias.rows, bias.cols) == (1, outputs))
    }

    /// Floats that it takes.
    pub(super) const fn floats(&self) -> Option<usize> {
        match self.weight.cols.checked_add(1) {
            Some(columns) => columns.checked_mul(self.weight.rows),
            None => None,
        }
    }

    /// The layer, whose weights become the first of `floats`.
    pub(super) fn read<'m, W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        activation: DenseActivation,
        floats: &mut &'m mut [f32],
    ) -> Result<Dense<'m>> {
        let Self { weight, bias } = self;
        let elements = weight.rows.checked_mul(weight.cols).ok_or(TOO_LARGE)?;
        let values = read(run, Some(weight), elements, floats)?;
        let bias = read(run, bias.as_ref(), weight.rows, floats)?;
        Ok(Dense { weight: values, bias, activation })
    }
}

/// Where the weight and the bias of a layer norm lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Norm(Linear);

impl Norm {
    /// The norm whose tensors `find` finds by what their names end with.
    pub(super) fn find(
        has_bias: bool,
        find: impl Fn(&str) -> Result<Option<Matrix>>,
    ) -> Result<Self> {
        Linear::find(has_bias, find).map(Self)
    }

    /// Returns true if it takes vectors of so many elements.
    pub(super) fn fits(&self, elements: usize) -> bool {
        let is_vector = |it: &Matrix| (it.rows, it.cols) == (1, elements);
        is_vector(&self.0.weight) && self.0.bias.as_ref().is_none_or(is_vector)
    }

    /// Floats that it takes.
    pub(super) const fn floats(&self) -> Option<usize> {
        self.0.weight.cols.checked_mul(2)
    }

    /// The norm, whose weights become the first of `floats`.
    pub(super) fn read<'m, W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        epsilon: f32,
        floats: &mut &'m mut [f32],
    ) -> Result<HeadNorm<'m>> {
        let Linear { weight, bias } = &self.0;
        let elements = weight.cols;
        let weight = read(run, Some(weight), elements, floats)?;
        let bias = read(run, bias.as_ref(), elements, floats)?;
        Ok(HeadNorm { weight, bias, epsilon })
    }
}

/// The elements of a matrix, zeros where there is none, which become the first of `floats`.
pub(super) fn read<'m, W: Weights + ?Sized>(
    run: &Run<'_, W>,
    matrix: Option<&Matrix>,
    elements: usize,
    floats: &mut &'m mut [f32],
) -> Result<&'m [f32]> {
    let room = core::mem::take(floats);
    let (values, rest) = room.split_at_mut_checked(elements).ok_or(TOO_SMALL)?;
    *floats = rest;
    match matrix {
        Some(matrix) => run.read_converted(matrix, 0, values, &mut [])?,
        None => values.fill(0.0),
    }
    Ok(values)
}
