//! A decoder in so much memory: weights are read from the file in pieces, and everything else is
//! made as small as it must be.

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::model::llama::{Activations, LlamaPlan};
use nanoembed_core::top::Scored;

use super::bundle::Bundle;
use super::model::{Decoder, Found, TOKENS_AT_ONCE};
use super::structure;
use crate::error::{Error, Result, name_of};
use crate::files::on_disk::OnDisk;
use crate::stored::explained;
use crate::units;

/// Bytes of weights that are read at a time at most: larger pieces leave the processor's cache
/// before they are used.
const MOST_TILE_BYTES: usize = 1 << 20;

/// What the program takes beside what is known of it, where the system does not say.
const PROGRAM_BYTES: usize = 8 << 20;

/// What is allocated later that nobody counts: buffers of output, the stack.
const MARGIN_BYTES: usize = 1 << 20;

/// What helps against parts.
const MERGE_HINT: &str =
    "llama.cpp's `llama-gguf-split --merge FIRST OUT` makes one file of all parts";

/// Opens the decoder in the file at `path`. Of it only the structure and the tokens are kept in
/// memory.
pub fn open_stored(path: &Path) -> Result<Decoder<'static>> {
    if Bundle::open(path)?.is_some() {
        return Err(Error::usage("--memory is for models in one file, which has everything in it")
            .at(name_of(path))
            .with_hint("`nanoembed convert FOLDER OUT.amb` or `migrate IN.uqff OUT.gguf --like ORIGINAL.gguf` makes one"));
    }
    let file = OnDisk::open(path)?;
    let structure = structure::read(&file).map_err(|error| Error::in_file(name_of(path), error))?;
    let opened = Found::in_file(&structure).and_then(Decoder::of);
    opened.and_then(|decoder| decoder.stored(file)).map_err(|error| match error.kind() {
        ErrorKind::SplitFile => {
            let message = "--memory is for models in one file, and this is a part of one";
            Error::input(error.kind(), message).at(name_of(path)).with_hint(MERGE_HINT)
        }
        _ => explained::failure(&name_of(path), &structure, error),
    })
}

/// How `decoder`, whose weights are not in memory, continues a text of up to `positions` tokens in
/// `budget` bytes, all that the program takes.
pub fn plan(
    decoder: &Decoder<'_>,
    budget: u64,
    positions: usize,
    activations: Activations,
) -> Result<LlamaPlan> {
    let logits = decoder.config().vocabulary * (size_of::<f32>() + size_of::<Scored>());
    let taken = resident_bytes().unwrap_or(PROGRAM_BYTES) + MARGIN_BYTES + logits;
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let row = decoder.weights().largest_row();
    let mut least = usize::MAX;
    let mut tokens = TOKENS_AT_ONCE;
    while tokens > 0 {
        let plan = LlamaPlan { tokens, positions, tile_bytes: 0, activations };
        let needed =
            decoder.session_bytes(&plan).map_err(|error| Error::in_file("--memory", error))?;
        least = taken.saturating_add(needed).saturating_add(row);
        if let Some(room) = budget.checked_sub(least) {
            return Ok(LlamaPlan {
                tile_bytes: (row + room).min(MOST_TILE_BYTES.max(row)),
                ..plan
            });
        }
        tokens /= 2;
    }
    Err(Error::usage(format!(
        "--memory is too little: a text of {positions} tokens takes {} with this model",
        units::bytes(least as u64)
    ))
    .with_hint("fewer tokens with `--max-tokens` take less, or a shorter prompt"))
}

/// What the program has in memory now.
#[cfg(target_os = "linux")]
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

#[cfg(not(target_os = "linux"))]
const fn resident_bytes() -> Option<usize> {
    None
}
