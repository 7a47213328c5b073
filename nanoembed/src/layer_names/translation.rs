//! A GGUF file as Hugging Face would name and order its tensors, to be compared with files of other
//! formats.

use std::collections::HashMap;

use nanoembed_core::Error as CoreError;
use nanoembed_core::model::{FamilyModel, gguf_names};
use nanoembed_core::tensor::{Dtype, Encoding, Weight};

use super::llama::{Llama, translated};
use super::rows::{To, reorder};
use super::tensorflow::present_name;
use super::token_table::token_table;
use crate::error::{Error, Result};
use crate::files::spool::Place;
use crate::files::spool::Spool;
use crate::hashed;
use crate::stored::{Contents, Values};

/// The place and type of a tensor's changed elements in a spool.
pub type Changed = (Place, Dtype);

/// Renames the tensors of a GGUF file of a known architecture; reordered rows and changed values go
/// to `spool`. Returns their places there, tensor by tensor. Other files and architectures stay as
/// they are.
pub fn rename(contents: &mut Contents<'_>, spool: &mut Spool) -> Result<Vec<Option<Changed>>> {
    let llama = contents.gguf.first().and_then(|gguf| Llama::from_gguf(gguf, "").ok());
    let Some(llama) = llama else { return Ok(Vec::new()) };
    let mut places = Vec::new();
    for tensor in &mut contents.tensors {
        if let Some(name) = llama.hugging_face_name(&tensor.name) {
            tensor.name = name;
        }
        let changed = match (llama.reordered_heads(&tensor.name), &tensor.values) {
            (Some(heads), Values::Weight(weight)) => reordered(weight, heads),
            _ => Ok(None),
        };
        let changed = changed.map_err(|error| Error::in_file(&tensor.name, error))?;
        let changed = match llama.added_for_ggml(&tensor.name) {
            Some(added) => {
                let values = tensor.all()?.into_iter().map(|value| value - added);
                Some((values.flat_map(f32::to_le_bytes).collect(), Dtype::F32))
            }
            None => changed,
        };
        let place = |(bytes, dtype): (Vec<u8>, _)| Ok((spool.push(&bytes)?, dtype));
        places.push(changed.map(place).transpose()?);
    }
    Ok(places)
}

/// Renames the tensors of a GGUF file of an encoder as those of the same model in `other`, a folder of
/// the family. Tensors that are cut or joined in GGUF keep their names.
pub fn rename_encoder(
    contents: &mut Contents<'_>,
    other: &Contents<'_>,
    family: &FamilyModel,
) -> Result<()> {
    let own = || other.tensors.iter().map(|tensor| tensor.name.as_str());
    let in_gguf = gguf_names::encoder(&family.config);
    let prefix = token_table(family.names, own).map_or("", |(_, prefix)| prefix);
    let mut names = HashMap::new();
    for name in own() {
        let failed = |error| Error::in_file(name, error);
        let part = present_name(name.strip_prefix(prefix).unwrap_or(name)).map_err(failed)?;
        if let Some(of_gguf) = translated(&part, family.names, in_gguf).map_err(failed)? {
            hashed::insert(&mut names, of_gguf, name).map_err(failed)?;
        }
    }
    for tensor in &mut contents.tensors {
        if let Some(name) = names.get(&tensor.name) {
            tensor.name = (*name).to_owned();
        }
    }
    Ok(())
}

fn reordered(weight: &Weight<'_>, heads: usize) -> Result<Option<(Vec<u8>, Dtype)>, CoreError> {
    let Encoding::Plain { dtype, data } = *weight.encoding() else { return Ok(None) };
    let shape = weight.shape();
    let row = if shape.dims().len() < 2 { Some(1) } else { shape.cols() };
    let row_bytes = row.and_then(|row| usize::try_from(dtype.data_bytes(row)?).ok());
    let Some(row_bytes) = row_bytes else { return Ok(None) };
    let rows = reorder(data, row_bytes, heads, To::HuggingFace)?;
    Ok(rows.map(|rows| (rows, dtype)))
}

/// Gives the tensors the rows that [`rename`] put into `spooled`.
pub fn replace<'a>(
    contents: &mut Contents<'a>,
    places: &[Option<Changed>],
    spooled: &'a [u8],
) -> Result<()> {
    for (tensor, place) in contents.tensors.iter_mut().zip(places) {
        if let (Some((place, dtype)), Values::Weight(weight)) = (place, &tensor.values) {
            let dtype = *dtype;
            let data = spooled.get(place.clone()).unwrap_or_default();
            let weight = Weight::new(*weight.shape(), Encoding::Plain { dtype, data });
            let weight = weight.map_err(|kind| Error::input(kind, kind.message()))?;
            tensor.values = Values::Weight(weight);
        }
    }
    Ok(())
}
