//! Tensors on their way into a file of another format: under which names, in which order of rows,
//! as layers or not.
//!
//! | file | role |
//! |---|---|
//! | `arguments` | the arguments that the commands which write weights share |
//! | `names` | from the names and row orders of one format to those of another |
//! | `rotary` | what GGUF says of rotary positions |
//! | `to_uqff`, `to_gguf`, `to_safetensors` | what the format does not hold is put elsewhere or stored in another way |
//! | `encoder`, `decoder_tokenizer`, `metadata` | what a GGUF file says of a model and its tokenizer |
//! | `beside` | the files that say what the weights' format does not |
//! | `residual` | the tensors beside a UQFF file |

mod arguments;
mod beside;
mod decoder_tokenizer;
mod encoder;
mod metadata;
pub(crate) mod names;
mod residual;
mod rotary;
mod to_gguf;
mod to_safetensors;
mod to_uqff;

pub(crate) use arguments::{Target, Writing, size};
pub(crate) use beside::residual;

use std::path::{Path, PathBuf};

use nanoembed_core::event::Format;
use nanoembed_core::format::gguf::Gguf;

use crate::error::{Failure, Result};
use crate::mapped::Mapped;
use crate::progress::Progress;
use crate::quantizer::Spool;
use crate::quantizer::spool::Place;
use crate::targets::Item;
use crate::targets::uqff::Fallback;

/// What is to be written, and where it comes from.
pub(crate) struct Job<'j, 'a> {
    pub(crate) target: Target,
    pub(crate) output: &'j Path,
    /// The format that the items have their names from.
    pub(crate) from: Format,
    /// The source as GGUF, if it is one.
    pub(crate) gguf: Option<Gguf<'a>>,
    /// The name that messages give to the source, and the folder that its `config.json` may lie in.
    pub(crate) source: String,
    pub(crate) folder: PathBuf,
    /// All files that the items are read from.
    pub(crate) inputs: Vec<PathBuf>,
    /// What the report shall say could not be quantised.
    pub(crate) fallbacks: Vec<Fallback>,
    /// Whether items have other types than in the source.
    pub(crate) requantized: bool,
}

impl Job<'_, '_> {
    /// Refuses to replace what the items are read from.
    fn keep_inputs<'p>(&self, outputs: impl IntoIterator<Item = &'p PathBuf>) -> Result<()> {
        let inputs: Vec<PathBuf> =
            self.inputs.iter().filter_map(|input| input.canonicalize().ok()).collect();
        let is_input =
            |output: &&PathBuf| output.canonicalize().is_ok_and(|output| inputs.contains(&output));
        match outputs.into_iter().find(is_input) {
            Some(output) => Err(Failure::usage(format!(
                "{} is read, and would be overwritten",
                output.display()
            ))
            .hint("choose another name or folder for OUT")),
            None => Ok(()),
        }
    }
}

/// A file that was written, and its size.
pub(crate) type Written = (PathBuf, u64);

impl Writing {
    /// Writes all items; returns the files.
    pub(crate) fn write(
        &self,
        job: &Job<'_, '_>,
        items: Vec<Item<'_>>,
        quiet: bool,
    ) -> Result<Vec<Written>> {
        job.keep_inputs([&job.output.to_owned()])?;
        let total = items.iter().map(|item| item.weight.encoding().stored_bytes()).sum();
        let encoder = self.encoder(job)?;
        if let Some(encoder) = &encoder {
            let (items, left_out) = encoder.renamed(items, &job.source)?;
            if !quiet && !left_out.is_empty() {
                anstream::eprintln!("left out: {}", left_out.join(", "));
            }
            let progress = (!quiet).then(|| Progress::bytes("writing", total));
            return to_gguf::write_encoder(job, encoder, items, progress.as_ref());
        }
        let plan = names::plan(self, job, &items)?;
        let items = plan.without_copies(job, items);
        let mut spool = Spool::new()?;
        let places = plan.reordered(&items, &mut spool)?;
        let spooled = spool.finish()?;
        let items = plan.renamed(items, &places, &spooled)?;
        let progress = (!quiet).then(|| Progress::bytes("writing", total));
        match job.target {
            Target::Uqff12 | Target::Uqff02 => to_uqff::write(self, job, &plan, &items),
            Target::Gguf => to_gguf::write(self, job, &plan, items, progress.as_ref()),
            Target::Safetensors => {
                let mut written = to_safetensors::write(job.output, &items, progress.as_ref())?;
                if job.output != Path::new("-") && !self.keep_names {
                    written.extend(beside::bring(job)?);
                }
                Ok(written)
            }
        }
    }
}

impl Writing {
    /// The encoder that becomes a GGUF file, if one does.
    fn encoder(&self, job: &Job<'_, '_>) -> Result<Option<encoder::Encoder>> {
        let is_made_up = job.target == Target::Gguf
            && job.from != Format::Gguf
            && self.like.is_none()
            && !self.keep_names;
        if is_made_up { encoder::Encoder::of(self, job) } else { Ok(None) }
    }
}

/// Bytes of items that were changed, and where they lie in a spool.
type Places = Vec<Option<Place>>;

/// The size of a file that was written.
fn size_of(path: &Path) -> Written {
    (path.to_owned(), path.metadata().map_or(0, |metadata| metadata.len()))
}

/// The bytes at `place`.
fn spooled<'s>(bytes: &'s Mapped, place: &Place) -> &'s [u8] {
    bytes.get(place.clone()).unwrap_or_default()
}
