//! A whole UQFF file, or a set of shards, in memory: read, mapped, or in flash.

use super::codes::LayerFormat;
use super::decoder::{Generation, UqffDecoder};
use super::layer::{Extra, Parts, UqffLayer, from_blob, stored_dtype};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Mode, Version};
use crate::format::safetensors::view::run;
use crate::format::safetensors::{Entry, Safetensors, SafetensorsTensors};
use crate::tensor::{Dtype, MAX_DIMS, Shape, TensorView};

pub(super) const FORMAT_SUFFIX: &str = ".weight.format";

/// A validated UQFF file; all views borrow from the file's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Uqff<'a, 'm> {
    first: Safetensors<'a, 'm>,
    later: &'m [Safetensors<'a, 'm>],
    mode: Mode,
    generation: Generation,
    version: Version,
}

impl<'a, 'm> Uqff<'a, 'm> {
    /// Validates `bytes`, a whole file with all its layers; `entries` needs one for each tensor of
    /// the container.
    ///
    /// # Errors
    ///
    /// As the [`UqffDecoder`]; errors of assembling a layer, as in [`Layers`].
    pub fn parse(bytes: &'a [u8], mode: Mode, entries: &'m mut [Entry]) -> Result<Self> {
        Self::parse_shards(bytes, &[], mode, entries)
    }

    /// Validates the first of several shards together with the `later` ones. Layers of 1.x may be
    /// split between shards; a tensor found in several is taken from the first of them, if all are
    /// equal.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse); [`ErrorKind::DuplicateName`] for tensors that differ between
    /// shards.
    pub fn parse_shards(
        bytes: &'a [u8],
        later: &'m [Safetensors<'a, 'm>],
        mode: Mode,
        entries: &'m mut [Entry],
    ) -> Result<Self> {
        let mut decoder = UqffDecoder::new(mode, entries);
        run(&mut decoder, bytes)?;
        let unknown = Error::new(0, ErrorKind::BadVersion);
        let generation = decoder.generation().ok_or(unknown)?;
        let version = decoder.version().ok_or(unknown)?;
        let first = Safetensors::decoded(bytes, decoder.into_container());
        let file = Self { first, later, mode, generation, version };
        file.check_duplicates()?;
        file.layers().try_for_each(|layer| layer.map(|_| ()))?;
        Ok(file)
    }

    /// Validates a shard that is not the first.
    ///
    /// # Errors
    ///
    /// As the [`UqffDecoder`].
    pub fn parse_later_shard(
        bytes: &'a [u8],
        mode: Mode,
        entries: &'m mut [Entry],
    ) -> Result<Safetensors<'a, 'm>> {
        let mut decoder = UqffDecoder::later_shard(mode, entries);
        run(&mut decoder, bytes)?;
        Ok(Safetensors::decoded(bytes, decoder.into_container()))
    }

    /// The layout of the file.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// The version of the format.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The container of the first or only shard, with its metadata.
    #[must_use]
    pub const fn container(&self) -> &Safetensors<'a, 'm> {
        &self.first
    }

    /// The layers, shard by shard in the order of the headers; that order is alphabetic in files of
    /// the reference, so that layer 10 comes before layer 2.
    #[must_use]
    pub fn layers(&self) -> Layers<'a, 'm> {
        Layers { file: *self, tensors: self.first.tensors(), later: self.later }
    }

