//! A GGUF file as Hugging Face would name and order its tensors, to be compared with files of other
//! formats.

use nanoembed_core::tensor::{Encoding, Weight};

use super::llama::{Llama, hugging_face_name};
use super::rows::{To, reorder};
use crate::convert::quantizer::Spool;
use crate::convert::quantizer::spool::Place;
use crate::error::{Error, Result};
use crate::stored::{Contents, Values};

/// Renames the tensors of a GGUF file of a known architecture; rows in another order go to `spool`.
/// Returns where they lie there, tensor by tensor. Other files and architectures stay as they are.
pub fn rename(contents: &mut Contents<'_>, spool: &mut Spool) -> Result<Vec<Option<Place>>> {
    let llama = contents.gguf.first().and_then(|gguf| Llama::of_gguf(gguf, "").ok());
    let Some(llama) = llama else { return Ok(Vec::new()) };
    let mut places = Vec::new();
    for tensor in &mut contents.tensors {
        if let Some(name) = hugging_face_name(&tensor.name) {
            tensor.name = name;
        }
        let rows = match (llama.reordered_heads(&tensor.name), &tensor.values) {
            (Some(heads), Values::Weight(weight)) => reordered(weight, heads),
            _ => None,
        };
        places.push(rows.map(|rows| spool.push(&rows)).transpose()?);
    }
    Ok(places)
}

fn reordered(weight: &Weight<'_>, heads: usize) -> Option<Vec<u8>> {
    let Encoding::Plain { dtype, data } = *weight.encoding() else { return None };
    let shape = weight.shape();
    let row = if shape.dims().len() < 2 { 1 } else { shape.cols()? };
    reorder(data, usize::try_from(dtype.data_bytes(row)?).ok()?, heads, To::HuggingFace)
}

/// Gives the tensors the rows that [`rename`] put into `spooled`.
pub fn replace<'a>(
    contents: &mut Contents<'a>,
    places: &[Option<Place>],
    spooled: &'a [u8],
) -> Result<()> {
    for (tensor, place) in contents.tensors.iter_mut().zip(places) {
        if let (Some(place), Values::Weight(weight)) = (place, &tensor.values)
            && let Encoding::Plain { dtype, .. } = *weight.encoding()
        {
            let data = spooled.get(place.clone()).unwrap_or_default();
            let weight = Weight::new(*weight.shape(), Encoding::Plain { dtype, data });
            let weight = weight.map_err(|kind| Error::input(kind, kind.message()))?;
            tensor.values = Values::Weight(weight);
        }
    }
    Ok(())
}
