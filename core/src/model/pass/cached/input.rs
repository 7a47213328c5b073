//! The input of linear layers: plain activations, or activations quantised once for all layers that
//! take the same codes.

use super::memory::{Activations, ROWS_AT_ONCE, Scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Strides;
use crate::model::linear::grouped::GroupBuffers;
use crate::model::linear::{Input, Linear, Output, Rows};
use crate::model::run::Run;
use crate::model::weights::Weights;

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// The form in which a layer takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Floats,
    /// Quantised in groups of this many columns.
    Once(usize),
    /// Quantised, together with the quantisation error.
    Twice(usize),
}

/// Activations `[tokens, cols]` that are the input of one or several linear layers.
pub(super) struct LayerInput<'x, 's, 'm, W: ?Sized, P: ?Sized> {
    run: &'x Run<'x, W, P>,
    scratch: &'s mut Scratch<'m>,
    x: &'x [f32],
    /// The form whose codes the scratch memory holds.
    form: Form,
}

impl<'x, 's, 'm, W: Weights + ?Sized, P: ?Sized> LayerInput<'x, 's, 'm, W, P> {
    pub(super) const fn new(
        run: &'x Run<'x, W, P>,
        scratch: &'s mut Scratch<'m>,
        x: &'x [f32],
    ) -> Self {
        Self { run, scratch, x, form: Form::Floats }
    }

    /// The scratch memory between two linear layers; its codes must not be overwritten.
    pub(super) const fn scratch(&mut self) -> &mut Scratch<'m> {
        self.scratch
    }

    /// Applies some rows of a linear layer to all tokens and writes `[tokens, count]` to `out`.
    pub(super) fn rows(&mut self, rows: &Rows, out: &mut [f32]) -> Result<()> {
        let form = self.form_for(&rows.linear);
        let Self { run, x, scratch: Scratch { codes, staging, .. }, .. } = self;
        let buffers = codes.reborrow();
        let input = match form {
            Form::Floats => Input::Floats(x),
            Form::Once(group) | Form::Twice(group) => {
                let twice = form == Form::Twice(group);
                let mut buffers = GroupBuffers::new(buffers, (x.len(), group), twice)?;
                if self.form != form {
                    buffers.quantize(run.kernels, x);
                    self.form = form;
                }
                Input::Groups(buffers.into_input(rows.linear.weight.cols))
            }
        };
        let mut done = 0;
        while done < rows.count {
            let count = ROWS_AT_ONCE.min(rows.count - done);
            let output = Output {
                first: rows.first + done,
                rows: count,
                out: out.get_mut(done..).ok_or(TOO_SMALL)?,
                strides: Strides { token: rows.count, row: 1 },
            };
            run.linear(&rows.linear, input, output, staging)?;
            done += count;
        }
        Ok(())
    }

    fn form_for(&self, linear: &Linear) -> Form {
        let takes_blocks = linear.layout().is_some() && self.run.kernels.product_blocks.is_some();
        match (self.scratch.activations, linear.group()) {
            (Activations::Words, Some(group)) if takes_blocks => Form::Twice(group),
            (Activations::Bytes, Some(group)) => Form::Once(group),
            _ => Form::Floats,
        }
    }
}
