//! Which files of a folder hold its weights.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderModel, FolderResult, Modules, SPARSE_LAYER, Texts, object};
use crate::limit::{collected, joined, push, spelled};
use crate::model::HeadModule;
use crate::text::json::chars;
use crate::text::path::is_file_name;

/// The file that holds all weights, where they are in one. Where there is an index, too, this file
/// counts, as in transformers.
pub const WEIGHTS: &str = "model.safetensors";

/// The file that says which files hold the weights, where they are several.
pub const WEIGHTS_INDEX: &str = "model.safetensors.index.json";

/// The end of the name of a layer's file beside the modules.
const LAYER_ENDING: &str = ".safetensors";

impl FolderModel {
    /// The paths of the safetensors files that hold the weights: [one](WEIGHTS), or the parts that
    /// [`model.safetensors.index.json`](WEIGHTS_INDEX) names, one for each module with weights
    /// after the pooling, and those of [layers beside the modules](Self::layers_beside) that are
    /// there. `is_there` says whether a file is in the folder; it is asked only where there is an
    /// index, or may be such a layer.
    ///
    /// # Errors
    ///
    /// The fault of the index, which may name only files in its own folder.
    pub fn weight_files(
        &self,
        texts: Texts<'_, '_>,
        is_there: &dyn Fn(&str) -> bool,
    ) -> FolderResult<Vec<String>> {
        let folder = self.folder();
        let single = joined(&[folder, WEIGHTS])?;
        let path = joined(&[folder, WEIGHTS_INDEX])?;
        let parts = object(texts, &path, |index| {
            if is_there(&single) {
                return Ok(None);
            }
            let fault = |fault| FolderFault::new(&path, fault);
            let map = index.object("weight_map").map_err(fault)?;
            let map = index.needed("weight_map", map).map_err(fault)?;
            let mut parts: Vec<String> = Vec::new();
            for (_, file) in map.value().members() {
                let file = spelled(chars(file.as_text().unwrap_or_default()))?;
                if !file.ends_with(".safetensors") || !is_file_name(&file) {
                    let only = "each of its files has to be a safetensors file beside it";
                    return Err(fault(index.bad("weight_map", only)));
                }
                let file = joined(&[folder, &file])?;
                // Tensors of a file stand together as a rule.
                if parts.last() != Some(&file) {
                    push(&mut parts, file)?;
                }
            }
            parts.sort_unstable();
            parts.dedup();
            Ok(Some(parts))
        })?;
        let mut files: Vec<String> = match parts.flatten() {
            Some(parts) => parts,
            None => collected([single])?,
        };
        let folders = self.modules.iter().flat_map(Modules::weight_folders);
        for folder in folders {
            push(&mut files, joined(&[&folder?, WEIGHTS])?)?;
        }
        for layer in self.layers_beside() {
            let file = joined(&[folder, layer, LAYER_ENDING])?;
            if is_there(&file) {
                push(&mut files, file)?;
            }
        }
        Ok(files)
    }

    /// The prefix of the names of the tensors in the file at this path: the folder of a module
    /// after the pooling, that of a layer beside the modules, and empty for the model itself.
    #[must_use]
    pub fn tensor_prefix<'p>(&self, path: &'p str) -> &'p str {
        let folder = path.rfind('/').map_or("", |end| path.get(..=end).unwrap_or_default());
        let name = path.strip_prefix(folder).and_then(|name| name.strip_suffix(LAYER_ENDING));
        let layer = self.layers_beside().iter().find(|layer| name == Some(layer));
        if let Some(layer) = layer {
            return if *layer == SPARSE_LAYER {
                "sparse_linear/linear."
            } else {
                "colbert_linear/linear."
            };
        }
        let head = self.modules.iter().flat_map(|modules| &modules.head);
        let mut folders = head.filter_map(HeadModule::folder);
        let is_known = folders.any(|known| folder.strip_suffix('/') == Some(known));
        if is_known { folder } else { "" }
    }
}
