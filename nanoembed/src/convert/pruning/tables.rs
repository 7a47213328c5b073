//! The tensors of a model, those with a row for each piece cut to the pieces that stay.

use std::collections::BTreeSet;
use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::Encoder;
use nanoembed_core::tensor::{Dtype, Encoding, Shape, Weight};

use super::numbering::Numbering;
use crate::convert::naming::Naming;
use crate::convert::targets::safetensors::{Wanted, write};
use crate::convert::text_model::{integers, naming};
use crate::error::{Error, Result};
use crate::open::folder::files::EncoderFolder;
use crate::open::folder::tensor_fault;
use crate::progress::Progress;
use crate::stored::{Stored, Values};

/// The row of each token in a static model's table, if that is not its id.
const MAPPING: &str = "mapping";

/// The tensors of a model's own file.
pub(super) struct Tables<'f> {
    tensors: Vec<Stored<'f>>,
    /// Replacements of tensors that were cut.
    cut: Vec<Option<Cut>>,
}

/// A tensor with fewer rows.
struct Cut {
    shape: Shape,
    dtype: Dtype,
    data: Vec<u8>,
}

/// The tensors that have a row for each token, and which rows stay.
struct Rows<'f> {
    /// The rows of a table with one for each token.
    tokens: u64,
    /// The names of tensors that the model uses.
    used: BTreeSet<String>,
    mapping: Option<Vec<u32>>,
    is_table: Box<dyn Fn(&str) -> bool + 'f>,
}

impl<'f> Tables<'f> {
    pub(super) fn new(source: &'f EncoderFolder, numbering: &Numbering) -> Result<Self> {
        let name = source.name();
        let config = source.own_folder().join("config.json");
        let contents = source.files().contents(&config)?;
        let tensors: Vec<Stored<'f>> =
            contents.into_iter().flat_map(|(_, contents)| contents.tensors).collect();
        let rows = Rows::from_tensors(source, &tensors)?;
        let cut = tensors.iter().map(|tensor| rows.cut(tensor, numbering));
        let cut = cut.collect::<Result<_>>().map_err(|error| error.at(name))?;
        Ok(Self { tensors, cut })
    }

    /// The bytes of all tensors, and those that they had.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let before = self.tensors.iter().map(|tensor| tensor.values.stored_bytes());
        let now = self.tensors.iter().zip(&self.cut).map(|(tensor, cut)| match cut {
            Some(cut) => cut.data.len() as u64,
            None => tensor.values.stored_bytes(),
        });
        (now.sum(), before.sum())
    }

    /// Writes them to the file at `path`.
    pub(super) fn write(&self, path: &Path, progress: &Progress<'_>) -> Result<()> {
        let tensors = self.tensors.iter().zip(&self.cut).map(|(tensor, cut)| {
            let values = match cut {
                Some(cut) => cut.values().map_err(|kind| bad(tensor, kind))?,
                None => tensor.values,
            };
            Ok(Stored { values, ..tensor.clone() })
        });
        let tensors = tensors.collect::<Result<Vec<Stored<'_>>>>()?;
        let wanted = tensors.iter().map(|tensor| {
            let dtype = plain(tensor).map(|(dtype, _)| dtype);
            let dtype = dtype.ok_or_else(|| bad(tensor, ErrorKind::UnsupportedDtype))?;
            Ok(Wanted { name: tensor.name.clone(), tensor, dtype })
        });
        write(path, wanted.collect::<Result<_>>()?, &[("format", "pt")], progress).map(drop)
    }
}

impl Cut {
    fn values(&self) -> std::result::Result<Values<'_>, ErrorKind> {
        let plain = Encoding::Plain { dtype: self.dtype, data: &self.data };
        Weight::new(self.shape, plain).map(Values::Weight)
    }
}

