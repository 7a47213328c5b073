//! Values to the arrays of a type, with all threads.

use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::quant::{afq, f8q8, fp8, hqq, mxfp4, quantize};
use nanoembed_core::tensor::{Afq, Dtype, Encoding, Floats, Hqq, MXFP4_GROUP, Shape, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::types::{HQQ_GROUP, QuantType, Scheme};
use crate::error::{Error, Result};
use crate::files::spool::{Place, Spool};
use crate::parallel;

/// A quantised weight: its arrays in the order of its form, and the parameters that belong to them.
#[derive(Clone, Debug)]
pub(super) struct Arrays {
    form: Form,
    arrays: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// Elements or blocks.
    Plain(Dtype),
    /// Codes, scales, zeros.
    Hqq { bits: u8 },
    /// Bytes.
    Fp8 { scale: f32 },
    /// Codes, scales, biases.
    Afq { bits: u8, group_size: u8, dtype: Dtype },
    /// Blocks.
    F8q8,
    /// Codes, scales.
    Mxfp4,
}

/// A quantised weight whose arrays are in a spool.
#[derive(Clone, Debug)]
pub struct Encoded {
    shape: Shape,
    form: Form,
    places: Vec<Place>,
}

impl Encoded {
    /// The weight, its arrays being in `spooled`.
    pub fn weight<'a>(&self, spooled: &'a [u8]) -> Result<Weight<'a>> {
        let arrays: Vec<&[u8]> = self
            .places
            .iter()
            .map(|place| spooled.get(place.clone()).unwrap_or_default())
            .collect();
        weight(self.shape, self.form, &arrays)
    }

    pub fn bytes(&self) -> u64 {
        self.places.iter().map(|place| place.len() as u64).sum()
    }
}

fn weight<'a>(shape: Shape, form: Form, arrays: &[&'a [u8]]) -> Result<Weight<'a>> {
    let array = |index: usize| arrays.get(index).copied().unwrap_or_default();
    let encoding = match form {
        Form::Plain(dtype) => Encoding::Plain { dtype, data: array(0) },
        Form::Fp8 { scale } => Encoding::Fp8 { data: array(0), scale },
        Form::F8q8 => Encoding::F8q8 { blocks: array(0) },
        Form::Mxfp4 => Encoding::Mxfp4 { codes: array(0), scales: array(1) },
        Form::Hqq { bits } => Encoding::Hqq(Hqq {
            bits,
            group_size: u32::try_from(HQQ_GROUP).unwrap_or(0),
            axis: 0,
            channel_wise: true,
            codes: array(0),
            scales: Floats { dtype: Dtype::F32, data: array(1) },
            zeros: Floats { dtype: Dtype::F32, data: array(2) },
        }),
        Form::Afq { bits, group_size, dtype } => Encoding::Afq(Afq {
            bits,
            group_size,
            codes: array(0),
            scales: Floats { dtype, data: array(1) },
            biases: Floats { dtype, data: array(2) },
        }),
    };
    Weight::new(shape, encoding).map_err(|kind| Error::input(kind, kind.message()))
}

/// The differences between dequantised and original values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss {
    /// Sum of squared differences, and of squared values.
    pub error: f64,
    pub power: f64,
}

impl Loss {
    /// The squared error as a share of the squared values.
    pub fn nmse(&self) -> f64 {
        if self.power > 0.0 { self.error / self.power } else { self.error }
    }
}

/// Quantises `values` of `shape`, which [suits](QuantType::suits) the type, into `spool`.
pub fn encode(
    values: &[f32],
    shape: Shape,
    to: QuantType,
    spool: &mut Spool,
) -> Result<(Encoded, Loss)> {
    let arrays =
        arrays(values, &shape, to).map_err(|error| Error::input(error.kind(), error.message()))?;
    let failed = |error: CoreError| Error::input(error.kind(), error.message());
    let borrowed = limit::exactly(arrays.arrays.iter().map(Vec::as_slice)).map_err(failed)?;
    let loss = loss(values, &weight(shape, arrays.form, &borrowed)?)?;
    // The sums are made anyway; codes have no word for what is not a number.
    if !loss.power.is_finite() || !loss.error.is_finite() {
        let message = "some of its elements are not finite: it is damaged";
        return Err(Error::input(ErrorKind::NotFinite, message));
    }
    let mut places = Vec::new();
    for array in borrowed {
        limit::push(&mut places, spool.push(array)?).map_err(failed)?;
    }
    Ok((Encoded { shape, form: arrays.form, places }, loss))
}

