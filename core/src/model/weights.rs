//! The source of a model's tensors: any format, any storage.
//!
//! A format is a source of tensors, nothing more. [`Weights`] locates a tensor, tells how its
//! elements are stored ([`Matrix`]), and provides its bytes: borrowed if the file is in memory,
//! mapped or in flash; otherwise read into the caller's tile. The model requests only whole rows,
//! and never a whole matrix.

use crate::error::{Error, ErrorKind, Result};
use crate::quant;
use crate::tensor::{Dtype, ScaledCodes, TensorHeader};

/// The encoding of the elements of a [`Matrix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatrixEncoding {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an IEEE 754 single.
    BF16,
    /// Signed 8-bit codes, with one f32 scale per row, or one for each of several equal groups of
    /// columns, and optionally one per column: `x = code · scale[row][group] · column_scale[col]`.
    I8,
    /// Unsigned 8-bit codes, with one f32 scale and one u8 zero point per row: `x = (code −
    /// zero[row]) · scale[row]`.
    U8,
    /// AMB's scaled codes, in blocks over the flattened matrix.
    Scaled(ScaledCodes),
    /// Blocks of several elements of a row, ggml's for example.
    Block(Dtype),
    /// Floats of several matrices, one after the other, each stored column by column.
    Transposed(TransposedFloats),
    /// Values that only the source can provide: see [`Weights::values`]. The number is chosen by
    /// the source.
    Values(u32),
}

impl MatrixEncoding {
    /// Bytes of a row of `cols` elements; `None` if such a row is not possible, or does not start
    /// at a byte.
    #[must_use]
    pub fn row_bytes(self, cols: usize) -> Option<usize> {
        match self {
            Self::F32 => cols.checked_mul(4),
            Self::F16 | Self::BF16 => cols.checked_mul(2),
            Self::I8 | Self::U8 => Some(cols),
            Self::Block(dtype) => {
                let blocks = cols.checked_div(dtype.block_elements())?;
                let whole = cols.is_multiple_of(dtype.block_elements());
                blocks.checked_mul(dtype.block_bytes()).filter(|_| whole)
            }
            Self::Scaled(_) | Self::Transposed(_) | Self::Values(_) => None,
        }
    }
}

/// Floats of several matrices of the same shape, stored as their transposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransposedFloats {
    number: FloatNumber,
    /// Rows of each matrix, which are the columns of what is stored.
    pub(in crate::model) rows: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FloatNumber {
    F32,
    F16,
    BF16,
}

impl TransposedFloats {
    /// The encoding of one number.
    pub(in crate::model) const fn number(self) -> MatrixEncoding {
        match self.number {
            FloatNumber::F32 => MatrixEncoding::F32,
            FloatNumber::F16 => MatrixEncoding::F16,
            FloatNumber::BF16 => MatrixEncoding::BF16,
        }
    }
}

/// The location and encoding of a tensor. A vector is a matrix of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The encoding of the elements.
    pub encoding: MatrixEncoding,
    /// Number of rows: outputs of a linear layer, entries of a table.
    pub rows: usize,
    /// Number of elements in a row: inputs of a linear layer.
    pub cols: usize,
    /// The offset of the first row from the start of the source.
    pub offset: u64,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// The offset of the f32 scales of the rows, for encodings that have them; else 0.
    pub scale_offset: u64,
    /// The number of equal groups of columns in a row, each with its own scale; 1 without scales.
    pub groups: usize,
    /// The offset of the f32 scales of the columns, if there are any.
    pub column_offset: Option<u64>,
    /// The offset of the zero points of the rows, for encodings that have them; else 0.
    pub zero_offset: u64,
}

impl Matrix {
    /// A placeholder without elements.
    pub const EMPTY: Self = Self {
        encoding: MatrixEncoding::F32,
        rows: 0,
        cols: 0,
        offset: 0,
        bytes: 0,
        scale_offset: 0,
        groups: 1,
        column_offset: None,
        zero_offset: 0,
    };

