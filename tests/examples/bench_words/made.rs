//! Synthetic files: words spread over the alphabet, random vectors.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use nanoembed_core::format::finalfusion::{
    BrokenUtf8, FinalfusionPlan, FinalfusionWriter, StorageSpec,
};
use nanoembed_core::sink::Sink;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::finalfusion::Numbers;

use crate::Any;

struct ToFile(BufWriter<File>);

impl Sink for ToFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(|_| Error::without_offset(ErrorKind::WriteFailed))
    }
}

/// The word of a row.
pub(crate) fn name(row: u32) -> String {
    // Spread over the alphabet, as words are.
    format!("w{:x}", u64::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24)
}

/// Writes a file.
pub(crate) fn write(path: &Path, words: u32, storage: StorageSpec) -> Any<()> {
    let plan = FinalfusionPlan {
        metadata: None,
        vocabulary: WordVocabulary {
            words,
            subwords: Subwords::None,
            min_n: 0,
            max_n: 0,
            begin: Bracket::BEGIN,
            end: Bracket::END,
        },
        word_bytes: (0..words).map(|row| name(row).len() as u64).sum(),
        ngram_bytes: 0,
        storage,
        norms: false,
        norms_listed: true,
        broken_utf8: BrokenUtf8::Error,
    };
    let mut writer = FinalfusionWriter::new(plan, ToFile(BufWriter::new(File::create(path)?)))?;
    (0..words).try_for_each(|row| writer.word(name(row).as_bytes()))?;
    let mut numbers = Numbers(7);
    match storage {
        StorageSpec::Array { rows, cols } => {
            let mut row = vec![0.0; cols as usize];
            for _ in 0..rows {
                row.iter_mut().for_each(|value| *value = numbers.float() + 0.01);
                let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
                let bytes: Vec<u8> =
                    row.iter().flat_map(|value| (value / norm).to_le_bytes()).collect();
                writer.data(&bytes)?;
            }
        }
        StorageSpec::Quantized { rows, cols, codes_per_row, centroids, .. } => {
            for _ in 0..centroids * cols {
                writer.data(&(numbers.float() / 50.0).to_le_bytes())?;
            }
            for _ in 0..rows {
                let code = |_| u8::try_from(numbers.below(centroids.into())).unwrap_or(0);
                let codes: Vec<u8> = (0..codes_per_row).map(code).collect();
                writer.data(&codes)?;
            }
        }
    }
    writer.finish()?.0.flush()?;
    Ok(())
}
