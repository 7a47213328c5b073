//! The tensors of heads: linear layers and norms, found by their names and read into floats.

use crate::error::{Error, ErrorKind, Result};
use crate::model::head::classifier::NormPlace;
use crate::model::head::dense::{DenseActivation, DensePlace};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Name, Weights, check_presence_at};
use crate::tensor::{Dtype, TensorHeader};

pub(super) const MISSING: Error = Error::without_offset(ErrorKind::MissingTensor);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const TOO_LARGE: Error = Error::without_offset(ErrorKind::SizeOverflow);

/// A tensor of a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadTensor {
    rows: usize,
    cols: usize,
    offset: u64,
    stored: Stored,
}

/// How a tensor is stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    /// As models compute with it.
    Matrix(Matrix),
    /// As 64-bit floats.
    Doubles(TensorHeader<'static>),
}

impl HeadTensor {
    /// The tensor called `name` and then `kind`.
    pub(super) fn find(weights: &dyn Weights, name: &Name, kind: &str) -> Result<Option<Self>> {
        let mut whole = name.clone();
        whole.push(kind);
        let doubles = weights.header(whole.as_str()).filter(|it| it.dtype == Dtype::F64);
        if let Some(header) = doubles {
            let TensorHeader { offset, shape, .. } = header;
            let too_large = Error::new(offset, ErrorKind::SizeOverflow);
            let size = |size: Option<u64>| size.and_then(|size| usize::try_from(size).ok());
            let rows = size(Some(shape.rows())).ok_or(too_large)?;
            let cols = size(shape.cols()).ok_or(too_large)?;
            return Ok(Some(Self { rows, cols, offset, stored: Stored::Doubles(header) }));
        }
        Ok(weights.matrix(whole.as_str())?.map(|matrix| {
            let Matrix { rows, cols, offset, .. } = matrix;
            Self { rows, cols, offset, stored: Stored::Matrix(matrix) }
        }))
    }

    /// Rejects a tensor of another shape.
    pub(super) fn check(&self, shape: (usize, usize)) -> Result<()> {
        match (self.rows, self.cols) == shape {
            true => Ok(()),
            false => Err(Error::new(self.offset, ErrorKind::WrongShape)),
        }
    }

    /// Rejects a tensor without this row.
    pub(super) fn check_row(&self, row: u32) -> Result<()> {
        match usize::try_from(row).is_ok_and(|row| row < self.rows) {
            true => Ok(()),
            false => Err(Error::new(self.offset, ErrorKind::WrongShape)),
        }
    }

    /// Bytes of the stored tensor.
    fn bytes(&self) -> Result<usize> {
        let bytes = match &self.stored {
            Stored::Matrix(matrix) => matrix.bytes,
            Stored::Doubles(header) => header.bytes,
        };
        usize::try_from(bytes).map_err(|_| Error::new(self.offset, ErrorKind::SizeOverflow))
    }

    /// The end of the floats from `start` on that the difference of two rows takes: two rows, and a
    /// bias between them.
    fn difference_end(&self, start: usize) -> Result<usize> {
        let floats = self.cols.checked_mul(2).and_then(|it| it.checked_add(1));
        floats.and_then(|floats| floats.checked_add(start)).ok_or(TOO_LARGE)
    }

    /// Adds the memory that the difference of two rows takes.
    pub(super) fn add_difference(&self, room: &mut Room) -> Result<()> {
        room.floats = self.difference_end(room.floats)?;
        room.tile = room.tile.max(self.bytes()?.checked_div(self.rows).unwrap_or(0));
        Ok(())
    }

    /// Reads as many values as there are, from the row `first` on.
    fn read<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        first: usize,
        values: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        let header = match &self.stored {
            Stored::Matrix(matrix) => return run.read_converted(matrix, first, values, tile),
            Stored::Doubles(header) => header,
        };
        let before = first.checked_mul(self.cols).and_then(|it| it.checked_mul(8));
        let offset = before.and_then(|before| header.offset.checked_add(before as u64));
        let length = values.len().checked_mul(8).ok_or(TOO_LARGE)?;
        let bytes = run.weights.bytes(offset.ok_or(TOO_LARGE)?, length, tile)?;
        let (doubles, rest) = bytes.as_chunks();
        if !rest.is_empty() || doubles.len() != values.len() {
            return Err(Error::new(header.offset, ErrorKind::SizeMismatch));
        }
        #[allow(clippy::cast_possible_truncation)] // models compute in singles
        for (value, double) in values.iter_mut().zip(doubles) {
            *value = f64::from_le_bytes(*double) as f32;
        }
        Ok(())
    }
}

/// The weight and the bias of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerTensors {
    weight: HeadTensor,
    bias: Option<HeadTensor>,
}

/// Memory that weights take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    pub(super) floats: usize,
    /// Bytes of the largest stored tensor, where tensors are read into memory first.
    pub(super) tile: usize,
}

impl LayerTensors {
    /// The linear layer called `name`, with a bias or without.
    pub(super) fn linear(
        weights: &dyn Weights,
        name: &Name,
        has_bias: bool,
        [inputs, outputs]: [usize; 2],
    ) -> Result<Self> {
        Self::find(weights, name, has_bias, [(outputs, inputs), (1, outputs)])
    }