    /// Finds the matrix called `name` in a file whose tensors `find` returns by name: float types,
    /// blocks, or INT8/UINT8 with companions.
    ///
    /// | companion | for | |
    /// |---|---|---|
    /// | `NAME.scale` | INT8, UINT8 | F32 `[rows]`, or `[rows, groups]` where groups divide the columns |
    /// | `NAME.column_scale` | INT8, optional | F32 `[cols]` |
    /// | `NAME.zero_point` | UINT8 | U8 `[rows]` |
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadScale`] if a companion is missing or has another shape,
    /// [`ErrorKind::UnsupportedDtype`], [`ErrorKind::SizeMismatch`] if the bytes do not match the
    /// shape; at the offset of the tensor.
    pub fn find<'h>(
        name: &str,
        find: impl Fn(&str) -> Option<TensorHeader<'h>>,
    ) -> Result<Option<Self>> {
        let Some(header) = find(name) else { return Ok(None) };
        let error = |kind| Error::new(header.offset, kind);
        let size = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok());
        let encoding = match header.dtype {
            Dtype::F32 => MatrixEncoding::F32,
            Dtype::F16 => MatrixEncoding::F16,
            Dtype::BF16 => MatrixEncoding::BF16,
            Dtype::I8 => MatrixEncoding::I8,
            Dtype::U8 => MatrixEncoding::U8,
            dtype if !quant::supports(dtype) => return Err(error(ErrorKind::UnsupportedDtype)),
            // Checked before the other blocks, which start at rows.
            Dtype::Scaled(codes) => MatrixEncoding::Scaled(codes),
            dtype if dtype.is_block() => MatrixEncoding::Block(dtype),
            _ => return Err(error(ErrorKind::UnsupportedDtype)),
        };
        let rows = size(Some(header.shape.rows())).ok_or(error(ErrorKind::SizeOverflow))?;
        let cols = size(header.shape.cols()).ok_or(error(ErrorKind::SizeOverflow))?;
        let fits = match (encoding, rows.checked_mul(cols)) {
            (MatrixEncoding::Scaled(codes), Some(elements)) => {
                codes.full_blocks(elements as u64, header.bytes).is_some()
            }
            _ => {
                let bytes = encoding.row_bytes(cols).and_then(|bytes| bytes.checked_mul(rows));
                bytes.map(|bytes| bytes as u64) == Some(header.bytes)
            }
        };
        if !fits {
            return Err(error(ErrorKind::SizeMismatch));
        }
        let TensorHeader { offset, bytes, .. } = header;
        let mut matrix = Self { encoding, rows, cols, offset, bytes, ..Self::EMPTY };
        let companion = |suffix: &str| {
            let mut name = Name::new(name);
            name.push(suffix);
            find(name.as_str())
        };
        // Offset and number of elements of a companion of the right type.
        let elements = |companion: TensorHeader<'_>, dtype: Dtype| {
            let elements = companion.shape.elements()?;
            let bytes = dtype.data_bytes(elements)?;
            let fits = companion.dtype == dtype && companion.bytes == bytes;
            fits.then_some((companion.offset, usize::try_from(elements).ok()?))
        };
        let bad_scale = error(ErrorKind::BadScale);
        if matches!(encoding, MatrixEncoding::I8 | MatrixEncoding::U8) {
            let scale = companion(".scale").and_then(|scale| elements(scale, Dtype::F32));
            let (offset, count) = scale.ok_or(bad_scale)?;
            let groups = count.checked_div(rows).unwrap_or(0);
            let whole = groups.checked_mul(rows) == Some(count);
            if !whole || cols.checked_rem(groups) != Some(0) {
                return Err(bad_scale);
            }
            (matrix.scale_offset, matrix.groups) = (offset, groups);
        }
        if encoding == MatrixEncoding::I8
            && let Some(columns) = companion(".column_scale")
        {
            let columns = elements(columns, Dtype::F32).filter(|(_, count)| *count == cols);
            matrix.column_offset = Some(columns.ok_or(bad_scale)?.0);
        }
        if encoding == MatrixEncoding::U8 {
            let zero = companion(".zero_point").and_then(|zero| elements(zero, Dtype::U8));
            let zero = zero.filter(|(_, count)| *count == rows && matrix.groups == 1);
            matrix.zero_offset = zero.ok_or(bad_scale)?.0;
        }
        Ok(Some(matrix))
    }

    /// The rows of `count` matrices of `rows` rows of `cols` elements, stored one after the other:
    /// in two dimensions, or in three.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WrongShape`] at the offset of the tensor.
    pub(in crate::model) fn stacked(
        self,
        count: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Self> {
        let wrong = Error::new(self.offset, ErrorKind::WrongShape);
        let all = count.checked_mul(rows).ok_or(wrong)?;
        if (self.rows, self.cols) == (all, cols) {
            return Ok(self);
        }
        let is_cube = self.rows == count && Some(self.cols) == rows.checked_mul(cols);
        let has_scales = matches!(self.encoding, MatrixEncoding::I8 | MatrixEncoding::U8);
        let bytes = self.encoding.row_bytes(cols).and_then(|bytes| bytes.checked_mul(all));
        let fits = bytes.map(|bytes| bytes as u64) == Some(self.bytes);
        if is_cube && fits && !has_scales {
            return Ok(Self { rows: all, cols, ..self });
        }
        Err(wrong)
    }

    /// `count` matrices of `rows` rows of `cols` elements whose transposes are stored one after the
    /// other.
    ///
    /// # Errors
    ///
    /// As [`stacked`](Self::stacked); [`ErrorKind::UnsupportedDtype`] if they are not floats.
    pub(in crate::model) fn transposed(
        self,
        count: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Self> {
        let stored = self.stacked(count, (cols, rows))?;
        let unsupported = Error::new(self.offset, ErrorKind::UnsupportedDtype);
        let number = match stored.encoding {
            MatrixEncoding::F32 => FloatNumber::F32,
            MatrixEncoding::F16 => FloatNumber::F16,
            MatrixEncoding::BF16 => FloatNumber::BF16,
            _ => return Err(unsupported),
        };
        let wrong = Error::new(self.offset, ErrorKind::WrongShape);
        let all = count.checked_mul(rows).ok_or(wrong)?;
        let rows = u32::try_from(rows).ok().ok_or(wrong)?;
        let encoding = MatrixEncoding::Transposed(TransposedFloats { number, rows });
        Ok(Self { encoding, rows: all, cols, ..stored })
    }

    /// Bytes of one row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.encoding.row_bytes(self.cols).unwrap_or(usize::MAX)
    }
}

