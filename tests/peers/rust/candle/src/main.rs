//! candle's own `BertModel` on the published safetensors. `path` is the model's folder.
//! Threads: rayon's global pool, sized by `RAYON_NUM_THREADS`, which the benchmark sets.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use peer_protocol::{Batch, Padded, PaddedEngine, serve};

struct Candle {
    model: BertModel,
}

struct Input {
    ids: Tensor,
    types: Tensor,
    mask: Tensor,
}

impl PaddedEngine for Candle {
    type Input = Input;

    fn open(path: &str, _threads: usize) -> Result<Self> {
        let config: Config =
            serde_json::from_str(&std::fs::read_to_string(format!("{path}/config.json"))?)?;
        let files = [format!("{path}/model.safetensors")];
        // SAFETY: the benchmark does not write to the file while it is mapped.
        let weights =
            unsafe { VarBuilder::from_mmaped_safetensors(&files, DType::F32, &Device::Cpu)? };
        Ok(Self { model: BertModel::load(weights, &config)? })
    }

    fn prepare(&mut self, batch: Batch) -> Result<Input> {
        let shape = (batch.texts, batch.tokens);
        let ids = Tensor::from_vec(batch.ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(batch.mask, shape, &Device::Cpu)?;
        Ok(Input { types: ids.zeros_like()?, ids, mask })
    }

    fn run(&mut self, input: &Input) -> Result<Vec<f32>> {
        let hidden = self.model.forward(&input.ids, &input.types, Some(&input.mask))?;
        let mask = input.mask.to_dtype(DType::F32)?.unsqueeze(2)?;
        let mean = hidden.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)?;
        let norm = mean.sqr()?.sum_keepdim(1)?.sqrt()?;
        Ok(mean.broadcast_div(&norm)?.flatten_all()?.to_vec1()?)
    }
}

fn main() -> Result<()> {
    serve::<Padded<Candle>>()
}
