//! Gate and up in one matrix, the gate last: GGUF has them apart, as llama.cpp takes the first half
//! of one matrix for the gate.

use nanoembed_core::model::{Names, Tensor};
use nanoembed_core::tensor::{Encoding, Shape, Weight};
use nanoembed_core::{ErrorKind, limit};

use crate::convert::targets::Item;
use crate::error::{Error, Result};

/// `items` with two matrices in place of each that has the gate last, under the family's names.
pub(super) fn divided<'a>(
    names: &Names,
    items: Vec<Item<'a>>,
    source: &str,
) -> Result<Vec<Item<'a>>> {
    let failed = |error| Error::in_file(source, error);
    let [joined, up, gate] =
        [Tensor::UpGate, Tensor::Up, Tensor::Gate].map(|tensor| names.name_of(tensor));
    let Some(((joined, up), gate)) = joined.zip(up).zip(gate) else { return Ok(items) };
    let mut all = Vec::new();
    for item in items {
        let layer = item.name.strip_suffix(".weight").and_then(|name| name.strip_suffix(joined));
        let Some(layer) = layer else {
            limit::push(&mut all, item).map_err(failed)?;
            continue;
        };
        let halves = halves(&item).ok_or_else(|| {
            let message = format!(
                "`{}` is divided only if its elements are floating-point numbers",
                item.name
            );
            Error::input(ErrorKind::UnsupportedSetting, message).at(source)
        })?;
        for (name, weight) in [up, gate].into_iter().zip(halves) {
            let name = limit::joined(&[layer, name, ".weight"]).map_err(failed)?;
            limit::push(&mut all, Item::new(name, weight)).map_err(failed)?;
        }
    }
    Ok(all)
}

/// The first and the second half of the rows.
fn halves<'a>(item: &Item<'a>) -> Option<[Weight<'a>; 2]> {
    let Encoding::Plain { dtype, data } = *item.weight.encoding() else { return None };
    let [rows, cols] = *item.weight.shape().dims() else { return None };
    if !item.is_float() || !rows.is_multiple_of(2) {
        return None;
    }
    let shape = Shape::new(&[rows / 2, cols])?;
    let (first, second) = data.split_at_checked(data.len() / 2)?;
    let half = |data| Weight::new(shape, Encoding::Plain { dtype, data }).ok();
    Some([half(first)?, half(second)?])
}