/// Checks the presence of a tensor against the model's settings.
///
/// # Errors
///
/// [`ErrorKind::MissingTensor`] and, at its offset, [`ErrorKind::UnsupportedSetting`].
pub(crate) fn check_presence(found: Option<Matrix>, is_expected: bool) -> Result<Option<Matrix>> {
    check_presence_at(found, is_expected, |matrix| matrix.offset)
}

/// As [`check_presence`], for any description of a tensor that has an `offset`.
pub(crate) fn check_presence_at<T>(
    found: Option<T>,
    is_expected: bool,
    offset: impl FnOnce(&T) -> u64,
) -> Result<Option<T>> {
    match (found, is_expected) {
        (None, true) => Err(Error::without_offset(ErrorKind::MissingTensor)),
        (Some(tensor), false) => Err(Error::new(offset(&tensor), ErrorKind::UnsupportedSetting)),
        (found, _) => Ok(found),
    }
}

/// A source of tensors.
pub trait Weights {
    /// Locates the tensor called `name`; `None` if there is no such tensor.
    ///
    /// # Errors
    ///
    /// If the tensor exists but cannot be used, or reading the index failed.
    fn matrix(&self, name: &str) -> Result<Option<Matrix>>;

    /// The header of the tensor called `name`, without the name, from sources that have it: for
    /// tensors that are not matrices.
    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        let _ = name;
        None
    }

    /// The `length` bytes at `offset`: borrowed from the source, or read to the front of `tile`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfBounds`] beyond the end, [`ErrorKind::BufferTooSmall`] if `tile` is needed
    /// and too short, [`ErrorKind::ReadFailed`].
    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]>;

    /// Returns true if [`bytes`](Self::bytes) borrows, so that no tile is needed.
    fn borrows(&self) -> bool;

    /// Dequantises `out.len()` elements from `first` on, in row-major order, of the matrix whose
    /// encoding is [`MatrixEncoding::Values`] with this `number`: for quantisations whose rows are not
    /// contiguous.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDtype`] from sources that have none; otherwise any error of
    /// dequantisation.
    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<()> {
        let _ = (number, first, out);
        Err(Error::without_offset(ErrorKind::UnsupportedDtype))
    }
}

