//! Weights that record which tensors a model asks for: those that it is made of, and the one that an
//! error is about.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use crate::error::{Error, Result};
use crate::limit::{Growing, copied, write};
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

/// Of memory, and of no tensor.
impl From<Error> for TensorFault {
    fn from(error: Error) -> Self {
        Self { error, tensor: String::new(), dtype: None }
    }
}

/// Weights that remember which tensor was asked for last, and which ones were there.
pub(super) struct AskedWeights<'w, W> {
    weights: &'w W,
    last: RefCell<String>,
    found: RefCell<Growing<String>>,
}

impl<'w, W: Weights> AskedWeights<'w, W> {
    pub(super) const fn new(weights: &'w W) -> Self {
        Self { weights, last: RefCell::new(String::new()), found: RefCell::new(Growing::new()) }
    }

    pub(super) fn fault(&self, error: Error) -> TensorFault {
        let tensor = self.last.take();
        let dtype = self.weights.header(&tensor).map(|header| header.dtype);
        TensorFault { error, tensor, dtype }
    }

    /// The names of all tensors that were there, in the order in which they were asked for.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub(super) fn into_found(self) -> Result<Vec<String>> {
        self.found.into_inner().into_vec()
    }

    fn remember(&self, name: &str, is_there: bool) {
        let mut last = self.last.borrow_mut();
        last.clear();
        // Without memory the fault names none.
        let _ = write(&mut last, name);
        if is_there {
            match copied(name) {
                Ok(name) => self.found.borrow_mut().push(name),
                Err(_) => self.found.borrow_mut().refuse(),
            }
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
