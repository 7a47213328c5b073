//! The tensors of a model, those with a row for each piece cut to the pieces that stay.

use std::collections::HashSet;
use std::path::Path;

use nanoembed_core::owned::Encoder;
use nanoembed_core::tensor::{Dtype, Encoding, Shape, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::numbering::Numbering;
use crate::convert::naming::Naming;
use crate::convert::targets::safetensors::{Wanted, write};
use crate::convert::text_model::{integers, naming};
use crate::error::{Error, Result};
use crate::hashed;
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
struct Rows {
    /// The rows of a table with one for each token.
    tokens: u64,
    /// The names of tensors that the model uses.
    used: HashSet<String>,
    mapping: Option<Vec<u32>>,
    naming: Naming,
    /// The prefix of the tensors' names.
    prefix: &'static str,
}

impl<'f> Tables<'f> {
    pub(super) fn new(source: &'f EncoderFolder, numbering: &Numbering) -> Result<Self> {
        let failed = |error| Error::in_file(source.name(), error);
        let config = source.own_folder().join("config.json");
        let contents = source.files().contents(&config)?;
        let mut tensors: Vec<Stored<'f>> = Vec::new();
        for (_, contents) in contents {
            limit::extend(&mut tensors, contents.tensors).map_err(failed)?;
        }
        let rows = Rows::from_tensors(source, &tensors)?;
        let mut cut = limit::reserved(tensors.len()).map_err(failed)?;
        for tensor in &tensors {
            cut.push(rows.cut(tensor, numbering).map_err(|error| error.at(source.name()))?);
        }
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
        let failed = |error| Error::in_file(path.display(), error);
        let copied = |name: &str| limit::copied(name).map_err(failed);
        let mut tensors = limit::reserved(self.tensors.len()).map_err(failed)?;
        for (tensor, cut) in self.tensors.iter().zip(&self.cut) {
            let values = match cut {
                Some(cut) => cut.values().map_err(|kind| bad(tensor, kind))?,
                None => tensor.values,
            };
            let Stored { offset, file, .. } = *tensor;
            tensors.push(Stored { name: copied(&tensor.name)?, values, offset, file });
        }
        let mut wanted = limit::reserved(tensors.len()).map_err(failed)?;
        for tensor in &tensors {
            let dtype = plain(tensor).map(|(dtype, _)| dtype);
            let dtype = dtype.ok_or_else(|| bad(tensor, ErrorKind::UnsupportedDtype))?;
            wanted.push(Wanted { name: copied(&tensor.name)?, tensor, dtype });
        }
        write(path, wanted, &[("format", "pt")], progress).map(drop)
    }
}

impl Cut {
    fn values(&self) -> std::result::Result<Values<'_>, ErrorKind> {
        let plain = Encoding::Plain { dtype: self.dtype, data: &self.data };
        Weight::new(self.shape, plain).map(Values::Weight)
    }
}