impl<W: Weights + ?Sized> Weights for &W {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        (**self).matrix(name)
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        (**self).header(name)
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        (**self).bytes(offset, length, tile)
    }

    fn borrows(&self) -> bool {
        (**self).borrows()
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<()> {
        (**self).values(number, first, out)
    }
}

/// Weights in a file in memory: read, mapped, or in flash.
#[derive(Clone, Copy, Debug)]
pub struct SliceWeights<'a, F> {
    file: &'a [u8],
    find: F,
}

impl<'a, 'h, F: Fn(&str) -> Option<TensorHeader<'h>>> SliceWeights<'a, F> {
    /// Weights in `file`, whose tensors `find` returns by name; their offsets count from the start
    /// of `file`.
    pub const fn new(file: &'a [u8], find: F) -> Self {
        Self { file, find }
    }
}

impl<'h, F: Fn(&str) -> Option<TensorHeader<'h>>> Weights for SliceWeights<'_, F> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        Matrix::find(name, &self.find)
    }

    fn header(&self, name: &str) -> Option<TensorHeader<'static>> {
        let TensorHeader { dtype, shape, offset, bytes, .. } = (self.find)(name)?;
        Some(TensorHeader { name: "", dtype, shape, offset, bytes })
    }

    fn bytes<'t>(&'t self, offset: u64, length: usize, _: &'t mut [u8]) -> Result<&'t [u8]> {
        usize::try_from(offset)
            .ok()
            .and_then(|start| self.file.get(start..start.checked_add(length)?))
            .ok_or(Error::new(offset, ErrorKind::OutOfBounds))
    }

    fn borrows(&self) -> bool {
        true
    }
}

/// The longest tensor name that can be assembled, companions' suffixes included.
const MAX_NAME_BYTES: usize = 128;

/// A buffer to assemble a tensor's name; a name that does not fit is cut, so that it is not found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Name(heapless::String<MAX_NAME_BYTES>);

impl Name {
    pub(crate) fn new(start: &str) -> Self {
        let mut name = Self::default();
        name.push(start);
        name
    }

    pub(crate) fn push(&mut self, text: &str) {
        if self.0.push_str(text).is_err() {
            self.0.clear();
        }
    }

    pub(crate) fn push_number(&mut self, mut number: usize) {
        let mut digits = [b'0'; 20];
        let mut length = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
            length += 1;
            if number == 0 {
                break;
            }
        }
        let digits = digits.get(digits.len() - length..).unwrap_or_default();
        self.push(core::str::from_utf8(digits).unwrap_or_default());
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Shape;

