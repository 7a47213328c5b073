//! Requantising an encoder's linear layers to 8 bits on load, with activation scales from its file
//! or from a run over its own vocabulary.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use super::Encoder;
use super::requantized::Memory;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::root;
use crate::limit::filled;
use crate::model::{Batch, Config, InOrder, Observation, Run, Weights};
use crate::owned::TextSession;

/// Tokens that the model is observed on, beside those that begin and end a text. Which columns are
/// large depends little on what the text says: 30 of them make embeddings no better, nor do the
/// texts that `nanoembed convert` calibrates with.
const TOKENS: usize = 14;

/// The golden ratio's part after the point: its multiples' parts lie evenly, however many there
/// are.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;

impl<W: Weights + Sync> Encoder<W> {
    /// Requantises all linear layers that are not in 8 bits to 8 bits, in memory of their own, and
    /// computes them with 8-bit activations from then on. This is faster, most of all for weights
    /// in blocks of few bits. A second call does nothing.
    ///
    /// The scales of activation columns come from the file if `nanoembed convert` has written them
    /// ([`COLUMN_SCALES`](crate::model::requantize::COLUMN_SCALES)). Otherwise they are measured,
    /// which takes as long as a few embeddings. A model in blocks gets the same codes on every
    /// machine; a model in floats may get slightly different ones, because kernels sum in different
    /// orders.
    ///
    /// all-MiniLM-L6-v2 in 4.5 bits a weight loses 0.001 of the mean cosine. Weights in floats lose
    /// more.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is not enough memory, [`ErrorKind::BadScale`] if a
    /// scale is 0 or no number, or the model computes what is none; [`ErrorKind::UnsupportedSetting`]
    /// for models of other layouts than BERT's own. The model is then as it was.
    pub fn requantize(&mut self) -> Result<()> {
        let unsupported = Error::without_offset(ErrorKind::UnsupportedSetting);
        let encoder = self.network.embeds().filter(|_| self.requantizing.is_possible);
        let mut transformer = encoder.ok_or(unsupported)?.transformer.clone();
        let bytes = transformer.requantized_bytes();
        if bytes == 0 || !self.requantizing.memory.is_empty() {
            return Ok(());
        }
        let mut memory = Memory::new(bytes)?;
        let mut scratch = filled(transformer.requantizing_floats(), 0.0)?;
        // Of the same type as what is run with, whose code would be there twice.
        let none = Memory::default();
        let weights = none.over(&self.weights);
        let run = Run::new(&weights, self.network.kernels());
        let columns = match &self.requantizing.column_scales {
            Some(scales) => {
                let mut columns = filled(scales.cols, 0.0)?;
                run.read_converted(scales, 0, &mut columns, &mut [])?;
                columns
            }
            None => {
                let mut columns = self.observe(transformer.config())?;
                transformer.column_scales(&run, &mut columns, &mut scratch)?;
                columns
            }
        };
        transformer.requantize(&run, &columns, &mut scratch, memory.aligned())?;
        self.network.replace_transformer(transformer, &memory.over(&self.weights))?;
        self.requantizing.memory = memory;
        Ok(())
    }

    /// The root mean squares of the columns of activations, on a text of words from all over the
    /// vocabulary.
    fn observe(&self, config: &Config) -> Result<Vec<f32>> {
        let usual = self.usual_tokens();
        let mut ids = self.tokenizer.encode_first("", usual, &mut TextSession::default())?.ids;
        let room = config.positions.saturating_sub(ids.len()).min(TOKENS);
        let drawn = (1..=room).map(|number| draw(number, config.vocabulary));
        ids.splice(1..1, drawn);
        let sums: Vec<_> = (0..config.scaled_columns()).map(|_| AtomicU32::new(0)).collect();
        let mut session = self.session(ids.len(), 1)?;
        let lengths = [ids.len()];
        let texts = Batch::new(&ids, &lengths);
        let weights = self.requantizing.over(&self.weights);
        let mut each = |_, states: &[f32]| check_finite(states);
        self.network.states(&weights, &mut session, &InOrder, &texts, &mut each, &|seen| {
            let Observation { layer, input, values } = seen;
            // Not `add_squares`: there is no lock to lend sums to several threads with.
            let columns = input.columns(config, layer).and_then(|columns| sums.get(columns));
            for row in values.chunks_exact(input.cols(config, layer).max(1)) {
                for (sum, value) in columns.unwrap_or_default().iter().zip(row) {
                    let before = f32::from_bits(sum.load(Ordering::Relaxed));
                    sum.store((before + value * value).to_bits(), Ordering::Relaxed);
                }
            }
        })?;
        #[allow(clippy::cast_precision_loss)] // some dozens
        let rows = ids.len() as f32;
        let root = |sum: AtomicU32| root::sqrt_f32(f32::from_bits(sum.into_inner()) / rows);
        Ok(sums.into_iter().map(root).collect())
    }
}

/// A token of a vocabulary of `count`, for each number another one.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of the count
fn draw(number: usize, count: usize) -> u32 {
    let turns = number as f64 * GOLDEN_RATIO;
    ((turns - libm::floor(turns)) * count as f64) as u32
}