    /// The norm called `name` of vectors of so many elements, with a bias or without.
    pub(super) fn norm(
        weights: &dyn Weights,
        name: &Name,
        has_bias: bool,
        elements: usize,
    ) -> Result<Self> {
        Self::find(weights, name, has_bias, [(1, elements); 2])
    }

    /// The layer called `name`, with a bias or without, of a weight and a bias with these rows and
    /// columns. A tensor is checked before the next one is asked for: the last is the one at fault.
    fn find(
        weights: &dyn Weights,
        name: &Name,
        has_bias: bool,
        [weight_shape, bias_shape]: [(usize, usize); 2],
    ) -> Result<Self> {
        let weight = HeadTensor::find(weights, name, ".weight")?.ok_or(MISSING)?;
        weight.check(weight_shape)?;
        let bias = HeadTensor::find(weights, name, ".bias")?;
        let bias = check_presence_at(bias, has_bias, |tensor| tensor.offset)?;
        bias.map_or(Ok(()), |bias| bias.check(bias_shape))?;
        Ok(Self { weight, bias })
    }

    /// Adds the memory that a layer with so many biases takes.
    pub(super) fn add(&self, biases: usize, room: &mut Room) -> Result<()> {
        let HeadTensor { rows, cols, .. } = self.weight;
        let floats = rows.checked_mul(cols).and_then(|it| it.checked_add(biases));
        let sum = floats.and_then(|floats| floats.checked_add(room.floats));
        room.floats = sum.ok_or(TOO_LARGE)?;
        for tensor in [Some(&self.weight), self.bias.as_ref()].into_iter().flatten() {
            room.tile = room.tile.max(tensor.bytes()?);
        }
        Ok(())
    }
}

/// Memory that weights are read into.
#[derive(Debug)]
pub(super) struct Filling<'m> {
    floats: &'m mut [f32],
    used: usize,
    tile: &'m mut [u8],
}

impl<'m> Filling<'m> {
    pub(super) const fn new(floats: &'m mut [f32], tile: &'m mut [u8]) -> Self {
        Self { floats, used: 0, tile }
    }

    /// Reads a linear layer.
    pub(super) fn linear<W: Weights + ?Sized>(
        &mut self,
        run: &Run<'_, W>,
        layer: &LayerTensors,
        activation: DenseActivation,
    ) -> Result<DensePlace> {
        let HeadTensor { rows: outputs, cols: inputs, .. } = layer.weight;
        let start = self.layer(run, layer, outputs)?;
        Ok(DensePlace { start, inputs, outputs, activation })
    }

    /// Reads a linear layer with one row: the row `yes` of `rows`, less the row `no`.
    pub(super) fn difference<W: Weights + ?Sized>(
        &mut self,
        run: &Run<'_, W>,
        rows: &HeadTensor,
        yes: u32,
        no: Option<u32>,
    ) -> Result<DensePlace> {
        let inputs = rows.cols;
        let start = self.used;
        let end = rows.difference_end(start)?;
        let floats = self.floats.get_mut(start..end).ok_or(TOO_SMALL)?;
        self.used = end;
        floats.fill(0.0);
        let (sum, rest) = floats.split_at_mut_checked(inputs).ok_or(TOO_SMALL)?;
        let less = rest.get_mut(1..).ok_or(TOO_SMALL)?;
        let row = |id: u32| usize::try_from(id).map_err(|_| TOO_LARGE);
        rows.read(run, row(yes)?, sum, self.tile)?;
        if let Some(no) = no {
            rows.read(run, row(no)?, less, self.tile)?;
        }
        sum.iter_mut().zip(less).for_each(|(sum, less)| *sum -= *less);
        Ok(DensePlace { start, inputs, outputs: 1, activation: DenseActivation::Identity })
    }

    /// Reads a norm.
    pub(super) fn norm<W: Weights + ?Sized>(
        &mut self,
        run: &Run<'_, W>,
        layer: &LayerTensors,
        epsilon: f32,
    ) -> Result<NormPlace> {
        let elements = layer.weight.cols;
        let start = self.layer(run, layer, elements)?;
        Ok(NormPlace { start, elements, epsilon })
    }

    /// Reads a weight and then so many biases, zeros if the layer has none. Returns their place.
    fn layer<W: Weights + ?Sized>(
        &mut self,
        run: &Run<'_, W>,
        LayerTensors { weight, bias }: &LayerTensors,
        biases: usize,
    ) -> Result<usize> {
        let weights = weight.rows.checked_mul(weight.cols).ok_or(TOO_LARGE)?;
        let start = self.used;
        self.tensor(run, Some(weight), weights)?;
        self.tensor(run, bias.as_ref(), biases)?;
        Ok(start)
    }

    fn tensor<W: Weights + ?Sized>(
        &mut self,
        run: &Run<'_, W>,
        tensor: Option<&HeadTensor>,
        elements: usize,
    ) -> Result<()> {
        let end = self.used.checked_add(elements).ok_or(TOO_LARGE)?;
        let values = self.floats.get_mut(self.used..end).ok_or(TOO_SMALL)?;
        self.used = end;
        match tensor {
            Some(tensor) => tensor.read(run, 0, values, self.tile),
            None => {
                values.fill(0.0);
                Ok(())
            }
        }
    }
}
