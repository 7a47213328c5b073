//! Tensors on their way into a file of another format: under which names, in which order of rows,
//! as layers or not.
//!
//! | file | role |
//! |---|---|
//! | `options` | options for the file that is written |
//! | `names` | from the names and row orders of one format to those of another |
//! | `decoder_keys` | GGUF keys of a decoder |
//! | `windows` | GGUF's keys of windows, and of the factor of scores |
//! | `uqff`, `gguf`, `safetensors` | tensors of each format; those it does not hold go elsewhere or are converted |
//! | `encoder`, `decoder_tokenizer`, `metadata` | metadata of a GGUF file about a model and its tokenizer |
//! | `family` | the same of encoders of other families |
//! | `companion_files` | files with settings that the weights' format lacks |
//! | `residual` | the tensors beside a UQFF file |

mod companion_files;
mod decoder_keys;
mod decoder_tokenizer;
mod encoder;
mod family;
mod gguf;
mod metadata;
pub mod names;
mod options;
mod residual;
mod safetensors;
mod uqff;
mod windows;

use std::path::{Path, PathBuf};

use nanoembed_core::event::Format;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::limit;
use nanoembed_core::tensor::Dtype;

use crate::convert::targets::Item;
use crate::convert::targets::uqff::Fallback;
use crate::error::{Error, Result};
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::keep_inputs;
use crate::files::spool::Place;
use crate::files::spool::Spool;
use crate::progress::{Observer, Progress};
use crate::units::Listed;

use companion_files::Companions;
pub use companion_files::{check_beside, residual};
pub use options::{SHARD_BYTES, Target, Writing};

/// Tensors to be written, and where they come from.
pub struct Job<'j, 'a> {
    pub target: Target,
    pub output: &'j Path,
    /// The format that the items have their names from.
    pub from: Format,
    /// The source as GGUF, if it is one.
    pub gguf: Option<Gguf<'a>>,
    /// The name that messages give to the source, and the folder of its `config.json`.
    pub source: String,
    pub folder: PathBuf,
    /// All files that the items are read from.
    pub inputs: Vec<PathBuf>,
    /// The tensors that the report lists as not quantised.
    pub fallbacks: Vec<Fallback>,
    /// True if items have other types than in the source.
    pub requantized: bool,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

impl Writing {
    /// Writes all items; returns the files.
    pub fn write(
        &self,
        job: &Job<'_, '_>,
        items: Vec<Item<'_>>,
        observer: &dyn Observer,
    ) -> Result<Vec<WrittenFile>> {
        keep_inputs(&job.inputs, [job.output])?;
        self.refuse_unused_names(job.from, job.target)?;
        let total = items.iter().map(|item| item.weight.encoding().stored_bytes()).sum();
        let family = self.family(job)?;
        self.allowed.check()?;
        if let Some(family) = family {
            let progress = Progress::bytes(observer, "writing", total);
            return gguf::write_family(job, &family, items, (&progress, observer));
        }
        let encoder = self.encoder(job)?;
        self.allowed.check()?;
        if let Some(encoder) = &encoder {
            let (items, left_out) = encoder.renamed(items, &job.source)?;
            if !left_out.is_empty() {
                note_left_out(job, &left_out, observer)?;
            }
            let progress = Progress::bytes(observer, "writing", total);
            return gguf::write_encoder(job, encoder, items, (&progress, observer));
        }
        let plan = names::plan(self, job, &items)?;
        let items = plan.without_copies(job, items);
        let mut spool = Spool::new()?;
        let places = plan.changed(&items, &mut spool)?;
        let spooled = spool.finish()?;
        let items = plan.renamed(items, &places, &spooled)?;
        let progress = Progress::bytes(observer, "writing", total);
        match job.target {
            Target::Uqff12 | Target::Uqff02 => uqff::write(self, job, &plan, &items, observer),
            Target::Gguf => gguf::write(self, job, &plan, items, (&progress, observer)),
            Target::Safetensors => {
                let brings = job.output != Path::new("-") && !self.keep_names;
                let companions = match brings {
                    true => companion_files::plan(job, &[job.output])?,
                    false => Companions::default(),
                };
                let written = limit::reserved(1 + companions.count());
                let mut written = written.map_err(|error| Error::in_file(&job.source, error))?;
                written.push(safetensors::write(job.output, &items, &progress)?);
                companion_files::bring(&companions, &mut written, observer)?;
                Ok(written)
            }
        }
    }
}

impl Writing {
    /// True if the metadata of a GGUF file is generated, not copied.
    fn makes_up_gguf(&self, job: &Job<'_, '_>) -> bool {
        job.target == Target::Gguf
            && job.from != Format::Gguf
            && self.like.is_none()
            && !self.keep_names
    }

    /// The encoder of a family that becomes a GGUF file, if one does.
    fn family(&self, job: &Job<'_, '_>) -> Result<Option<family::Family>> {
        if self.makes_up_gguf(job) { family::Family::from_job(self, job) } else { Ok(None) }
    }

    /// The BERT with WordPiece that becomes a GGUF file, if one does.
    fn encoder(&self, job: &Job<'_, '_>) -> Result<Option<encoder::Encoder>> {
        if self.makes_up_gguf(job) { encoder::Encoder::from_job(self, job) } else { Ok(None) }
    }
}

/// The items that were changed.
type Places = Vec<Option<Changed>>;

/// Bytes of an item that was changed, and their place in a spool.
struct Changed {
    place: Place,
    dtype: Dtype,
}

/// The size of a file that was written.
fn size_of(path: &Path) -> WrittenFile {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    WrittenFile { path: path.to_owned(), bytes }
}

/// The bytes at `place`.
fn spooled<'s>(bytes: &'s MappedFile, place: &Place) -> &'s [u8] {
    bytes.get(place.clone()).unwrap_or_default()
}

/// Names the tensors of the source that the model does not need.
fn note_left_out(job: &Job<'_, '_>, names: &[String], observer: &dyn Observer) -> Result<()> {
    let note = limit::formatted(format_args!("left out: {}", Listed(names)));
    observer.note(&note.map_err(|error| Error::in_file(&job.source, error))?);
    Ok(())
}
