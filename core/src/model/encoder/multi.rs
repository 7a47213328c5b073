//! Heads that make a vector for each token: the memory that they take, and opening them there.

use super::EncoderNeeds;
use super::head_modules::{add_modules, fill_modules};
use super::head_tensors::{Filling, Room};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::model::head::embedding::HeadLayer;
use crate::model::head::module::HeadModule;
use crate::model::head::multi::MultiHead;
use crate::model::run::Run;
use crate::model::weights::Weights;

/// A head that makes a vector for each token, as a model's files describe it.
#[derive(Clone, Copy, Debug)]
pub struct MultiSpec<'a, S> {
    /// Elements of a token's state.
    pub width: usize,
    /// The modules that each state passes through. The result is scaled to length 1.
    pub head: &'a [HeadModule<S>],
}

impl<S: AsRef<str>> MultiSpec<'_, S> {
    /// The memory that [`open`](Self::open) takes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`] or [`ErrorKind::WrongShape`] if the weights of a module are not
    /// there or do not fit.
    pub fn needs(&self, weights: &dyn Weights) -> Result<EncoderNeeds> {
        let mut room = Room::default();
        add_modules(weights, self.head, self.width, &mut room)?;
        let tile = if weights.borrows() { 0 } else { room.tile };
        Ok(EncoderNeeds { layers: 0, head: self.head.len(), floats: room.floats, tile })
    }

    /// The head in this memory. `named` has the tensors by their names, `weights` their bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less memory than [`needs`](Self::needs) says; as
    /// [`needs`](Self::needs); any error of reading the weights.
    pub fn open<D: AsMut<[HeadLayer]>>(
        &self,
        named: &dyn Weights,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        (mut layers, floats): (D, &mut [f32]),
        tile: &mut [u8],
    ) -> Result<MultiHead<D>> {
        let slots = layers.as_mut();
        if slots.len() != self.head.len() {
            return Err(Error::without_offset(ErrorKind::BufferTooSmall));
        }
        let run = Run::new(weights, kernels);
        fill_modules(&run, named, self.head, slots, &mut Filling::new(floats, tile))?;
        Ok(MultiHead { width: self.width, layers })
    }
}
