//! Descriptions of files: one file a format, each with the facts that its format has.

pub mod amb;
pub mod embd;
pub mod finalfusion;
pub mod folder;
pub mod gguf;
pub mod safetensors;
pub mod tensors;
pub mod uqff;
pub mod words;

use std::path::Path;
use std::sync::Arc;

use nanoembed_core::event::Format;
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde::{Serialize, Serializer};
use tensors::{Tensor, Totals};

use crate::encoder::{Encoder, Fingerprint};
use crate::error::Result;
use crate::files::literal;
use crate::open::loaded_model::LoadedModel;
use crate::open::source::Source;
use crate::signature::foreign;
use crate::stored::FileSet;

/// The description of a file. It serialises with the fields that its format has, among them `file`,
/// `format`, `file_bytes`, `metadata` and `tensors`.
#[derive(Debug, Serialize)]
pub struct Inspection {
    #[serde(flatten)]
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shown")]
    fingerprint: Option<Fingerprint>,
}

fn shown<S: Serializer>(
    value: &Option<Fingerprint>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    value.map(|value| value.to_string()).serialize(to)
}

/// The summary of a format.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[doc(hidden)]
pub enum Summary {
    Amb(amb::AmbSummary),
    Embd(embd::EmbdSummary),
    Finalfusion(Box<finalfusion::FinalfusionSummary>),
    Gguf(gguf::GgufSummary),
    Safetensors(safetensors::SafetensorsSummary),
    Uqff(uqff::UqffSummary),
    Words(words::WordsSummary),
}

/// Calls `$body` with the summary of whatever format as `$summary`.
macro_rules! each {
    ($inspection:expr, $summary:ident => $body:expr) => {
        match &$inspection.summary {
            Summary::Amb($summary) => $body,
            Summary::Embd($summary) => $body,
            Summary::Finalfusion($summary) => $body,
            Summary::Gguf($summary) => $body,
            Summary::Safetensors($summary) => $body,
            Summary::Uqff($summary) => $body,
            Summary::Words($summary) => $body,
        }
    };
}

impl Inspection {
    /// The format's name, such as `gguf`.
    #[must_use]
    pub fn format(&self) -> &'static str {
        each!(self, summary => summary.format)
    }

    /// The size of the file, or of all shards together.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        each!(self, summary => summary.file_bytes)
    }

    /// The totals over all tensors.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        each!(self, summary => &summary.totals)
    }

    /// The tensors in the order of the file.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor] {
        each!(self, summary => &summary.tensors)
    }

    /// The fingerprint of the vectors that the model makes with its usual options: see
    /// [`Encoder::fingerprint`]. `None` unless the file is a model that embeds texts.
    #[must_use]
    pub const fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// All facts as a line of JSON, as `nanoembed inspect --json` prints them.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }
}

/// Looks into a file of any format, a folder as on Hugging Face, or all shards or parts of a model,
/// without reading more of the weights than a [fingerprint](Inspection::fingerprint) takes.
///
/// ```
/// let inspection = nanoembed::inspect::inspect("../tests/data/gguf/small.gguf")?;
/// println!("{}: {} parameters", inspection.format(), inspection.totals().parameters);
/// for tensor in inspection.tensors() {
///     println!("{} {} {:?}", tensor.name, tensor.dtype, tensor.shape);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the file is invalid or cannot be read.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection> {
    inspect_files(&FileSet::open(&literal(path.as_ref()))?)
}

/// Looks into files that are open.
#[doc(hidden)]
pub fn inspect_files(set: &FileSet) -> Result<Inspection> {
    Ok(Inspection { summary: summary(set)?, fingerprint: fingerprint(set) })
}

/// The fingerprint of the model in these files, if it is one that embeds texts and can be opened.
fn fingerprint(set: &FileSet) -> Option<Fingerprint> {
    let source = match (set.format()?, set.given_folder()) {
        (_, Some(folder)) => Source::open(folder).ok()?,
        (Format::Amb | Format::Embd | Format::Gguf, None) if set.iter().len() == 1 => {
            Source::from_bytes(set.shared().next()?.clone())
        }
        (Format::Gguf | Format::Safetensors | Format::Uqff, None) => {
            Source::open(set.iter().next()?.0).ok()?
        }
        _ => return None,
    };
    let source = Arc::new(source);
    let opened = LoadedModel::new(&source).ok().filter(|opened| !opened.is_causal())?;
    Encoder::from_opened(&opened, &Encoder::options()).ok()?.fingerprint().ok()
}

fn summary(set: &FileSet) -> Result<Summary> {
    let name = set.name();
    let file = set.first();
    let inspected = match set.format() {
        Some(Format::Amb) => amb::AmbSummary::read(&name, file).map(Summary::Amb),
        Some(Format::Embd) => embd::EmbdSummary::read(&name, file).map(Summary::Embd),
        Some(Format::Gguf) => return gguf::inspect(set).map(Summary::Gguf),
        Some(Format::Safetensors) => return safetensors::inspect(set).map(Summary::Safetensors),
        Some(Format::Uqff) => return uqff::inspect(set).map(Summary::Uqff),
        Some(Format::Finalfusion) => {
            finalfusion::inspect(&name, file).map(|summary| Summary::Finalfusion(Box::new(summary)))
        }
        _ => match words::inspect(&name, file)? {
            Some(summary) => Ok(Summary::Words(summary)),
            None => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
        },
    };
    inspected.map_err(|error| foreign::failure(name, file, error))
}