    /// The layer with this name or decimal index.
    ///
    /// # Errors
    ///
    /// As [`Layers`]; a validated file has none.
    pub fn layer(&self, name: &str) -> Option<Result<UqffLayer<'a>>> {
        match self.generation {
            Generation::Blobs => self.find(name, "").map(|blob| self.blob_layer(blob)),
            Generation::Tensors => {
                self.find(name, FORMAT_SUFFIX).map(|format| self.tensors_layer(format))
            }
        }
    }

    fn shards(&self) -> impl Iterator<Item = &Safetensors<'a, 'm>> {
        core::iter::once(&self.first).chain(self.later)
    }

    fn find(&self, key: &str, suffix: &str) -> Option<TensorView<'a>> {
        self.shards().find_map(|shard| shard.tensor_of(key, suffix))
    }

    fn check_duplicates(&self) -> Result<()> {
        for (index, shard) in self.later.iter().enumerate() {
            for tensor in shard.tensors() {
                let name = tensor.header().name;
                let mut earlier = self.shards().take(index.saturating_add(1));
                let same = earlier.find_map(|shard| shard.tensor_of(name, ""));
                if same.is_some_and(|same| same.data() != tensor.data()) {
                    return Err(Error::new(tensor.header().offset, ErrorKind::DuplicateName));
                }
            }
        }
        Ok(())
    }

    fn blob_layer(&self, blob: TensorView<'a>) -> Result<UqffLayer<'a>> {
        let header = blob.header();
        from_blob(header.name, blob.data(), header.offset, self.mode).map(|(layer, _)| layer)
    }

    /// The layer with this `K.weight.format`.
    fn tensors_layer(&self, format: TensorView<'a>) -> Result<UqffLayer<'a>> {
        let at = format.header().offset;
        let name = format.header().name.strip_suffix(FORMAT_SUFFIX).unwrap_or("");
        let code = Small::U8.read(format)?;
        let code = u8::try_from(code).ok().and_then(LayerFormat::from_code);
        let kind = code.ok_or(Error::new(at, ErrorKind::BadEncoding))?;
        let find = |suffix| self.find(name, suffix);
        let mut parts = Parts {
            weight: find(".weight"),
            scales: find(".weight.scales"),
            bias: find(".bias"),
            ..Parts::default()
        };
        let field = |suffix, small: Small| {
            let missing = Error::new(at, ErrorKind::MissingTensor);
            small.read(find(suffix).ok_or(missing)?)
        };
        let float = |suffix| field(suffix, Small::F32).map(f32::from_bits);
        if matches!(kind, LayerFormat::Gguf | LayerFormat::Fp8) {
            let code = field(".weight.dtype", Small::U32)?;
            let unknown = Error::new(at, ErrorKind::BadDtype);
            parts.dtype = Some(stored_dtype(kind, code).ok_or(unknown)?);
        }
        if matches!(kind, LayerFormat::Gguf | LayerFormat::Hqq | LayerFormat::F8q8) {
            let missing = Error::new(at, ErrorKind::MissingTensor);
            parts.shape = Some(shape(find(".weight.shape").ok_or(missing)?)?);
        }
        match kind {
            LayerFormat::Hqq => {
                parts.zeros = find(".weight.zeros");
                parts.bits = field(".weight.bits", Small::U8)?.into();
                parts.group_size = field(".weight.group_size", Small::U32)?.into();
                parts.axis = field(".weight.axis", Small::U8)?.into();
                parts.channel_wise = field(".weight.channel_wise", Small::U8)?.into();
                parts.extra = Extra {
                    optimization_steps: field(".weight.optimization_steps", Small::U32)?,
                    round_zeros: field(".weight.round_zeros", Small::U8)? != 0,
                    ..Extra::default()
                };
            }
            LayerFormat::Afq => {
                parts.zeros = find(".weight.biases");
                parts.bits = field(".weight.bits", Small::U8)?.into();
                parts.group_size = field(".weight.group_size", Small::U8)?.into();
            }
            LayerFormat::Fp8 => {
                parts.dequant_w_scale = float(".weight.dequant_w_scale")?;
                parts.extra = Extra {
                    dequant_x_scale: float(".weight.dequant_x_scale")?,
                    quant_scale: float(".weight.quant_scale")?,
                    ..Extra::default()
                };
            }
            LayerFormat::F8q8 => {
                let blocks = field(".weight.num_blocks", Small::U32)?;
                let bytes = parts.weight.map_or(0, |weight| weight.header().bytes);
                if u64::from(blocks).checked_mul(crate::tensor::F8Q8_BLOCK_BYTES) != Some(bytes) {
                    return Err(Error::new(at, ErrorKind::SizeMismatch));
                }
            }
            _ => {}
        }
        parts.layer(name, kind, at)
    }
}

/// The type of a scalar tensor.
#[derive(Clone, Copy)]
enum Small {
    U8,
    U32,
    F32,
}

impl Small {
    /// The value, an f32 as its bits.
    fn read(self, tensor: TensorView<'_>) -> Result<u32> {
        let at = tensor.header().offset;
        let dtype = match self {
            Self::U8 => Dtype::U8,
            Self::U32 => Dtype::U32,
            Self::F32 => Dtype::F32,
        };
        if tensor.header().dtype != dtype {
            return Err(Error::new(at, ErrorKind::BadDtype));
        }
        match *tensor.data() {
            [byte] => Ok(byte.into()),
            [a, b, c, d] => Ok(u32::from_le_bytes([a, b, c, d])),
            _ => Err(Error::new(at, ErrorKind::BadDimensions)),
        }
    }
}

/// The shape in a `K.weight.shape` tensor.
fn shape(tensor: TensorView<'_>) -> Result<Shape> {
    let header = tensor.header();
    if header.dtype != Dtype::U32 {
        return Err(Error::new(header.offset, ErrorKind::BadDtype));
    }
    let bad = Error::new(header.offset, ErrorKind::BadDimensions);
    let words = tensor.data().as_chunks::<4>().0;
    let mut dims = [0; MAX_DIMS];
    let dims = dims.get_mut(..words.len()).ok_or(bad)?;
    for (dim, word) in dims.iter_mut().zip(words) {
        *dim = u32::from_le_bytes(*word).into();
    }
    Shape::new(dims).ok_or(bad)
}

/// Iterates over the layers of a [`Uqff`], each once. Fails if a layer cannot be assembled:
/// [`ErrorKind::MissingTensor`] for missing parts, [`ErrorKind::SizeMismatch`] and other errors of
/// [`Weight::new`](crate::tensor::Weight::new) for inconsistent parts.
#[derive(Clone, Debug)]
pub struct Layers<'a, 'm> {
    file: Uqff<'a, 'm>,
    tensors: SafetensorsTensors<'a>,
    later: &'m [Safetensors<'a, 'm>],
}

impl<'a> Iterator for Layers<'a, '_> {
    type Item = Result<UqffLayer<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let earlier = self.file.later.len().saturating_sub(self.later.len());
            for tensor in self.tensors.by_ref() {
                let name = tensor.header().name;
                let is_layer = match self.file.generation {
                    Generation::Blobs => true,
                    Generation::Tensors => name.ends_with(FORMAT_SUFFIX),
                };
                // A layer that an earlier shard also contains was returned there.
                let mut earlier = self.file.shards().take(earlier);
                if is_layer && earlier.all(|shard| shard.tensor_of(name, "").is_none()) {
                    return Some(match self.file.generation {
                        Generation::Blobs => self.file.blob_layer(tensor),
                        Generation::Tensors => self.file.tensors_layer(tensor),
                    });
                }
            }
            let (next, later) = self.later.split_first()?;
            (self.tensors, self.later) = (next.tensors(), later);
        }
    }
}
