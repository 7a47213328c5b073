//! 8-bit codes of `.weights` files, whose scales and zero points are separate tensors: `x = (code −
//! zero[row]) · scale[row][group] · column_scale[col]`.

use nanoembed_core::Error as CoreError;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::tensor::{Dtype, Shape, TensorView};

use super::Values;

/// A tensor of codes and its companions. Lengths fit the shape.
#[derive(Clone, Copy, Debug)]
pub struct Int8<'a> {
    pub(super) shape: Shape,
    signed: bool,
    codes: &'a [u8],
    /// f32, the same number for each row.
    scales: &'a [u8],
    /// One a row, or none.
    zeros: &'a [u8],
    /// f32, one a column, or none.
    columns: &'a [u8],
}

/// Suffixes of the companions' names after a tensor's name.
pub(super) const COMPANIONS: [&str; 3] = [".scale", ".zero_point", ".column_scale"];

impl<'a> Int8<'a> {
    /// The tensor with its companions, if it has a scale.
    pub(super) fn new(file: &Embd<'a>, codes: &TensorView<'a>) -> Option<Self> {
        let header = codes.header();
        let signed = match header.dtype {
            Dtype::I8 => true,
            Dtype::U8 => false,
            _ => return None,
        };
        let companion = |suffix: &str, dtype: Dtype| {
            let found = file.tensor(&format!("{}{suffix}", header.name))?;
            (found.header().dtype == dtype).then(|| found.data())
        };
        let [scale, zero, column] = COMPANIONS;
        let int8 = Self {
            shape: header.shape,
            signed,
            codes: codes.data(),
            scales: companion(scale, Dtype::F32)?,
            zeros: companion(zero, Dtype::U8).unwrap_or_default(),
            columns: companion(column, Dtype::F32).unwrap_or_default(),
        };
        let (rows, cols) = (header.shape.rows(), header.shape.cols()?);
        let per_row = (int8.scales.len() as u64 / 4).checked_div(rows).filter(|n| *n > 0)?;
        let fits = int8.scales.len() as u64 == per_row * rows * 4
            && cols.is_multiple_of(per_row)
            && (int8.zeros.is_empty() || int8.zeros.len() as u64 == rows)
            && (int8.columns.is_empty() || int8.columns.len() as u64 == cols * 4);
        fits.then_some(int8)
    }

    pub(super) const fn type_name(&self) -> &'static str {
        if self.signed { "int8" } else { "uint8" }
    }

    pub(super) const fn arrays(&self) -> [&'a [u8]; 4] {
        [self.codes, self.scales, self.zeros, self.columns]
    }

    pub(super) fn stored_bytes(&self) -> u64 {
        self.arrays().iter().map(|array| array.len() as u64).sum()
    }

    pub(super) fn read(&self, first: usize, out: &mut [f32]) -> Option<()> {
        let cols = usize::try_from(self.shape.cols()?).ok()?;
        let rows = usize::try_from(self.shape.rows()).ok()?;
        let scales = self.scales.as_chunks::<4>().0;
        let columns = self.columns.as_chunks::<4>().0;
        let width = cols.checked_div(scales.len().checked_div(rows)?)?;
        let codes = self.codes.get(first..)?.get(..out.len())?;
        for ((place, code), value) in (first..).zip(codes).zip(out) {
            let (row, col) = (place.checked_div(cols)?, place % cols);
            let zero = self.zeros.get(row).copied().map_or(0.0, f32::from);
            let code = if self.signed { f32::from(code.cast_signed()) } else { f32::from(*code) };
            // All scales of a row stand together, and rows are whole groups.
            let scale = f32::from_le_bytes(*scales.get(place.checked_div(width)?)?);
            let column = columns.get(col).map_or(1.0, |bytes| f32::from_le_bytes(*bytes));
            *value = (code - zero) * scale * column;
        }
        Some(())
    }
}

/// The tensors of a `.weights` file; companions are not listed by themselves.
pub(super) fn tensors<'a>(
    file: &Embd<'a>,
) -> impl Iterator<Item = Result<(TensorView<'a>, Values<'a>), CoreError>> {
    let file = *file;
    file.tensors().filter_map(move |view| {
        let name = view.header().name;
        let owner = COMPANIONS.iter().find_map(|suffix| name.strip_suffix(suffix));
        if owner.and_then(|owner| file.tensor(owner)).is_some() {
            return None;
        }
        Some(match Int8::new(&file, &view) {
            Some(int8) => Ok((view, Values::Int8(int8))),
            None => Values::plain(&view).map(|values| (view, values)),
        })
    })
}
