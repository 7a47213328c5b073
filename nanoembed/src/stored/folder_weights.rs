//! The files of a folder's weights.

use std::path::{Path, PathBuf};

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::folder::{Modules, WEIGHTS, WEIGHTS_INDEX};
use nanoembed_core::text::path::is_file_name;
use serde_json::Value;

use crate::error::{Error, Result, name_of, passed_over};
use crate::folder::json_file::read_json;
use crate::folder::texts::FolderTexts;

/// The file of a UQFF model's tensors that are not quantised.
pub const RESIDUAL: &str = "residual.safetensors";

/// Weights that only Python reads.
pub const PICKLE: &str = "pytorch_model.bin";

/// The safetensors files of `folder`: [the one that holds all weights](WEIGHTS), or the parts that
/// its index names; `None` if there is neither.
pub fn safetensors_in(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let single = folder.join(WEIGHTS);
    if single.exists() { Ok(Some(vec![single])) } else { indexed_parts(folder) }
}

/// The folder that holds the transformer or the table of the model in `folder`: itself, or the one
/// that `modules.json` names.
pub fn own_folder(folder: &Path) -> Result<PathBuf> {
    let inner = FolderTexts::new(folder).read(|texts| Modules::first_folder(texts))?;
    Ok(if inner.is_empty() { folder.to_owned() } else { folder.join(inner) })
}

/// The folder of the whole model that has its transformer or its table in `own`: above it, if
/// `modules.json` there names it.
pub fn model_folder(own: &Path) -> Result<PathBuf> {
    let Some(above) = own.parent() else { return Ok(own.to_owned()) };
    let is_own = passed_over(own_folder(above))?.is_some_and(|inner| inner == own);
    Ok(if is_own { above } else { own }.to_owned())
}

/// The error for a folder that has its weights only in a form that is not read here: a pickle, or a
/// graph.
pub fn only_foreign(folder: &Path) -> Option<Error> {
    let forms = [(PICKLE, "a pickle"), ("model.onnx", "an ONNX graph"), ("onnx", "ONNX graphs")];
    let (name, form) = forms.into_iter().find(|(name, _)| folder.join(name).exists())?;
    let message = format!("the folder has its weights only as `{name}`, {form}");
    Some(Error::input(ErrorKind::UnknownFormat, message).at(name_of(folder)).with_hint(format!(
        "save the model with `safe_serialization=True`, or download its `{WEIGHTS}`"
    )))
}

/// The files that the index of `folder` names, in the order of their names; `None` without an
/// index. Each is a regular file of that folder.
fn indexed_parts(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let path = folder.join(WEIGHTS_INDEX);
    let Some(index) = read_json(&path)? else { return Ok(None) };
    let refuse = |message: String| Error::input(ErrorKind::BadField, message).at(name_of(&path));
    let map = index.get("weight_map").and_then(Value::as_object).filter(|map| !map.is_empty());
    let map = map.ok_or_else(|| refuse("there is no `weight_map` of tensors and files".into()))?;
    let mut names = Vec::new();
    for (tensor, file) in map {
        let name = file.as_str().filter(|name| is_file_name(name));
        names.push(name.ok_or_else(|| {
            refuse(format!(
                "the file of `{tensor}` is {file}, which is no name of a file in this folder"
            ))
        })?);
    }
    names.sort_unstable();
    names.dedup();
    let parts = names.into_iter().map(|name| {
        let part = folder.join(name);
        match part.metadata() {
            Ok(there) if there.is_file() => Ok(part),
            Ok(_) => Err(refuse(format!("`{name}` is no regular file"))),
            Err(_) => Err(refuse(format!("`{name}` is not in this folder"))
                .with_hint("download all parts of the model into one folder")),
        }
    });
    parts.collect::<Result<_>>().map(Some)
}
