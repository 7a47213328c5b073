//! safetensors files: metadata and tensors.

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::text::json;
use serde::Serialize;
use serde_json::{Map, Value};

use super::folder::{Folder, TokenizerSummary};
use super::tensors::{Tensor, Totals};
use crate::error::{Result, name_of};
use crate::stored::entries::room;
use crate::stored::folder_weights::own_folder;
use crate::stored::{FileSet, diagnosis};

/// The description of safetensors files. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct SafetensorsSummary {
    pub file: String,
    pub format: &'static str,
    pub variant: &'static str,
    pub file_bytes: u64,
    /// The files of a model in several; offsets are in the tensor's file.
    #[serde(skip_serializing_if = "is_alone")]
    pub parts: Vec<String>,
    /// Of the first file, and of a folder the members of `config.json`.
    pub metadata: Map<String, Value>,
    pub tokenizer: Option<TokenizerSummary>,
    #[serde(flatten)]
    pub totals: Totals,
    pub tensors: Vec<Tensor>,
}

pub(super) fn inspect(set: &FileSet) -> Result<SafetensorsSummary> {
    let (mut tensors, mut stated) = (Vec::new(), Map::new());
    for (path, file) in set.iter() {
        let failed = |error| diagnosis::failure(&name_of(path), file, error);
        let mut room = room(file).map_err(failed)?;
        let parsed = Safetensors::parse(file, Mode::Lenient, &mut room).map_err(failed)?;
        tensors.extend(parsed.tensors().map(|tensor| {
            let tensor = Tensor::from(tensor.header());
            Tensor { name: meant(&tensor.name), ..tensor }
        }));
        if stated.is_empty() {
            stated = metadata(&parsed);
        }
    }
    let folder = set.given_folder().map(|given| Folder::read(&own_folder(given)?));
    let folder = folder.transpose()?.unwrap_or_default();
    stated.extend(folder.config);
    let summary = SafetensorsSummary {
        file: set.given_name(),
        format: "safetensors",
        variant: if set.given_folder().is_some() { "folder" } else { "safetensors" },
        file_bytes: set.iter().map(|(_, file)| file.len() as u64).sum(),
        parts: set.iter().map(|(path, _)| name_of(path)).collect(),
        metadata: stated,
        tokenizer: folder.tokenizer,
        totals: Totals::from_tensors(&tensors),
        tensors,
    };
    Ok(summary)
}

fn is_alone(parts: &[String]) -> bool {
    parts.len() < 2
}

/// The metadata with JSON's escapes resolved.
pub(super) fn metadata(file: &Safetensors<'_, '_>) -> Map<String, Value> {
    file.metadata().map(|(key, value)| (meant(key), meant(value).into())).collect()
}

fn meant(spelling: &str) -> String {
    json::chars(spelling).collect()
}
