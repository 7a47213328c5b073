//! Heads that make sparse vectors: the memory that they take, and opening them there.

use super::EncoderNeeds;
use super::head_tensors::{Filling, LayerTensors, MISSING, Room};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::model::family::encoders::{FamilyModel, MaskedModel, Prefixed};
use crate::model::family::tensors::Tensor;
use crate::model::head::dense::DenseActivation;
use crate::model::head::sparse::SparseHead;
use crate::model::head::splade::SpladeSettings;
use crate::model::head::vocabulary::VocabularyHead;
use crate::model::run::Run;
use crate::model::weights::{Matrix, MatrixEncoding, Name, Weights};

/// A head that makes sparse vectors, as a model's files describe it.
#[derive(Clone, Copy, Debug)]
pub struct SparseSpec<'a> {
    /// The transformer.
    pub family: &'a FamilyModel,
    /// The head.
    pub kind: SparseKind<'a>,
}

/// The kind of a head that makes sparse vectors.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SparseKind<'a> {
    /// The head of a masked language model, and the pooling of its scores.
    Vocabulary(&'a MaskedModel, SpladeSettings),
    /// A linear layer of this name, without `.weight` or `.bias`, that gives each token of a text
    /// its weight.
    Tokens(&'a str),
}

/// The tensors of a head.
#[allow(clippy::large_enum_variant, reason = "there is one of it, and no heap")]
enum Tensors {
    Vocabulary(VocabularyTensors),
    Tokens(LayerTensors),
}

/// The tensors of a masked language model's head, and its settings.
struct VocabularyTensors {
    transform: LayerTensors,
    activation: DenseActivation,
    norm: LayerTensors,
    rows: Matrix,
    bias: Matrix,
    splade: SpladeSettings,
}

impl SparseSpec<'_> {
    /// The memory that [`open`](Self::open) takes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`] or [`ErrorKind::WrongShape`] if a tensor is not there or does
    /// not fit.
    pub fn needs(&self, weights: &dyn Weights) -> Result<EncoderNeeds> {
        let width = self.family.config.hidden;
        let mut room = Room::default();
        match self.find(weights)? {
            Tensors::Vocabulary(tensors) => {
                tensors.transform.add(width, &mut room)?;
                tensors.norm.add(width, &mut room)?;
            }
            Tensors::Tokens(layer) => layer.add(1, &mut room)?,
        }
        let tile = if weights.borrows() { 0 } else { room.tile };
        Ok(EncoderNeeds { layers: 0, head: 0, floats: room.floats, tile })
    }

    /// The head, whose weights are read into `floats`. `named` has the tensors by their names,
    /// `weights` their bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less memory than [`needs`](Self::needs) says; as
    /// [`needs`](Self::needs); any error of reading the weights.
    pub fn open(
        &self,
        named: &dyn Weights,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        floats: &mut [f32],
        tile: &mut [u8],
    ) -> Result<SparseHead> {
        let run = Run::new(weights, kernels);
        let mut filling = Filling::new(floats, tile);
        Ok(match self.find(named)? {
            Tensors::Vocabulary(tensors) => {
                let VocabularyTensors { transform, activation, norm, rows, bias, splade } = tensors;
                let transform = filling.linear(&run, &transform, activation)?;
                let norm = filling.norm(&run, &norm, self.family.config.epsilon)?;
                SparseHead::Vocabulary(VocabularyHead::new(transform, norm, rows, bias, splade))
            }
            Tensors::Tokens(layer) => {
                SparseHead::Tokens(filling.linear(&run, &layer, DenseActivation::Identity)?)
            }
        })
    }

    fn find(&self, named: &dyn Weights) -> Result<Tensors> {
        let width = self.family.config.hidden;
        let (masked, splade) = match self.kind {
            SparseKind::Vocabulary(masked, splade) => (masked, splade),
            SparseKind::Tokens(name) => {
                let layer = LayerTensors::linear(named, &Name::new(name), true, [width, 1])?;
                return Ok(Tensors::Tokens(layer));
            }
        };
        let layer = Name::new(masked.transform);
        let transform = LayerTensors::linear(named, &layer, true, [width; 2])?;
        let norm = LayerTensors::norm(named, &Name::new(masked.norm), true, width)?;
        let (rows, bias) = (self.find_rows(masked, named)?, self.find_bias(masked, named)?);
        let activation = masked.activation;
        Ok(Tensors::Vocabulary(VocabularyTensors {
            transform,
            activation,
            norm,
            rows,
            bias,
            splade,
        }))
    }

    /// The rows that scores are products with.
    fn find_rows(&self, masked: &MaskedModel, named: &dyn Weights) -> Result<Matrix> {
        let FamilyModel { config, names, .. } = self.family;
        let embeddings = names.name_of(Tensor::Embeddings).unwrap_or_default();
        let rows = match masked.is_tied {
            true => find(&Prefixed::new(named, names)?, embeddings, ".weight")?,
            false => find(named, masked.decoder, ".weight")?,
        };
        checked(rows, (config.vocabulary, config.hidden))
    }

    /// The biases of scores.
    fn find_bias(&self, masked: &MaskedModel, named: &dyn Weights) -> Result<Matrix> {
        let found = match find(named, masked.decoder, ".bias")? {
            Some(found) => Some(found),
            None => find(named, masked.bias, ".bias")?,
        };
        let bias = checked(found, (1, self.family.config.vocabulary))?;
        match bias.encoding {
            MatrixEncoding::F32 | MatrixEncoding::F16 | MatrixEncoding::BF16 => Ok(bias),
            _ => Err(Error::new(bias.offset, ErrorKind::UnsupportedDtype)),
        }
    }
}

fn find(weights: &dyn Weights, name: &str, kind: &str) -> Result<Option<Matrix>> {
    let mut whole = Name::new(name);
    whole.push(kind);
    weights.matrix(whole.as_str())
}

/// The matrix, if it is there and has this shape.
fn checked(found: Option<Matrix>, shape: (usize, usize)) -> Result<Matrix> {
    let found = found.ok_or(MISSING)?;
    match (found.rows, found.cols) == shape {
        true => Ok(found),
        false => Err(Error::new(found.offset, ErrorKind::WrongShape)),
    }
}
