//! A model as the commands see it: texts in, embeddings out, on as many threads as there are.

mod decoder;
pub mod encoder;
pub mod tokens;

use nanoembed_core::Error as CoreError;

use crate::causal::model::is_decoder;
use crate::error::{Error, Result};
use crate::open::model_file::ModelFile;
use crate::open::prompts::{Wanted, put_before};
use decoder::DecoderEmbedder;
pub use decoder::Pooling;
use encoder::Encoder;

/// How a model is to embed.
#[derive(Clone, Copy, Debug)]
pub struct EmbedderOptions<'a> {
    /// How many tokens of a text are used; `None` is what the model was trained for.
    pub max_tokens: Option<usize>,
    /// Keep only so many of a vector's first numbers.
    pub truncate_dim: Option<usize>,
    /// Compute in 32-bit floats throughout.
    pub precise: bool,
    /// Requantise weights to bytes when the model is opened.
    pub requantize: bool,
    /// How the states of a decoder's tokens become one vector; `None` is what the file says.
    pub pooling: Option<Pooling>,
    /// What stands before every text.
    pub prompt: Wanted<'a>,
}

/// A model that is ready to run.
pub struct Embedder<'f> {
    model: Model<'f>,
    /// Elements of the model's vectors that are kept.
    width: usize,
    /// What stands before every text.
    prompt: String,
}

enum Model<'f> {
    Encoder(Box<Encoder<'f>>),
    Decoder(Box<DecoderEmbedder<'f>>),
}

/// An embedding and what became of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// How many tokens were embedded, special tokens included.
    pub tokens: usize,
    /// Whether the text has more.
    pub truncated: bool,
    pub vector: Vec<f32>,
}

impl<'f> Embedder<'f> {
    /// Opens the model in `file`, to be used as `options` say.
    pub fn open(file: &'f ModelFile, options: &EmbedderOptions<'_>) -> Result<Self> {
        let model = if is_decoder(file) {
            Model::Decoder(Box::new(DecoderEmbedder::open(file, options)?))
        } else if options.pooling.is_some() {
            return Err(Error::usage("--pooling is for decoders; an encoder's file says its own"));
        } else {
            Model::Encoder(Box::new(Encoder::open(file, options)?))
        };
        let full = match &model {
            Model::Encoder(model) => model.width(),
            Model::Decoder(model) => model.width(),
        };
        let width = options.truncate_dim.unwrap_or(full);
        if !(1..=full).contains(&width) {
            return Err(Error::usage(format!("--truncate-dim {width} is out of range"))
                .with_hint(format!("this model's vectors have {full} numbers: 1 to {full}")));
        }
        let prompt = file.prompts()?.choose(options.prompt)?;
        Ok(Self { model, width, prompt })
    }

    /// Elements of an embedding.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// How many tokens of a text are embedded.
    pub fn max_tokens(&self) -> usize {
        match &self.model {
            Model::Encoder(model) => model.max_tokens(),
            Model::Decoder(model) => model.max_tokens(),
        }
    }

    /// The most tokens of a text that the model can embed.
    pub fn positions(&self) -> usize {
        match &self.model {
            Model::Encoder(model) => model.positions(),
            Model::Decoder(model) => model.positions(),
        }
    }

    /// The embeddings of `texts` behind the prompt that was asked for, in their order.
    pub fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, CoreError> {
        self.embed_behind(&self.prompt, texts)
    }

    /// The embeddings of `texts` behind `prompt`, in their order.
    pub fn embed_behind(
        &self,
        prompt: &str,
        texts: &[String],
    ) -> Result<Vec<Embedding>, CoreError> {
        let texts = &*put_before(prompt, texts);
        let (mut embeddings, normalizes) = match &self.model {
            Model::Encoder(model) => (model.embed(texts)?, model.normalizes()),
            Model::Decoder(model) => (model.embed(texts)?, true),
        };
        let cut = embeddings.iter_mut().filter(|embedding| embedding.vector.len() > self.width);
        for embedding in cut {
            embedding.vector.truncate(self.width);
            if normalizes {
                normalize(&mut embedding.vector);
            }
        }
        Ok(embeddings)
    }
}

/// Brings a vector to length 1, if it has any.
fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "within ±1")]
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

/// Sets the number of threads that commands use; `None` uses one for each of the CPU's.
pub fn use_threads(threads: Option<usize>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Error::usage(format!("--threads {threads}: {error}")))
}

/// The cosine of the angle between two vectors; 0 if one of them has no length.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "within ±1")]
    if lengths > 0.0 { (dot(a, b) / lengths) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_without_length_is_similar_to_nothing() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[2.0, 0.0], &[4.0, 0.0]), 1.0);
    }
}
