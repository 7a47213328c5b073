//! The start of a fastText model: magic number, version, training arguments.

pub(crate) mod cursor;

use nanoembed_core::{Error, limit};

use self::cursor::Cursor;
use super::MAX_COLS;

/// fastText's magic number.
pub(crate) const MAGIC: [u8; 4] = 793_712_314_u32.to_le_bytes();

/// The training arguments of a model. Names and order are those of the reference's metadata.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    pub dims: u32,
    pub window_size: u32,
    pub epoch: u32,
    pub min_count: u32,
    pub neg: u32,
    pub word_ngrams: u32,
    pub loss: &'static str,
    pub model: &'static str,
    pub bucket: u32,
    pub min_n: u32,
    pub max_n: u32,
    pub lr_update_rate: u32,
    pub sampling_threshold: f64,
}

impl Arguments {
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> cursor::Result<Self> {
        Ok(Self {
            dims: cursor.count()?,
            window_size: cursor.count()?,
            epoch: cursor.count()?,
            min_count: cursor.count()?,
            neg: cursor.count()?,
            word_ngrams: cursor.count()?,
            loss: cursor.one_of(&[
                "HierarchicalSoftmax",
                "NegativeSampling",
                "Softmax",
                "OneVsAll",
            ])?,
            model: cursor.one_of(&["Cbow", "SkipGram", "Supervised"])?,
            bucket: cursor.count()?,
            min_n: cursor.count()?,
            max_n: cursor.count()?,
            lr_update_rate: cursor.count()?,
            sampling_threshold: f64::from_le_bytes(cursor.array()?),
        })
    }

    /// The same as TOML, sorted by name as the reference writes it.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn toml(&self) -> Result<String, Error> {
        let mut threshold = self.sampling_threshold.to_string();
        if !threshold.contains(['.', 'N', 'i']) {
            threshold.push_str(".0");
        }
        limit::formatted(format_args!(
            "bucket = {}\ndims = {}\nepoch = {}\nloss = \"{}\"\nlr_update_rate = {}\nmax_n = {}\nmin_count = {}\n\
             min_n = {}\nmodel = \"{}\"\nneg = {}\nsampling_threshold = {}\nwindow_size = {}\nword_ngrams = {}\n",
            self.bucket,
            self.dims,
            self.epoch,
            self.loss,
            self.lr_update_rate,
            self.max_n,
            self.min_count,
            self.min_n,
            self.model,
            self.neg,
            threshold.to_lowercase(),
            self.window_size,
            self.word_ngrams,
        ))
    }
}

/// True if a file begins with the arguments of a model from before versions had numbers, all of
/// them in their ranges.
pub(crate) fn is_of_old_form(head: &[u8]) -> bool {
    let mut cursor = Cursor::new(head);
    let Ok(arguments) = Arguments::read(&mut cursor) else { return false };
    let [Ok(entries), Ok(words), Ok(labels)] = [cursor.count(), cursor.count(), cursor.count()]
    else {
        return false;
    };
    let Arguments { dims, window_size, epoch, word_ngrams, min_n, max_n, .. } = arguments;
    (1..=MAX_COLS as u32).contains(&dims)
        && window_size < 1 << 16
        && epoch < 1 << 16
        && (1..1 << 8).contains(&word_ngrams)
        && min_n.max(max_n) < 1 << 8
        && (0.0..=1.0).contains(&arguments.sampling_threshold)
        && entries > 0
        && words.checked_add(labels) == Some(entries)
}
