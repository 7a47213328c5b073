//! Peers that take rectangular tensors get batches as in sentence-transformers: texts sorted by
//! length, at most 32 per batch, each batch padded to its longest text.

use anyhow::Result;

use crate::Engine;

/// sentence-transformers' default batch size.
const MAX_TEXTS_PER_BATCH: usize = 32;

/// Texts padded to one length, row-major `[texts, tokens]`.
pub struct Batch {
    /// Number of texts.
    pub texts: usize,
    /// Tokens of the longest text.
    pub tokens: usize,
    /// Token ids, 0 where padded.
    pub ids: Vec<u32>,
    /// 1 for a token, 0 for padding.
    pub mask: Vec<u32>,
    /// Tokens of each text.
    pub lengths: Vec<usize>,
}

/// An engine that runs one rectangular batch at a time.
pub trait PaddedEngine: Sized {
    /// The batch's tensors.
    type Input;
    /// Opens the model at `path`, to be run by `threads` threads.
    fn open(path: &str, threads: usize) -> Result<Self>;
    /// Builds the input tensors. Not timed.
    fn prepare(&mut self, batch: Batch) -> Result<Self::Input>;
    /// Returns one normalised vector per text, in order. Timed.
    fn run(&mut self, input: &Self::Input) -> Result<Vec<f32>>;
}

/// Runs any list of texts on a [`PaddedEngine`].
pub struct Padded<E>(E);

/// One batch's tensors, and the positions of its texts in the result.
pub struct Placed<I> {
    input: I,
    order: Vec<usize>,
}

impl<E: PaddedEngine> Engine for Padded<E> {
    type Text = Vec<u32>;
    type Request = Vec<Placed<E::Input>>;

    fn open(path: &str, threads: usize) -> Result<Self> {
        Ok(Self(E::open(path, threads)?))
    }

    fn prepare(&mut self, texts: Vec<Vec<u32>>) -> Result<Self::Request> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(texts[i].len()));
        order
            .chunks(MAX_TEXTS_PER_BATCH)
            .map(|order| {
                let input = self.0.prepare(pad(order.iter().map(|&i| texts[i].as_slice())))?;
                Ok(Placed { input, order: order.to_vec() })
            })
            .collect()
    }

    fn run(&mut self, request: &mut Self::Request) -> Result<Vec<f32>> {
        // The usual case, one batch in its original order, copies nothing.
        if let [only] = request.as_slice()
            && only.order.is_sorted()
        {
            return self.0.run(&only.input);
        }
        let count: usize = request.iter().map(|placed| placed.order.len()).sum();
        let mut all = Vec::new();
        for placed in request {
            let vectors = self.0.run(&placed.input)?;
            let width = vectors.len() / placed.order.len();
            all.resize(count * width, 0.0);
            for (&text, vector) in placed.order.iter().zip(vectors.chunks(width)) {
                all[text * width..][..width].copy_from_slice(vector);
            }
        }
        Ok(all)
    }
}

fn pad<'a>(texts: impl Iterator<Item = &'a [u32]>) -> Batch {
    let texts: Vec<&[u32]> = texts.collect();
    let tokens = texts.iter().map(|t| t.len()).max().unwrap_or(0);
    let (mut ids, mut mask) = (Vec::new(), Vec::new());
    for text in &texts {
        ids.extend_from_slice(text);
        ids.resize(ids.len() + tokens - text.len(), 0);
        mask.extend(text.iter().map(|_| 1));
        mask.resize(ids.len(), 0);
    }
    Batch {
        texts: texts.len(),
        tokens,
        ids,
        mask,
        lengths: texts.iter().map(|t| t.len()).collect(),
    }
}

/// Means over each text's own tokens, scaled to length 1, of hidden states `[texts, tokens,
/// width]`.
pub fn mean_and_normalize(hidden: &[f32], tokens: usize, lengths: &[usize]) -> Vec<f32> {
    let width = hidden.len() / (tokens * lengths.len());
    let mut vectors = vec![0.0f32; width * lengths.len()];
    for ((vector, states), &length) in
        vectors.chunks_mut(width).zip(hidden.chunks(tokens * width)).zip(lengths)
    {
        for state in states.chunks(width).take(length) {
            for (sum, x) in vector.iter_mut().zip(state) {
                *sum += x;
            }
        }
        // The mean's divisor cancels in the normalisation.
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        for x in vector {
            *x /= norm;
        }
    }
    vectors
}
