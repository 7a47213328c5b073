//! `.amb` files: structure and checksum, scales, members that are there twice, then the model that
//! the tensors should make.

use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::amb::{Amb, AmbVerifier, DEFAULT_MAX_TENSORS, MAX_ITEM_BYTES};
use nanoembed_core::model::SliceWeights;
use nanoembed_core::quant::dequantize_weight;
use nanoembed_core::source::{ModelSource, amb_config_value};
use nanoembed_core::tensor::{Encoding, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::{Finding, pieces};
use crate::model_check;
use crate::progress::Observer;

pub(super) fn verify(
    name: &str,
    bytes: &[u8],
    mode: Mode,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let one = |error| vec![Finding::new(name, error)];
    let of_model = |found| Finding::from_model(name, found);
    let facts = structure(bytes, mode, observer).map_err(one)?;
    let file = Amb::parse(bytes, mode).map_err(one)?;
    let mut findings = Vec::new();
    findings.extend(file.duplicate_member().map(|error| Finding::new(name, error)));
    let of_value = |(tensor, error)| of_model(model_check::ModelFinding::new(error, tensor));
    findings.extend(values(&file).into_iter().map(of_value));
    findings.extend(special(&file).map(|error| Finding::new(name, error)));
    let (source, config) = (ModelSource::Amb(file), file.layout().config.offset);
    let value = |key: &str| amb_config_value(&file, key);
    if source.has_folder_texts() {
        findings.extend(model_check::text_model(bytes, source, config).map(of_model));
    } else if value("model_type") == Some("bert") {
        let weights = SliceWeights::new(bytes, |name| file.tensor(name).map(|it| *it.header()));
        let mut found = Vec::new();
        model_check::encoder(&weights, value, |_| config, &mut found);
        findings.extend(found.into_iter().map(of_model));
    }
    if findings.is_empty() { Ok(facts) } else { Err(findings) }
}

/// Decodes the whole file piece by piece and compares its checksum.
fn structure(bytes: &[u8], mode: Mode, observer: &dyn Observer) -> Result<String, CoreError> {
    let mut verifier = AmbVerifier::<DEFAULT_MAX_TENSORS>::new(mode);
    let (mut tensors, mut tokens) = (0_u64, 0_u64);
    pieces::decode(&mut verifier, bytes, MAX_ITEM_BYTES, observer, |event| match event {
        Event::Tensor(_) => tensors += 1,
        Event::Token { .. } => tokens += 1,
        _ => {}
    })?;
    let checksum =
        if verifier.has_checksum() { "the checksum matches" } else { "the file has no checksum" };
    Ok(format!("{tensors} tensors, {tokens} tokens, {checksum}"))
}

/// Tensors with a scale or a value that is not a finite number.
fn values<'a>(file: &Amb<'a>) -> Vec<(&'a str, CoreError)> {
    let mut found = Vec::new();
    let mut row = vec![0.0; 1 << 16];
    for tensor in file.tensors() {
        let header = *tensor.header();
        let bad = CoreError::new(header.offset, ErrorKind::BadScale);
        let encoding = Encoding::Plain { dtype: header.dtype, data: tensor.data() };
        let Ok(weight) = Weight::new(header.shape, encoding) else { continue };
        let elements = usize::try_from(weight.elements()).unwrap_or(0);
        for first in (0..elements).step_by(row.len()) {
            let length = row.len().min(elements - first);
            let Some(part) = row.get_mut(..length) else { continue };
            let read = dequantize_weight(&weight, first, part);
            if let Err(error) = read {
                // Offsets of scales count from the tensor's data.
                found.push((header.name, error.shifted_by(header.offset)));
                break;
            }
            if part.iter().any(|value| !value.is_finite()) {
                found.push((header.name, bad));
                break;
            }
        }
    }
    found
}

/// Special tokens must be tokens, where the file lists them.
fn special(file: &Amb<'_>) -> Option<CoreError> {
    use nanoembed_core::event::SpecialRole;
    let tokenizer = file.tokenizer()?;
    let entries = tokenizer.token_entries()?;
    let mut ids = SpecialRole::ALL.iter().filter_map(|role| tokenizer.special(*role));
    let beyond = ids.any(|id| id >= entries.count);
    beyond.then(|| CoreError::new(file.layout().tokenizer.offset, ErrorKind::BadVocabulary))
}
