//! Weights that record which tensors a model asks for: those that it is made of, and the one that an
//! error is about.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use crate::error::{Error, Result};
use crate::model::{Matrix, Weights};
use crate::tensor::{Dtype, TensorHeader};

/// What keeps a model from being opened, and the tensor that was asked for last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorFault {
    /// The error.
    pub error: Error,
    /// The name of the tensor.
    pub tensor: String,
    /// What it is stored as, if it is there.
    pub dtype: Option<Dtype>,
}

impl fmt::Display for TensorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.tensor, self.error)
    }
}

/// Weights that remember which tensor was asked for last, and which ones were there.
pub(super) struct AskedWeights<'w, W> {
    weights: &'w W,
    last: RefCell<String>,
    found: RefCell<Vec<String>>,
}

impl<'w, W: Weights> AskedWeights<'w, W> {
    pub(super) const fn new(weights: &'w W) -> Self {
        Self { weights, last: RefCell::new(String::new()), found: RefCell::new(Vec::new()) }
    }

    pub(super) fn fault(&self, error: Error) -> TensorFault {
        let tensor = self.last.borrow().to_string();
        let dtype = self.weights.header(&tensor).map(|header| header.dtype);
        TensorFault { error, tensor, dtype }
    }

    /// The names of all tensors that were there, in the order in which they were asked for.
    pub(super) fn into_found(self) -> Vec<String> {
        self.found.into_inner()
    }

    fn remember(&self, name: &str, is_there: bool) {
        let mut last = self.last.borrow_mut();
        last.clear();
        last.push_str(name);
        if is_there {
            self.found.borrow_mut().push(name.to_string());
        }
    }
}

impl<W: Weights> Weights for AskedWeights<'_, W> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        let matrix = self.weights.matrix(name);
        self.remember(name, matches!(matrix, Ok(Some(_))));
        matrix
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        let header = self.weights.header(name);
        self.remember(name, header.is_some());
        header
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        self.weights.bytes(offset, length, tile)
    }

    fn borrows(&self) -> bool {
        self.weights.borrows()
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<()> {
        self.weights.values(number, first, out)
    }
}
