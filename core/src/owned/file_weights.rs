//! Weights of a file that lies in memory, by their names.

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Matrix, ModelSource, Weights};
use crate::tensor::TensorHeader;

type Tensors = BTreeMap<String, TensorHeader<'static>>;

/// Weights in a file that lies in memory, whose tensors were found once.
#[derive(Clone, Debug)]
pub struct FileWeights<B> {
    file: B,
    tensors: Tensors,
}

impl<B: AsRef<[u8]>> FileWeights<B> {
    pub(super) const fn new(file: B, tensors: Tensors) -> Self {
        Self { file, tensors }
    }
}

/// The tensors of a file by their names.
pub(super) fn tensors(source: &ModelSource<'_>) -> Tensors {
    let mut tensors = BTreeMap::new();
    source.each_tensor(&mut |header| {
        let TensorHeader { name, dtype, shape, offset, bytes } = *header;
        let own = TensorHeader { name: "", dtype, shape, offset, bytes };
        tensors.insert(name.into(), own);
    });
    tensors
}

impl<B: AsRef<[u8]>> Weights for FileWeights<B> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        Matrix::find(name, |name| self.header(name))
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        self.tensors.get(name).copied()
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, _: &'t mut [u8]) -> Result<&'t [u8]> {
        usize::try_from(offset)
            .ok()
            .and_then(|start| self.file.as_ref().get(start..start.checked_add(length)?))
            .ok_or(Error::new(offset, ErrorKind::OutOfBounds))
    }

    fn borrows(&self) -> bool {
        true
    }
}