impl Rows {
    fn from_tensors(source: &EncoderFolder, tensors: &[Stored<'_>]) -> Result<Self> {
        let (naming, prefix) = naming(source)?;
        let (_, used) = Encoder::listing(source.model(), source.weights()?, source.pipeline()?)
            .map_err(|fault| tensor_fault::failure(&source.name(), &fault))?;
        let used = hashed::set(used).map_err(|error| Error::in_file(source.name(), error))?;
        let mut rows = Self { tokens: 0, used, mapping: None, naming, prefix };
        let table = tensors
            .iter()
            .find(|tensor| rows.used.contains(&tensor.name) && rows.is_looked_up(&tensor.name));
        let missing = || {
            let message = "there is no table with a row for each piece";
            Error::input(ErrorKind::MissingTensor, message).at(source.name())
        };
        let table = table.ok_or_else(missing)?;
        let mapping = tensors.iter().find(|tensor| rows.is_static() && tensor.name == MAPPING);
        let mapping = mapping.map(|it| {
            let numbers = integers(it).map_err(|error| bad(it, error.kind()))?;
            numbers.ok_or_else(|| bad(it, ErrorKind::UnsupportedDtype))
        });
        rows.mapping = mapping.transpose()?;
        let table_rows = table.values.shape().dims().first().copied().unwrap_or(0);
        rows.tokens = rows.mapping.as_ref().map_or(table_rows, |mapping| mapping.len() as u64);
        Ok(rows)
    }

    /// True if the tensor of this name is one in which tokens are looked up.
    fn is_looked_up(&self, name: &str) -> bool {
        self.naming.is_looked_up(name.strip_prefix(self.prefix).unwrap_or(name))
    }

    /// True for a static model, which has the weights of its pieces beside their vectors.
    const fn is_static(&self) -> bool {
        matches!(self.naming, Naming::Table)
    }

    /// The tensor with the rows that stay, if it is one of tokens: the table of pieces, and, as far
    /// as this model does not use it, whatever has as many rows, such as what guesses words.
    fn cut(&self, tensor: &Stored<'_>, numbering: &Numbering) -> Result<Option<Cut>> {
        let ids = numbering.kept();
        let dims = tensor.values.shape().dims();
        let has_tokens = dims.first() == Some(&self.tokens);
        let of_tokens = self.is_static()
            || self.is_looked_up(&tensor.name)
            || !self.used.contains(&tensor.name);
        let refused = |error: CoreError| bad(tensor, error.kind());
        match &self.mapping {
            Some(mapping) if tensor.name == MAPPING => {
                let rows = mapped(mapping, ids).map_err(refused)?;
                let place = |row: &u32| rows.binary_search(row).unwrap_or_default();
                let now = ids.iter().filter_map(|id| mapping.get(usize::try_from(*id).ok()?));
                let now = limit::collected(now.map(place)).map_err(refused)?;
                renumbered(tensor, &now).map(Some)
            }
            Some(mapping) if Naming::Table.is_looked_up(&tensor.name) => {
                let rows = mapped(mapping, ids).map_err(refused)?;
                cut(tensor, &rows).map(Some)
            }
            _ if has_tokens && of_tokens => cut(tensor, ids).map(Some),
            _ => Ok(None),
        }
    }
}

/// The rows that the tokens `ids` have, in their order.
fn mapped(mapping: &[u32], ids: &[u32]) -> Result<Vec<u32>, CoreError> {
    let row = |id: &u32| {
        let row = usize::try_from(*id).ok().and_then(|id| mapping.get(id));
        row.copied().ok_or(CoreError::without_offset(ErrorKind::WrongShape))
    };
    let mut rows = limit::gathered(ids.iter().map(row))?;
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// A tensor with the rows `kept` alone.
fn cut(tensor: &Stored<'_>, kept: &[u32]) -> Result<Cut> {
    let (dtype, data) = plain(tensor).ok_or_else(|| bad(tensor, ErrorKind::UnsupportedDtype))?;
    let dims = tensor.values.shape().dims();
    let (rows, inner) = dims.split_first().ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
    let row_bytes = usize::try_from(*rows).ok().and_then(|rows| data.len().checked_div(rows));
    let row_bytes = row_bytes.ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?;
    let bytes = limit::reserved(kept.len().saturating_mul(row_bytes));
    let mut bytes = bytes.map_err(|error| bad(tensor, error.kind()))?;
    for id in kept {
        let start = usize::try_from(*id).ok().and_then(|row| row.checked_mul(row_bytes));
        let row = start.and_then(|start| data.get(start..)?.get(..row_bytes));
        bytes.extend_from_slice(row.ok_or_else(|| bad(tensor, ErrorKind::WrongShape))?);
    }
    let shape = limit::collected([kept.len() as u64].iter().chain(inner).copied());
    let shape = Shape::new(&shape.map_err(|error| bad(tensor, error.kind()))?);
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
    let data = limit::collected(rows.iter().flat_map(bytes));
    Ok(Cut { shape, dtype, data: data.map_err(|error| bad(tensor, error.kind()))? })
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
