//! A decoder in so much memory: weights are read from the file in pieces, and everything else is
//! made as small as it must be.

use std::path::Path;
use std::sync::Arc;

use nanoembed_core::ErrorKind;
use nanoembed_core::model::llama::{Activations, LlamaPlan};
use nanoembed_core::read::ReadAt as _;
use nanoembed_core::top::Scored;

use super::structure;
use crate::causal::bundle::Bundle;
use crate::causal::model::{CausalModel, TOKENS_AT_ONCE};
use crate::error::{Error, Kind, Result, name_of};
use crate::files::on_disk::OnDisk;
use crate::limits::Limits;
use crate::open::causal::Causal;
use crate::open::loaded_model::LoadedModel;
use crate::open::source::Source;
use crate::units;

/// Bytes of weights that are read at a time at most: larger pieces leave the processor's cache
/// before they are used.
const MOST_TILE_BYTES: usize = 1 << 20;

/// Memory of the program before the model is opened, where the system does not say.
const PROGRAM_BYTES: usize = 8 << 20;

/// Allocations that come later and are not counted: buffers of output, the stack.
const MARGIN_BYTES: usize = 1 << 20;

/// The hint against a model in parts.
const MERGE_HINT: &str =
    "llama.cpp's `llama-gguf-split --merge FIRST OUT` makes one file of all parts";

/// Opens the model in the file at `path`, if it is not larger than `limits` allow. Of it only the
/// structure and the tokens are kept in memory.
pub(crate) fn open_stored(path: &Path, limits: &Limits) -> Result<Causal> {
    let refuse =
        |kind, message: &str| Error::new(kind, message).with_argument("memory").at(name_of(path));
    if Bundle::open(path)?.is_some() {
        return Err(refuse(Kind::Usage, "is for models in one file, which has everything in it")
            .with_hint("`nanoembed convert FOLDER OUT.amb` or `migrate IN.uqff OUT.gguf --like ORIGINAL.gguf` makes one"));
    }
    let file = OnDisk::open(path)?;
    limits.check_file_bytes(file.len(), &name_of(path))?;
    let structure = structure::read(&file).map_err(|error| Error::in_file(name_of(path), error))?;
    let source = Arc::new(Source::structure(name_of(path), structure));
    let opened = LoadedModel::new(&source).and_then(|model| model.causal_to_generate());
    let split = Kind::Core(ErrorKind::SplitFile);
    opened.map(|model| model.stored(file)).map_err(|error| match error.kind() == split {
        true => refuse(split, "is for models in one file, and this is a part of one")
            .with_hint(MERGE_HINT),
        false => error,
    })
}

/// The plan by which `model`, whose weights are not in memory, continues a text of up to
/// `positions` tokens in `budget` bytes for the whole program.
pub(crate) fn plan(
    model: &CausalModel,
    budget: u64,
    positions: usize,
    activations: Activations,
) -> Result<LlamaPlan> {
    let logits = model.config().vocabulary * (size_of::<f32>() + size_of::<Scored>());
    let taken = resident_bytes().unwrap_or(PROGRAM_BYTES) + MARGIN_BYTES + logits;
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let row = model.weights().largest_row();
    let mut least = usize::MAX;
    let mut tokens = TOKENS_AT_ONCE;
    while tokens > 0 {
        let plan = LlamaPlan { tokens, positions, tile_bytes: 0, activations };
        let needed = model.session_bytes(&plan).map_err(|error| {
            Error::input(error.kind(), format!("is refused: {}", error.message()))
                .with_argument("memory")
        })?;
        least = taken.saturating_add(needed).saturating_add(row);
        if let Some(room) = budget.checked_sub(least) {
            return Ok(LlamaPlan {
                tile_bytes: (row + room).min(MOST_TILE_BYTES.max(row)),
                ..plan
            });
        }
        tokens /= 2;
    }
    Err(Error::argument(
        "memory",
        format!(
            "is too little: a text of {positions} tokens takes {} with this model",
            units::bytes(least as u64)
        ),
    )
    .with_hint("fewer tokens with `--max-tokens` take less, or a shorter prompt"))
}

/// The memory that the program takes now.
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
