//! Model2Vec's own runtime on a folder, tokenising included.
//!
//! Threads: rayon's global pool, sized by `RAYON_NUM_THREADS`, which the benchmark sets.

use anyhow::Result;
use model2vec_rs::model::StaticModel;
use peer_protocol::{Engine, serve};

struct Texts(StaticModel);

impl Engine for Texts {
    type Text = String;
    type Request = Vec<String>;

    fn open(path: &str, _threads: usize) -> Result<Self> {
        Ok(Self(StaticModel::from_pretrained(path, None, None, None)?))
    }

    fn prepare(&mut self, texts: Vec<String>) -> Result<Self::Request> {
        Ok(texts)
    }

    fn run(&mut self, texts: &mut Self::Request) -> Result<Vec<f32>> {
        Ok(self.0.encode_flat(texts))
    }
}

fn main() -> Result<()> {
    serve::<Texts>()
}
