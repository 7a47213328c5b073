//! `.fifu` files: structure, codes, metadata that is TOML, words that stand there once.

use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{
    Finalfusion, FinalfusionDecoder, FinalfusionVerifier, MAX_ITEM_BYTES,
};
use nanoembed_core::text::toml::TomlEntries;
use nanoembed_core::words::{Index, IndexOptions, Memory};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::{Finding, NO_CHECKSUMS, pieces};
use crate::progress::Observer;
use crate::words::policy::Policy;

pub(super) fn verify(
    name: &str,
    bytes: &[u8],
    (mode, policy): (Mode, Policy),
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let one = |error| vec![Finding::new(name, error)];
    let decoder = FinalfusionDecoder::new(mode).broken_utf8(policy.core_utf8());
    structure(bytes, decoder.clone(), observer).map_err(one)?;
    let file = Finalfusion::parse_with(decoder, bytes).map_err(one)?;
    let findings: Vec<Finding> = [metadata(&file), words(&file, policy)]
        .into_iter()
        .filter_map(Result::err)
        .map(|error| Finding::new(name, error))
        .collect();
    if !findings.is_empty() {
        return Err(findings);
    }
    let vocabulary = file.vocabulary();
    let storage = &file.layout().storage;
    let deviation = match file.deviation() {
        Some(error) => format!("; not to the letter at {error}"),
        None => String::new(),
    };
    Ok(format!(
        "{} vocabulary, {} words, {} vectors of {} columns, {NO_CHECKSUMS}{deviation}",
        vocabulary.subwords.name(),
        vocabulary.words,
        storage.rows(),
        storage.cols(),
    ))
}

/// Decodes the whole file piece by piece, codes included.
fn structure(
    bytes: &[u8],
    decoder: FinalfusionDecoder,
    observer: &dyn Observer,
) -> Result<(), CoreError> {
    // No item of a small file is larger than the file.
    let item_bytes = MAX_ITEM_BYTES.min(bytes.len());
    pieces::decode(&mut FinalfusionVerifier::new(decoder), bytes, item_bytes, observer, |_| {})
}

fn metadata(file: &Finalfusion<'_>) -> Result<(), CoreError> {
    let place = file.layout().metadata.map_or(0, |place| place.offset);
    let mut entries = TomlEntries::new(file.metadata().unwrap_or(""));
    let checked = entries.try_for_each(|entry| entry.map(drop));
    checked.map_err(|error| error.shifted_by(place))
}

/// Words and n-grams that stand there twice, and n-grams whose indices do not number the rows.
fn words(file: &Finalfusion<'_>, policy: Policy) -> Result<(), CoreError> {
    let layout = file.layout();
    let needed = Index::memory_needed(layout);
    let needed = needed.ok_or(CoreError::without_offset(ErrorKind::BufferTooSmall))?;
    let options = IndexOptions { seed: 0, duplicates: policy.core_duplicates() };
    Index::build(&Memory(file.bytes()), layout, options, vec![0; needed], &mut []).map(drop)
}