fn arrays(values: &[f32], shape: &Shape, to: QuantType) -> std::result::Result<Arrays, CoreError> {
    let row = shape.dims().last().copied().and_then(|row| usize::try_from(row).ok()).unwrap_or(1);
    let (form, arrays) = match to.scheme() {
        Scheme::Plain(dtype) => (Form::Plain(dtype), vec![plain(values, dtype)?]),
        Scheme::Afq { bits } => return affine(values, row, bits),
        Scheme::Hqq { bits } => return half_quadratic(values, bits),
        Scheme::Fp8 => {
            let mut data = limit::filled(values.len(), 0)?;
            let scale = fp8::quantize(values, &mut data).ok_or(REFUSED)?;
            (Form::Fp8 { scale }, vec![data])
        }
        Scheme::F8q8 => {
            let bytes = values.len().div_ceil(f8q8::BLOCK_ELEMENTS) * f8q8::BLOCK_BYTES;
            let mut blocks = limit::filled(bytes, 0)?;
            let pieces = blocks.chunks_mut(PIECE_BLOCKS * f8q8::BLOCK_BYTES);
            let pieces = pieces.zip(values.chunks(PIECE_BLOCKS * f8q8::BLOCK_ELEMENTS));
            parallel::try_each(pieces, &|(blocks, values)| {
                f8q8::quantize(values, blocks).ok_or(REFUSED)
            })?;
            (Form::F8q8, vec![blocks])
        }
        Scheme::Mxfp4 => {
            let group = usize::try_from(MXFP4_GROUP).unwrap_or(32);
            let mut codes = limit::filled(values.len() / 2, 0)?;
            let mut scales = limit::filled(values.len() / group, 0)?;
            let pieces = codes
                .chunks_mut(PIECE_BLOCKS * group / 2)
                .zip(scales.chunks_mut(PIECE_BLOCKS))
                .zip(values.chunks(PIECE_BLOCKS * group));
            parallel::try_each(pieces, &|((codes, scales), values)| {
                mxfp4::quantize(values, codes, scales).ok_or(REFUSED)
            })?;
            (Form::Mxfp4, vec![codes, scales])
        }
    };
    Ok(Arrays { form, arrays })
}

/// The error for values that do not suit a type.
const REFUSED: CoreError = CoreError::without_offset(ErrorKind::InvalidArgument);

/// Blocks or groups that a thread takes at once.
const PIECE_BLOCKS: usize = 1024;

fn plain(values: &[f32], dtype: Dtype) -> std::result::Result<Vec<u8>, CoreError> {
    let blocks = values.len() / dtype.block_elements();
    let mut data = limit::filled(blocks * dtype.block_bytes(), 0)?;
    let pieces = data
        .chunks_mut(PIECE_BLOCKS * dtype.block_bytes())
        .zip(values.chunks(PIECE_BLOCKS * dtype.block_elements()));
    parallel::try_each(pieces, &|(data, values)| quantize(dtype, values, data))?;
    Ok(data)
}

/// Groups of 64 where rows allow it, else of 32; scales are halves unless the values are too large
/// for them.
fn affine(values: &[f32], row: usize, bits: u8) -> std::result::Result<Arrays, CoreError> {
    let group_size: u8 = if row.is_multiple_of(64) { 64 } else { 32 };
    let group = usize::from(group_size);
    let largest = values.iter().fold(0.0, |largest, x| f32::max(largest, x.abs()));
    let dtype = if largest < 30_000.0 { Dtype::F16 } else { Dtype::F32 };
    let float = dtype.block_bytes();
    let groups = values.len() / group;
    let code_bytes = group * usize::from(bits) / 8;
    let mut codes = limit::filled(groups * code_bytes, 0)?;
    let mut scales = limit::filled(groups * float, 0)?;
    let mut biases = limit::filled(groups * float, 0)?;
    let floats =
        scales.chunks_mut(PIECE_BLOCKS * float).zip(biases.chunks_mut(PIECE_BLOCKS * float));
    let pieces = codes
        .chunks_mut(PIECE_BLOCKS * code_bytes)
        .zip(floats)
        .zip(values.chunks(PIECE_BLOCKS * group));
    parallel::try_each(pieces, &|((codes, (scales, biases)), values)| {
        afq::quantize(values, bits, group_size, dtype, codes, scales, biases).ok_or(REFUSED)
    })?;
    let form = Form::Afq { bits, group_size, dtype };
    Ok(Arrays { form, arrays: vec![codes, scales, biases] })
}

/// Codes, scales and zeros of some columns.
type Columns = (Vec<u8>, Vec<f32>, Vec<f32>);

