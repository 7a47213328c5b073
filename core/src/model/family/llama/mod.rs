//! Llama and what is Llama's but for biases and fused matrices: Mistral, Qwen 2, Phi-3.

mod names;

pub use names::{is_decoder_tensor, is_decoder_tensor_of};

use self::names::{Names, Tensor};
use crate::error::{Error, ErrorKind, Result};
use crate::model::config::LlamaConfig;
use crate::model::linear::Linear;
use crate::model::pass::cached::{Llama, LlamaLayer, Rows};
use crate::model::weights::{Matrix, Weights};

impl<L: AsRef<[LlamaLayer]> + AsMut<[LlamaLayer]>> Llama<L> {
    /// Finds all tensors; `layers` has room for as many as the model has, and what it holds is
    /// lost.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`] and what [`Weights::matrix`]
    /// answers; [`ErrorKind::BufferTooSmall`] if `layers` has not enough room.
    pub fn open(
        weights: &(impl Weights + ?Sized),
        config: LlamaConfig,
        mut layers: L,
    ) -> Result<Self> {
        let names = Names::detect(weights)?;
        let LlamaConfig { hidden, vocabulary, .. } = config;
        let find = |tensor: Tensor, layer, rows, cols| {
            let found = names.find(weights, tensor, layer)?;
            let found = found.ok_or(Error::without_offset(ErrorKind::MissingTensor))?;
            let fits = (found.rows, found.cols) == (rows, cols);
            if fits { Ok(found) } else { Err(Error::new(found.offset, ErrorKind::WrongShape)) }
        };
        let room = layers.as_mut().get_mut(..config.layers);
        let room = room.ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
        for (index, layer) in room.iter_mut().enumerate() {
            *layer = locate(&config, &names, weights, index, &find)?;
        }
        let embeddings = find(Tensor::Embeddings, 0, vocabulary, hidden)?;
        let output = match names.find(weights, Tensor::Output, 0)? {
            Some(_) => find(Tensor::Output, 0, vocabulary, hidden)?,
            None => embeddings,
        };
        let is_there = |tensor| names.find(weights, tensor, 0).map(|found| found.is_some());
        let pairs = config.rope.dimensions / 2;
        let divisors = if is_there(Tensor::Frequencies)? {
            [find(Tensor::Frequencies, 0, 1, pairs)?; 2]
        } else if is_there(Tensor::ShortFactors)? || is_there(Tensor::LongFactors)? {
            [find(Tensor::ShortFactors, 0, 1, pairs)?, find(Tensor::LongFactors, 0, 1, pairs)?]
        } else {
            [Matrix::EMPTY; 2]
        };
        let norm = find(Tensor::Norm, 0, 1, hidden)?;
        Ok(Self { config, embeddings, norm, output, divisors, layers })
    }
}

fn locate(
    config: &LlamaConfig,
    names: &Names,
    weights: &(impl Weights + ?Sized),
    index: usize,
    find: &impl Fn(Tensor, usize, usize, usize) -> Result<Matrix>,
) -> Result<LlamaLayer> {
    let LlamaConfig { hidden, intermediate, .. } = *config;
    let (queries, keys) = (config.heads * config.head, config.kv_heads * config.head);
    let linear = |tensor: Tensor, rows, cols| {
        let weight = find(tensor, index, rows, cols)?;
        let bias = match tensor.bias() {
            Some(bias) if names.find(weights, bias, index)?.is_some() => {
                find(bias, index, 1, rows)?
            }
            _ => Matrix::EMPTY,
        };
        Ok(Linear::new(weight, bias))
    };
    let is_there = |tensor| names.find(weights, tensor, index).map(|found| found.is_some());
    let (query, key, value) = if is_there(Tensor::QueryKeyValue)? {
        let linear = linear(Tensor::QueryKeyValue, queries + 2 * keys, hidden)?;
        let rows = |first, count| Rows { linear, first, count };
        (rows(0, queries), rows(queries, keys), rows(queries + keys, keys))
    } else {
        (
            Rows::all(linear(Tensor::Query, queries, hidden)?),
            Rows::all(linear(Tensor::Key, keys, hidden)?),
            Rows::all(linear(Tensor::Value, keys, hidden)?),
        )
    };
    let fused = is_there(Tensor::GateUp)? || !is_there(Tensor::Gate)?;
    let (gate, up) = if fused {
        // GGUF calls Phi-3's fused matrix like the one that Llama has beside the gate.
        let name = if is_there(Tensor::GateUp)? { Tensor::GateUp } else { Tensor::Up };
        let linear = linear(name, 2 * intermediate, hidden)?;
        let rows = |first| Rows { linear, first, count: intermediate };
        (rows(0), rows(intermediate))
    } else {
        (
            Rows::all(linear(Tensor::Gate, intermediate, hidden)?),
            Rows::all(linear(Tensor::Up, intermediate, hidden)?),
        )
    };
    Ok(LlamaLayer {
        attention_norm: find(Tensor::AttentionNorm, index, 1, hidden)?,
        query,
        key,
        value,
        attention_output: linear(Tensor::AttentionOutput, hidden, queries)?,
        feed_forward_norm: find(Tensor::FeedForwardNorm, index, 1, hidden)?,
        gate,
        up,
        down: linear(Tensor::Down, hidden, intermediate)?,
    })
}
