//! The published model with its matrices in ggml's blocks.

use std::collections::HashMap;

use nanoembed_core::quant;
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader};

use crate::minilm::Safetensors;

/// A model in memory, with its tensors concatenated.
#[derive(Debug, Default)]
pub struct Blocks {
    /// All tensors.
    pub file: Vec<u8>,
    headers: HashMap<String, (Dtype, Shape, u64, u64)>,
}

impl Blocks {
    /// The header of a tensor.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TensorHeader<'_>> {
        let (name, (dtype, shape, offset, bytes)) = self.headers.get_key_value(name)?;
        Some(TensorHeader { name, dtype: *dtype, shape: *shape, offset: *offset, bytes: *bytes })
    }

    fn push(&mut self, name: &str, dtype: Dtype, dims: &[u64], data: &[u8]) {
        let place =
            (dtype, Shape::new(dims).expect("dims"), self.file.len() as u64, data.len() as u64);
        self.headers.insert(name.to_owned(), place);
        self.file.extend(data);
        self.file.resize(self.file.len().next_multiple_of(64), 0);
    }

    fn push_floats(&mut self, name: &str, dims: &[u64], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(name, Dtype::F32, dims, &bytes);
    }
}

/// The linear layers and word embeddings in blocks of `dtype`, or of Q8_0 where rows are not whole
/// blocks of `dtype`.
///
/// # Panics
///
/// If `dtype` has no quantiser.
#[must_use]
pub fn blocks(model: &Safetensors, dtype: Dtype) -> Blocks {
    let mut made = Blocks::default();
    for name in model.names() {
        let header = model.find(name).expect("a tensor");
        let values = model.values(name);
        let dims = header.shape.dims();
        let cols = usize::try_from(*dims.last().expect("a shape")).expect("small");
        let parts: Vec<&str> = name.split('.').collect();
        let matrix = match parts[..] {
            ["encoder", .., kind, "weight"] => kind != "LayerNorm",
            ["embeddings", kind, "weight"] => kind == "word_embeddings",
            _ => false,
        };
        if !matrix {
            made.push_floats(name, dims, &values);
            continue;
        }
        let whole = cols.is_multiple_of(dtype.block_elements());
        let dtype = if whole { dtype } else { Dtype::Q8_0 };
        let size = values.len() / dtype.block_elements() * dtype.block_bytes();
        let mut blocks = vec![0; size];
        quant::quantize(dtype, &values, &mut blocks).expect("a quantiser");
        made.push(name, dtype, dims, &blocks);
    }
    made
}
