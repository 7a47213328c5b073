//! `.fifu` files made of other `.fifu` files: copied with other metadata, reconstructed, with the
//! n-grams listed.

use std::io::Write;

use nanoembed_core::format::finalfusion::{
    BrokenUtf8, CODES, EMBEDDINGS, Finalfusion, FinalfusionPlan, NORMS, ROW_NORMS, Storage,
    StorageSpec,
};
use nanoembed_core::subword::{Subwords, WordVocabulary};
use nanoembed_core::{ErrorKind, limit};

use super::file::WordFile;
use super::listed_ngrams::Listed;
use super::write::fifu::{self, FifuWriter, Stop};
use crate::error::{Error, Result};

type Target<'t> = (&'t mut dyn Write, &'t str);

/// A plan for a file like `file`; its n-grams are counted.
fn plan<'p>(file: &Finalfusion<'_>, metadata: Option<&'p str>) -> FinalfusionPlan<'p> {
    let layout = file.layout();
    FinalfusionPlan {
        metadata,
        vocabulary: layout.vocabulary,
        word_bytes: file.words().map(|word| word.len() as u64).sum(),
        ngram_bytes: file.ngrams().map(|(ngram, _)| ngram.len() as u64).sum(),
        storage: spec(&layout.storage),
        norms: layout.norms.is_some(),
        norms_listed: true,
        broken_utf8: BrokenUtf8::Bytes,
    }
}

fn spec(storage: &Storage) -> StorageSpec {
    match *storage {
        Storage::Array(array) => StorageSpec::Array { rows: array.rows, cols: array.cols },
        Storage::Quantized(quantized) => StorageSpec::Quantized {
            rows: quantized.rows,
            cols: quantized.cols,
            codes_per_row: quantized.codes_per_row,
            centroids: quantized.centroids,
            projection: quantized.projection.is_some(),
            norms: quantized.norms.is_some(),
        },
    }
}

/// Rewrites the file in the form that current writers give it.
pub fn copy(opened: &WordFile<'_>, metadata: Option<&str>, to: Target<'_>) -> Result<()> {
    let file = &opened.file;
    fifu::write(plan(file, metadata), to, |writer| {
        file.words().try_for_each(|word| writer.word(word))?;
        file.ngrams().try_for_each(|(ngram, index)| writer.ngram(ngram, index))?;
        Ok(file.tensors().try_for_each(|tensor| writer.data(tensor.data()))?)
    })
}

/// Writes the file with other storage, whose parts `data` gives; words, n-grams and norms stay.
pub fn with_storage(
    opened: &WordFile<'_>,
    storage: StorageSpec,
    to: Target<'_>,
    data: impl FnOnce(&mut FifuWriter<'_>) -> Result<(), Stop>,
) -> Result<()> {
    let file = &opened.file;
    let plan = FinalfusionPlan { storage, ..plan(file, file.metadata()) };
    fifu::write(plan, to, |writer| {
        file.words().try_for_each(|word| writer.word(word))?;
        file.ngrams().try_for_each(|(ngram, index)| writer.ngram(ngram, index))?;
        data(writer)?;
        if let Some(norms) = file.tensor(NORMS) {
            writer.data(norms.data())?;
        }
        Ok(())
    })
}

/// Writes the vectors of a quantised file as the f32 that they stand for.
pub fn reconstruct(opened: &WordFile<'_>, to: Target<'_>, mut on_row: impl FnMut()) -> Result<()> {
    let words = opened.scanned();
    let rows = opened.file.layout().storage.rows();
    let cols = opened.file.layout().storage.cols();
    with_storage(opened, StorageSpec::Array { rows, cols }, to, |writer| {
        let mut row = limit::filled(words.cols(), 0.0)?;
        let mut scratch = limit::filled(words.scratch_needed(), 0.0)?;
        for ordinal in 0..rows {
            let read = words.row(ordinal, &mut row, &mut scratch);
            read.map_err(|error| opened.failure(error))?;
            fifu::floats(writer, &row)?;
            on_row();
        }
        Ok(())
    })
}

/// Writes the file with the n-grams of its words listed instead of hashed; only their buckets' rows
/// stay. N-grams that share a bucket share a row.
pub fn bucket_to_explicit(opened: &WordFile<'_>, to: Target<'_>) -> Result<[u64; 2]> {
    let file = &opened.file;
    let vocabulary = *file.vocabulary();
    let buckets = match vocabulary.subwords {
        Subwords::Buckets { .. } | Subwords::FastText { .. } => vocabulary.subwords.rows(),
        _ => None,
    };
    let Some(before) = buckets else {
        let message = format!("a {} vocabulary has no buckets", vocabulary.subwords.name());
        return Err(Error::input(ErrorKind::BadVocabulary, message).at(&opened.name));
    };
    let listed = Listed::from_opened(opened)?;
    let count = listed.count();
    let rows = u64::from(vocabulary.words) + listed.buckets.len() as u64;
    let mut plan = plan(file, file.metadata());
    plan.vocabulary =
        WordVocabulary { subwords: Subwords::Explicit { ngrams: count }, ..vocabulary };
    plan.ngram_bytes = listed.bytes();
    match &mut plan.storage {
        StorageSpec::Array { rows: planned, .. } | StorageSpec::Quantized { rows: planned, .. } => {
            *planned = rows;
        }
    }
    fifu::write(plan, to, |writer| {
        file.words().try_for_each(|word| writer.word(word))?;
        for (ngram, row) in listed.iter() {
            writer.ngram(ngram, row)?;
        }
        // Rows of words, then those of the buckets that are left; what is no row stays whole.
        for tensor in file.tensors() {
            let data = tensor.data();
            if !matches!(tensor.header().name, EMBEDDINGS | ROW_NORMS | CODES) {
                writer.data(data)?;
                continue;
            }
            let rows = file.layout().storage.rows().max(1);
            let row_bytes = usize::try_from(data.len() as u64 / rows).unwrap_or(0);
            let words = row_bytes * vocabulary.words as usize;
            let (words, after) = data.split_at(words.min(data.len()));
            writer.data(words)?;
            for &bucket in &listed.buckets {
                let start = usize::try_from(bucket).unwrap_or(usize::MAX).saturating_mul(row_bytes);
                writer.data(after.get(start..start + row_bytes).unwrap_or(&[]))?;
            }
        }
        Ok(())
    })?;
    Ok([before, listed.buckets.len() as u64])
}
