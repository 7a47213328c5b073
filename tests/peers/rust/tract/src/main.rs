//! tract on the ONNX file at `path`, optimised for each input shape (its faster mode) the first
//! time that the shape is prepared; the newest shapes are kept.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::{Context, Result};
use peer_protocol::{Batch, Padded, PaddedEngine, mean_and_normalize, serve};
use tract_linalg::multithread::{Executor, set_default_executor};
use tract_onnx::prelude::*;

type Plan = Arc<TypedRunnableModel>;

/// Each plan holds another copy of the weights.
const MAX_PLANS: usize = 4;

struct Tract {
    path: String,
    plans: VecDeque<([usize; 2], Plan)>,
}

struct Input {
    plan: Plan,
    tensors: [Tensor; 3],
    tokens: usize,
    lengths: Vec<usize>,
}

impl Tract {
    fn plan(&mut self, shape: [usize; 2]) -> Result<Plan> {
        if let Some((_, plan)) = self.plans.iter().find(|(s, _)| *s == shape) {
            return Ok(plan.clone());
        }
        let mut model = tract_onnx::onnx().model_for_path(&self.path)?;
        for input in 0..3 {
            model.set_input_fact(input, i64::fact(shape).into())?;
        }
        let plan = model.into_optimized()?.into_runnable()?;
        self.plans.truncate(MAX_PLANS - 1);
        self.plans.push_front((shape, plan.clone()));
        Ok(plan)
    }
}

impl PaddedEngine for Tract {
    type Input = Input;

    fn open(path: &str, threads: usize) -> Result<Self> {
        if threads > 1 {
            set_default_executor(Executor::multithread(threads));
        }
        let mut tract = Self { path: path.into(), plans: VecDeque::new() };
        // A first embedding needs a plan: opening means having one, of the shortest size timed.
        tract.plan([1, 8])?;
        Ok(tract)
    }

    fn prepare(&mut self, batch: Batch) -> Result<Input> {
        let shape = [batch.texts, batch.tokens];
        let tensor = |v: Vec<u32>| -> Result<Tensor> {
            let wide = v.into_iter().map(i64::from).collect();
            Ok(tract_ndarray::Array2::from_shape_vec((shape[0], shape[1]), wide)?.into())
        };
        let types = vec![0; batch.ids.len()];
        Ok(Input {
            plan: self.plan(shape)?,
            tensors: [tensor(batch.ids)?, tensor(batch.mask)?, tensor(types)?],
            tokens: batch.tokens,
            lengths: batch.lengths,
        })
    }

    fn run(&mut self, input: &Input) -> Result<Vec<f32>> {
        let outputs = input.plan.run(input.tensors.iter().cloned().map(Into::into).collect())?;
        let hidden = outputs[0].to_plain_array_view::<f32>()?;
        let hidden = hidden.as_slice().context("the output is not contiguous")?;
        Ok(mean_and_normalize(hidden, input.tokens, &input.lengths))
    }
}

fn main() -> Result<()> {
    serve::<Padded<Tract>>()
}
