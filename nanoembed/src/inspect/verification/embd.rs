//! `.weights` files: structure and checksums, then the model that the tensors should make.

use nanoembed_core::Error as CoreError;
use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::embd::{DEFAULT_MAX_TENSORS, Embd, EmbdVerifier, MAX_ITEM_BYTES};

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
    let facts = structure(bytes, mode, observer).map_err(one)?;
    let file = Embd::parse(bytes, mode).map_err(one)?;
    let findings = model_check::findings(bytes, &file, mode == Mode::Strict);
    let findings: Vec<_> = findings.into_iter().map(|it| Finding::from_model(name, it)).collect();
    if findings.is_empty() { Ok(facts) } else { Err(findings) }
}

/// Decodes the whole file piece by piece and compares its checksums.
fn structure(bytes: &[u8], mode: Mode, observer: &dyn Observer) -> Result<String, CoreError> {
    let mut verifier = EmbdVerifier::<DEFAULT_MAX_TENSORS>::new(mode);
    let (mut layout, mut tensors, mut tokens) = ("", 0_u64, 0_u64);
    pieces::decode(&mut verifier, bytes, MAX_ITEM_BYTES, observer, |event| match event {
        Event::Header(info) => layout = info.variant,
        Event::Tensor(_) => tensors += 1,
        Event::Token { .. } => tokens += 1,
        _ => {}
    })?;
    let checksums =
        if verifier.has_checksums() { "checksums match" } else { "the file has no checksums" };
    Ok(format!("{layout} layout, {tensors} tensors, {tokens} tokens, {checksums}"))
}
