//! Which tensors a model asks for and gets: those that belong into a file.

use std::sync::{Mutex, PoisonError};

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{Matrix, Weights};
use nanoembed_core::tensor::TensorHeader;

/// Weights that remember which tensors were found, in the order in which they were asked for.
pub(super) struct Recorder<'r, W> {
    weights: W,
    found: &'r Mutex<Vec<String>>,
}

impl<'r, W> Recorder<'r, W> {
    pub(super) const fn new(weights: W, found: &'r Mutex<Vec<String>>) -> Self {
        Self { weights, found }
    }

    fn record(&self, name: &str) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
}

impl<W: Weights> Weights for Recorder<'_, W> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>, CoreError> {
        let matrix = self.weights.matrix(name)?;
        if matrix.is_some() {
            self.record(name);
        }
        Ok(matrix)
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        let header = self.weights.header(name)?;
        self.record(name);
        Some(header)
    }

    fn bytes<'t>(
        &'t self,
        offset: u64,
        length: usize,
        tile: &'t mut [u8],
    ) -> Result<&'t [u8], CoreError> {
        self.weights.bytes(offset, length, tile)
    }

    fn borrows(&self) -> bool {
        self.weights.borrows()
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<(), CoreError> {
        self.weights.values(number, first, out)
    }
}
