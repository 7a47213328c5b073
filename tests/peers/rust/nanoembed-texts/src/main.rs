//! nanoembed on texts, tokenisation included: the host library on a folder or a file.
//!
//! One text is embedded on the calling thread, several on the number of threads that the benchmark
//! sets.

use anyhow::Result;
use nanoembed::Encoder;
use peer_protocol::{Engine, serve};

struct Texts(Encoder);

impl Engine for Texts {
    type Text = String;
    type Request = Vec<String>;

    fn open(path: &str, threads: usize) -> Result<Self> {
        Ok(Self(Encoder::options().threads(threads).open(path)?))
    }

    fn prepare(&mut self, texts: Vec<String>) -> Result<Self::Request> {
        Ok(texts)
    }

    fn run(&mut self, texts: &mut Self::Request) -> Result<Vec<f32>> {
        Ok(match texts.as_slice() {
            [text] => self.0.embed(text)?,
            texts => self.0.embed_all(texts)?.into_values(),
        })
    }
}

fn main() -> Result<()> {
    serve::<Texts>()
}