/// Groups are columns of the matrix `[64, elements / 64]`, each for itself: a thread gathers some
/// of them side by side.
fn half_quadratic(values: &[f32], bits: u8) -> std::result::Result<Arrays, CoreError> {
    const COLUMNS: usize = 256;
    let group = usize::try_from(HQQ_GROUP).map_err(|_| REFUSED)?;
    let groups = values.len() / group;
    let packed_rows = group * usize::from(bits) / 8;
    let part = |start| {
        let width = COLUMNS.min(groups - start);
        let mut gathered = limit::reserved(group * width)?;
        for row in values.chunks_exact(groups) {
            gathered.extend_from_slice(row.get(start..start + width).unwrap_or_default());
        }
        let mut codes = limit::filled(packed_rows * width, 0)?;
        let (mut scales, mut zeros) = (limit::filled(width, 0.0)?, limit::filled(width, 0.0)?);
        let mut out = hqq::HqqOutput { codes: &mut codes, scales: &mut scales, zeros: &mut zeros };
        hqq::quantize(&gathered, bits, group, &mut out).ok_or(REFUSED)?;
        Ok((codes, scales, zeros))
    };
    let parts: Vec<Columns> =
        parallel::gathered(0..groups.div_ceil(COLUMNS), &|at| part(at * COLUMNS))?;
    let mut codes = limit::reserved(packed_rows * groups)?;
    for row in 0..packed_rows {
        for (part, scales, _) in &parts {
            let width = scales.len();
            codes.extend_from_slice(part.get(row * width..(row + 1) * width).ok_or(REFUSED)?);
        }
    }
    let floats = |pick: fn(&Columns) -> &Vec<f32>| {
        let mut bytes = limit::reserved(groups * size_of::<f32>())?;
        bytes.extend(parts.iter().flat_map(pick).flat_map(|x| x.to_le_bytes()));
        Ok::<_, CoreError>(bytes)
    };
    let (scales, zeros) = (floats(|part| &part.1)?, floats(|part| &part.2)?);
    Ok(Arrays { form: Form::Hqq { bits }, arrays: vec![codes, scales, zeros] })
}

/// The difference between `weight` and `values`.
fn loss(values: &[f32], weight: &Weight<'_>) -> Result<Loss> {
    const PIECE: usize = 1 << 16;
    let losses = parallel::gathered(values.chunks(PIECE).enumerate(), &|(index, values)| {
        let mut back = limit::filled(values.len(), 0.0)?;
        Dequantizer::detect().dequantize_weight(weight, index * PIECE, &mut back)?;
        let error: f64 =
            values.iter().zip(&back).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum();
        let power: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
        Ok(Loss { error, power })
    });
    let losses = losses.map_err(|error| Error::input(error.kind(), error.message()))?;
    Ok(losses
        .iter()
        .fold(Loss::default(), |a, b| Loss { error: a.error + b.error, power: a.power + b.power }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;

    /// More groups of HQQ than a thread takes at once.
    fn values() -> (Vec<f32>, Shape) {
        let values = (0..80 * 512).map(|i| (f64::from(i) * 0.37).sin() as f32 * 0.1);
        (values.collect(), Shape::new(&[80, 512]).unwrap())
    }

    #[test]
    fn every_type_comes_back_within_what_its_bits_allow() {
        let (values, shape) = values();
        for &to in QuantType::ALL {
            // Bits that are right; those of blocks follow from their size, which has the scales.
            let bits: i32 = match to.scheme() {
                Scheme::Plain(Dtype::F32) => 23,
                Scheme::Plain(Dtype::F16 | Dtype::BF16) => 8,
                Scheme::Plain(dtype) => {
                    (dtype.block_bytes() * 8 / dtype.block_elements()) as i32 - 1
                }
                Scheme::Hqq { bits: 8 } | Scheme::Afq { bits: 8 } => 8,
                Scheme::F8q8 => 7,
                Scheme::Hqq { bits } | Scheme::Afq { bits } => i32::from(bits) - 1,
                Scheme::Fp8 => 3,
                Scheme::Mxfp4 => 2,
            };
            let mut spool = Spool::new().unwrap();
            let (encoded, loss) = encode(&values, shape, to, &mut spool).unwrap();
            let spooled = spool.finish().unwrap();
            let weight = encoded.weight(&spooled).unwrap();
            assert_eq!(weight.encoding().stored_bytes() - fp8_scale(to), encoded.bytes());
            let bound = 0.25_f64.powi(bits);
            assert!(loss.nmse() <= bound, "{}: {:e} > {bound:e}", to.name(), loss.nmse());
        }
    }

    /// The scale of FP8 is no array.
    fn fp8_scale(to: QuantType) -> u64 {
        if to.scheme() == Scheme::Fp8 { 4 } else { 0 }
    }

    #[test]
    fn gathered_groups_are_the_same_as_all_at_once() {
        let (values, _) = values();
        let groups = values.len() / 64;
        for bits in [4, 8] {
            let mut codes = vec![0; 64 * bits / 8 * groups];
            let (mut scales, mut zeros) = (vec![0.0; groups], vec![0.0; groups]);
            let mut out =
                hqq::HqqOutput { codes: &mut codes, scales: &mut scales, zeros: &mut zeros };
            hqq::quantize(&values, bits as u8, 64, &mut out).unwrap();
            assert_eq!(half_quadratic(&values, bits as u8).unwrap().arrays[0], codes);
        }
    }

    #[test]
    fn shapes_that_do_not_suit_are_told() {
        let shape = |dims: &[u64]| Shape::new(dims).unwrap();
        let named = |name: &str| name.parse::<QuantType>().unwrap();
        assert!(named("q4k").suits(&shape(&[2, 384])).unwrap_err().to_string().contains("256"));
        assert!(named("afq4").suits(&shape(&[2, 33])).is_err());
        assert!(named("hqq4").suits(&shape(&[2, 4, 64])).is_err());
        assert!(named("fp8").suits(&shape(&[3, 5])).is_ok());
        assert!(QuantType::F16.suits(&shape(&[])).is_ok());
    }
}