impl<'f> Rows<'f> {
    fn from_tensors(source: &'f EncoderFolder, tensors: &[Stored<'_>]) -> Result<Self> {
        let (naming, prefix) = naming(source)?;
        let (_, used) = Encoder::listing(source.model(), source.weights()?, source.pipeline()?)
            .map_err(|fault| tensor_fault::failure(&source.name(), &fault))?;
        let used: BTreeSet<String> = used.into_iter().collect();
        let is_table =
            move |name: &str| naming.is_looked_up(name.strip_prefix(prefix).unwrap_or(name));
        let table =
            tensors.iter().find(|tensor| used.contains(&tensor.name) && is_table(&tensor.name));
        let missing = || {
            let message = "there is no table with a row for each piece";
            Error::input(ErrorKind::MissingTensor, message).at(source.name())
        };
        let table = table.ok_or_else(missing)?;
        let is_static = matches!(naming, Naming::Table);
        let mapping = tensors.iter().find(|tensor| is_static && tensor.name == MAPPING);
        let mapping = mapping.map(|it| {
            let numbers = integers(it).map_err(|error| bad(it, error.kind()))?;
            numbers.ok_or_else(|| bad(it, ErrorKind::UnsupportedDtype))
        });
        let mapping = mapping.transpose()?;
        let rows = table.values.shape().dims().first().copied().unwrap_or(0);
        let tokens = mapping.as_ref().map_or(rows, |mapping| mapping.len() as u64);
        // A static model has the weights of its pieces beside their vectors.
        let is_table = Box::new(move |name: &str| is_static || is_table(name));
        Ok(Self { tokens, used, mapping, is_table })
    }

    /// The tensor with the rows that stay, if it is one of tokens: the table of pieces, and, as far
    /// as this model does not use it, whatever has as many rows, such as what guesses words.
    fn cut(&self, tensor: &Stored<'_>, numbering: &Numbering) -> Result<Option<Cut>> {
        let ids = numbering.kept();
        let dims = tensor.values.shape().dims();
        let has_tokens = dims.first() == Some(&self.tokens);
        let of_tokens = (self.is_table)(&tensor.name) || !self.used.contains(&tensor.name);
        match &self.mapping {
            Some(mapping) if tensor.name == MAPPING => {
                let rows =
                    mapped(mapping, ids).ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
                let place = |row: &u32| rows.binary_search(row).unwrap_or_default();
                let now = ids.iter().filter_map(|id| mapping.get(usize::try_from(*id).ok()?));
                let now: Vec<usize> = now.map(place).collect();
                renumbered(tensor, &now).map(Some)
            }
            Some(mapping) if Naming::Table.is_looked_up(&tensor.name) => {
                let rows =
                    mapped(mapping, ids).ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
                cut(tensor, &rows).map(Some)
            }
            _ if has_tokens && of_tokens => cut(tensor, ids).map(Some),
            _ => Ok(None),
        }
    }
}

/// The rows that the tokens `ids` have, in their order.
fn mapped(mapping: &[u32], ids: &[u32]) -> Option<Vec<u32>> {
    let rows = ids.iter().map(|id| mapping.get(usize::try_from(*id).ok()?).copied());
    let rows = rows.collect::<Option<BTreeSet<u32>>>()?;
    Some(rows.into_iter().collect())
}

/// A tensor with the rows `kept` alone.
fn cut(tensor: &Stored<'_>, kept: &[u32]) -> Result<Cut> {
    let (dtype, data) = plain(tensor).ok_or_else(|| bad(tensor, ErrorKind::UnsupportedDtype))?;
    let dims = tensor.values.shape().dims();
    let (rows, inner) = dims.split_first().ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
    let row_bytes = usize::try_from(*rows).ok().and_then(|rows| data.len().checked_div(rows));
    let row_bytes = row_bytes.ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
    let mut bytes = Vec::with_capacity(kept.len().saturating_mul(row_bytes));
    for id in kept {
        let start = usize::try_from(*id).ok().and_then(|row| row.checked_mul(row_bytes));
        let row = start.and_then(|start| data.get(start..)?.get(..row_bytes));
        bytes.extend_from_slice(row.ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?);
    }
    let shape = Shape::new(&[&[kept.len() as u64], inner].concat());
    let shape = shape.ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
    Ok(Cut { shape, dtype, data: bytes })
}

/// A list of rows with these in the type that it has.
fn renumbered(tensor: &Stored<'_>, rows: &[usize]) -> Result<Cut> {
    let (dtype, _) = plain(tensor).ok_or_else(|| bad(tensor, ErrorKind::UnsupportedDtype))?;
    let bytes = |row: &usize| {
        let row = *row as u64;
        row.to_le_bytes().into_iter().take(dtype.block_bytes())
    };
    let shape =
        Shape::new(&[rows.len() as u64]).ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
    Ok(Cut { shape, dtype, data: rows.iter().flat_map(bytes).collect() })
}

/// The elements of a tensor as the file has them.
fn plain<'a>(tensor: &Stored<'a>) -> Option<(Dtype, &'a [u8])> {
    match &tensor.values {
        Values::Weight(weight) => match *weight.encoding() {
            Encoding::Plain { dtype, data } => Some((dtype, data)),
            _ => None,
        },
        Values::Int8(_) => None,
    }
}

fn bad(tensor: &Stored<'_>, kind: ErrorKind) -> Error {
    Error::input(kind, format!("`{}`: {}", tensor.name, kind.message()))
}
