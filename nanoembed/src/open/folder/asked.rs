//! Which tensor an error is about.

use std::sync::{Mutex, PoisonError};

use nanoembed_core::model::{Matrix, Weights};
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::causal::weights::ModelWeights;
use crate::error::Error;

/// Weights that remember which tensor was asked for last.
pub(crate) struct Asked<'w, 'f> {
    weights: &'w ModelWeights<'f>,
    last: Mutex<String>,
}

impl<'w, 'f> Asked<'w, 'f> {
    pub(super) const fn of(weights: &'w ModelWeights<'f>) -> Self {
        Self { weights, last: Mutex::new(String::new()) }
    }

    /// What is wrong with the weights in `file`, with the name of the tensor.
    pub(super) fn failure(&self, file: &str, error: CoreError) -> Error {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // What norms were called first is asked for where they are not called as they are now.
        let name = last.replace(".gamma", ".weight").replace(".beta", ".bias");
        let kind = error.kind();
        let message = match kind {
            ErrorKind::MissingTensor => format!("there is no tensor `{name}`"),
            ErrorKind::UnsupportedDtype => {
                let dtype = self.weights.header(&last).map_or("a type", |it| it.dtype.name());
                format!("`{name}` is stored as {dtype}, which is not computed with")
            }
            ErrorKind::WrongShape | ErrorKind::SizeMismatch | ErrorKind::BadScale => {
                format!("`{name}`: {}", kind.message())
            }
            _ => return Error::in_file(file, error),
        };
        let failure = Error::input(kind, message).at(file);
        match kind {
            ErrorKind::UnsupportedDtype => failure.with_hint("take the model in f32, f16 or bf16"),
            ErrorKind::MissingTensor => {
                failure.with_hint("does the model's config.json describe these weights?")
            }
            _ => failure,
        }
    }
}

impl Weights for Asked<'_, '_> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>, CoreError> {
        name.clone_into(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner));
        self.weights.matrix(name)
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