    fn header(
        name: &'static str,
        dtype: Dtype,
        dims: &[u64],
        offset: u64,
    ) -> TensorHeader<'static> {
        let shape = Shape::new(dims).unwrap();
        let bytes = dtype.data_bytes(shape.elements().unwrap()).unwrap();
        TensorHeader { name, dtype, shape, offset, bytes }
    }

    fn find_in(headers: &[TensorHeader<'static>], name: &str) -> Result<Option<Matrix>> {
        Matrix::find(name, |name| headers.iter().find(|h| h.name == name).copied())
    }

    #[test]
    fn int8_needs_a_scale_for_every_row() {
        let weight = header("w", Dtype::I8, &[3, 5], 64);
        assert_eq!(find_in(&[weight], "w").unwrap_err(), Error::new(64, ErrorKind::BadScale));
        let short = header("w.scale", Dtype::F32, &[2], 128);
        assert_eq!(find_in(&[weight, short], "w").unwrap_err().kind(), ErrorKind::BadScale);
        let scale = header("w.scale", Dtype::F32, &[3], 128);
        let matrix = find_in(&[weight, scale], "w").unwrap().unwrap();
        assert_eq!((matrix.encoding, matrix.rows, matrix.cols), (MatrixEncoding::I8, 3, 5));
        assert_eq!((matrix.offset, matrix.scale_offset, matrix.groups), (64, 128, 1));
    }

    #[test]
    fn int8_may_have_scales_for_groups_of_columns() {
        let weight = header("w", Dtype::I8, &[3, 6], 64);
        let scale = header("w.scale", Dtype::F32, &[3, 2], 128);
        assert_eq!(find_in(&[weight, scale], "w").unwrap().unwrap().groups, 2);
        let uneven = header("w.scale", Dtype::F32, &[3, 4], 128);
        assert_eq!(find_in(&[weight, uneven], "w").unwrap_err().kind(), ErrorKind::BadScale);
        let columns = header("w.column_scale", Dtype::F32, &[6], 256);
        let matrix = find_in(&[weight, scale, columns], "w").unwrap().unwrap();
        assert_eq!(matrix.column_offset, Some(256));
        let short = header("w.column_scale", Dtype::F32, &[3], 256);
        let error = find_in(&[weight, scale, short], "w").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadScale);
    }

    #[test]
    fn uint8_needs_zero_points_too() {
        let weight = header("w", Dtype::U8, &[3, 5], 64);
        let scale = header("w.scale", Dtype::F32, &[3], 128);
        assert_eq!(find_in(&[weight, scale], "w").unwrap_err().kind(), ErrorKind::BadScale);
        let zero = header("w.zero_point", Dtype::U8, &[3], 192);
        assert_eq!(find_in(&[weight, scale, zero], "w").unwrap().unwrap().zero_offset, 192);
    }

    #[test]
    fn a_missing_tensor_is_not_an_error() {
        assert_eq!(find_in(&[], "w"), Ok(None));
    }

    #[test]
    fn integers_that_are_not_codes_are_refused() {
        let ids = header("ids", Dtype::U32, &[4], 0);
        assert_eq!(find_in(&[ids], "ids").unwrap_err().kind(), ErrorKind::UnsupportedDtype);
    }

    #[test]
    fn blocks_that_were_left_out_are_refused_where_they_lie() {
        let found = find_in(&[header("w", Dtype::Q4_0, &[2, 32], 96)], "w");
        if cfg!(feature = "blocks-ggml") {
            assert_eq!(found.unwrap().unwrap().encoding, MatrixEncoding::Block(Dtype::Q4_0));
        } else {
            assert_eq!(found, Err(Error::new(96, ErrorKind::UnsupportedDtype)));
        }
    }

    #[test]
    fn bytes_beyond_the_file_are_out_of_bounds() {
        let weights = SliceWeights::new(&[1, 2, 3], |_| None::<TensorHeader<'static>>);
        assert_eq!(weights.bytes(1, 2, &mut []), Ok(&[2, 3][..]));
        for (offset, length) in [(1, 3), (4, 0), (u64::MAX, 1), (3, usize::MAX)] {
            let error = weights.bytes(offset, length, &mut []).unwrap_err();
            assert_eq!(error, Error::new(offset, ErrorKind::OutOfBounds));
        }
    }

    #[test]
    fn names_are_put_together_with_numbers() {
        let mut name = Name::new("layer.");
        name.push_number(0);
        name.push(".");
        name.push_number(1207);
        assert_eq!(name.as_str(), "layer.0.1207");
    }
}
