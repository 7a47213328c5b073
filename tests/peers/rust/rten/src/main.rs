//! rten on the ONNX file at `path`, with weights packed at load, which is its faster mode.

use std::sync::Arc;

use anyhow::{Context, Result};
use peer_protocol::{Batch, Padded, PaddedEngine, mean_and_normalize, serve};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

struct Rten {
    model: Model,
    pool: Arc<ThreadPool>,
    inputs: [NodeId; 3],
    output: NodeId,
}

struct Input {
    ids: NdTensor<i32, 2>,
    mask: NdTensor<i32, 2>,
    types: NdTensor<i32, 2>,
    lengths: Vec<usize>,
}

impl PaddedEngine for Rten {
    type Input = Input;

    fn open(path: &str, threads: usize) -> Result<Self> {
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = options.load_file(path)?;
        let inputs = [
            model.node_id("input_ids")?,
            model.node_id("attention_mask")?,
            model.node_id("token_type_ids")?,
        ];
        let output = model.node_id("last_hidden_state")?;
        Ok(Self { model, pool: Arc::new(ThreadPool::with_num_threads(threads)), inputs, output })
    }

    fn prepare(&mut self, batch: Batch) -> Result<Input> {
        let shape = [batch.texts, batch.tokens];
        let signed = |v: Vec<u32>| v.into_iter().map(u32::cast_signed).collect::<Vec<i32>>();
        Ok(Input {
            ids: NdTensor::from_data(shape, signed(batch.ids)),
            mask: NdTensor::from_data(shape, signed(batch.mask)),
            types: NdTensor::zeros(shape),
            lengths: batch.lengths,
        })
    }

    fn run(&mut self, input: &Input) -> Result<Vec<f32>> {
        let options = RunOptions::default().with_thread_pool(Some(self.pool.clone()));
        let [ids, mask, types] = self.inputs;
        let [hidden]: [Value; 1] = self.model.run_n(
            vec![
                (ids, input.ids.view().into()),
                (mask, input.mask.view().into()),
                (types, input.types.view().into()),
            ],
            [self.output],
            Some(options),
        )?;
        let hidden: NdTensor<f32, 3> = hidden.try_into()?;
        let states = hidden.data().context("the output is not contiguous")?;
        Ok(mean_and_normalize(states, hidden.size(1), &input.lengths))
    }
}

fn main() -> Result<()> {
    serve::<Padded<Rten>>()
}
