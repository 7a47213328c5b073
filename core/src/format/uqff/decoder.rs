//! The sans-I/O decoder of both generations: a safetensors decoder that also interprets the data it
//! passes on.

use super::MAX_MINOR;
use super::blob::{Blob, Found};
use super::codes::{LayerFormat, ggml_dtype};
use crate::bytes::{Item, le_u8, le_u32, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, FileInfo, Format, Mode, Step, Value, Version};
use crate::format::safetensors;
use crate::tensor::{Dtype, Shape, TensorHeader};
use crate::text::json::has_escapes;

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Generation {
    /// 0.x: a blob for each layer.
    Blobs,
    /// 1.x: several tensors for each layer.
    Tensors,
}

/// The role of a tensor of 1.x; kept as the tag of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Bulk,
    /// A small part of a layer that describes how to read it.
    Parameter,
    Format,
    Dtype,
    Major,
    Minor,
    Patch,
}

impl Role {
    const ALL: [Self; 7] = [
        Self::Bulk,
        Self::Parameter,
        Self::Format,
        Self::Dtype,
        Self::Major,
        Self::Minor,
        Self::Patch,
    ];

    fn from_tensor(tensor: &TensorHeader<'_>) -> core::result::Result<Self, ErrorKind> {
        const PARAMETERS: [&str; 11] = [
            ".shape",
            ".bits",
            ".group_size",
            ".axis",
            ".optimization_steps",
            ".round_zeros",
            ".channel_wise",
            ".num_blocks",
            ".dequant_w_scale",
            ".dequant_x_scale",
            ".quant_scale",
        ];
        let (role, dtype) = match tensor.name {
            "uqff.version.major" => (Self::Major, Dtype::U32),
            "uqff.version.minor" => (Self::Minor, Dtype::U32),
            "uqff.version.patch" => (Self::Patch, Dtype::U32),
            name if name.ends_with(".weight.format") => (Self::Format, Dtype::U8),
            name if name.ends_with(".weight.dtype") => (Self::Dtype, Dtype::U32),
            name if PARAMETERS.iter().any(|suffix| name.ends_with(suffix)) => {
                return Ok(Self::Parameter);
            }
            _ => return Ok(Self::Bulk),
        };
        if tensor.dtype != dtype {
            return Err(ErrorKind::BadDtype);
        }
        if tensor.shape != Shape::SCALAR {
            return Err(ErrorKind::BadDimensions);
        }
        Ok(role)
    }

    fn tag(self) -> u32 {
        self as u32
    }

    fn from_tag(tag: u32) -> Self {
        let index = usize::try_from(tag).unwrap_or(0);
        Self::ALL.get(index).copied().unwrap_or(Self::Bulk)
    }
}

/// Decodes UQFF files of either generation, with memory for one [`Entry`](safetensors::Entry) per
/// tensor.
///
/// [`Event::Header`] comes before the version is known; [`generation`](Self::generation) and
/// [`version`](Self::version) return it afterwards. [`Event::Tensor`] comes for each tensor of the
/// container. A blob also yields [`Event::Value`]s `layer` (its index) and `format`,
/// [`Event::Tensor`]s `weight`, `scales`, `zeros`, `biases` and `bias` inside the blob, and a value
/// for each parameter. In 1.x the small tensors that describe how to read a layer always come as
/// [`Event::Data`]; only bulk data is skippable.
#[derive(Debug)]
pub struct UqffDecoder<'m> {
    container: safetensors::SafetensorsDecoder<'m>,
    mode: Mode,
    failed: Option<Error>,
    /// True if the version must be in this file, as in the first of several shards.
    is_first: bool,
    generation: Option<Generation>,
    version: [Option<u16>; 2],
    /// Index of the entry whose data comes next, in the order of offsets.
    next: usize,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    /// Before the data of the next entry.
    Between,
    /// Inside the data of an entry, up to an absolute offset.
    Bulk {
        until: u64,
    },
    Parameter {
        until: u64,
    },
    Blob {
        blob: Blob,
        at: At,
    },
    End,
}

/// The next part of a blob.
#[derive(Clone, Copy, Debug)]
enum At {
    Item,
    /// The events that describe the layer.
    Index {
        index: u32,
    },
    Format,
    Dims {
        shape: Shape,
        next: usize,
    },
    Data {
        until: u64,
    },
}

impl<'m> UqffDecoder<'m> {
    /// A decoder at the start of a file, the only one or the first of several shards.
    #[must_use]
    pub const fn new(mode: Mode, entries: &'m mut [safetensors::Entry]) -> Self {
        Self {
            container: safetensors::SafetensorsDecoder::new(mode, entries),
            mode,
            failed: None,
            is_first: true,
            generation: None,
            version: [None; 2],
            next: 0,
            state: State::Header,
        }
    }

    /// A decoder at the start of a shard that is not the first; in 1.x it need not have a version.
    #[must_use]
    pub const fn later_shard(mode: Mode, entries: &'m mut [safetensors::Entry]) -> Self {
        let mut decoder = Self::new(mode, entries);
        decoder.is_first = false;
        decoder
    }

    /// The layout of the file; known after its first tensor.
    #[must_use]
    pub const fn generation(&self) -> Option<Generation> {
        self.generation
    }

    /// The version of the format, once its data, or that of the first blob, has been read.
    #[must_use]
    pub const fn version(&self) -> Option<Version> {
        match self.version {
            [Some(major), Some(minor)] => Some(Version { major, minor }),
            _ => None,
        }
    }

    pub(super) fn into_container(self) -> safetensors::SafetensorsDecoder<'m> {
        self.container
    }

    fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        match self.state {
            State::Header => self.header(input),
            State::Between => self.between(),
            State::Bulk { until } => Ok(self.data(input, until)),
            State::Parameter { until } => self.parameter(input, until),
            State::Blob { blob, at } => self.blob(input, blob, at),
            State::End => self.container.next(input),
        }
    }

    fn header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let mut step = self.container.next(input)?;
        match &mut step.event {
            Some(Event::Header(info)) => {
                *info = FileInfo { format: Format::Uqff, ..*info };
            }
            Some(Event::Tensor(tensor)) => self.tensor(tensor)?,
            _ if self.container.is_after_header() => {
                self.check_version_is_there()?;
                self.state = State::Between;
            }
            _ => {}
        }
        Ok(step)
    }

    /// Examines a tensor of the container, whose entry is the last one.
    fn tensor(&mut self, tensor: &TensorHeader<'_>) -> Result<()> {
        let Some(entry) = self.container.entries_mut().all_mut().last_mut() else { return Ok(()) };
        let fail = |kind| Error::new(entry.at.into(), kind);
        if has_escapes(tensor.name) {
            return Err(fail(ErrorKind::BadField));
        }
        let numeric = !tensor.name.is_empty() && tensor.name.bytes().all(|b| b.is_ascii_digit());
        let generation = if numeric { Generation::Blobs } else { Generation::Tensors };
        if *self.generation.get_or_insert(generation) != generation {
            return Err(fail(ErrorKind::BadVersion));
        }
        if !numeric {
            entry.tag = Role::from_tensor(tensor).map_err(fail)?.tag();
            return Ok(());
        }
        // Each index has a single spelling.
        let canonical = tensor.name == "0" || !tensor.name.starts_with('0');
        let index = tensor.name.parse().ok().filter(|_| canonical);
        entry.tag = index.ok_or(fail(ErrorKind::BadField))?;
        if tensor.dtype != Dtype::U8 {
            return Err(fail(ErrorKind::BadDtype));
        }
        if tensor.shape.dims().len() != 1 {
            return Err(fail(ErrorKind::BadDimensions));
        }
        Ok(())
    }

    fn check_version_is_there(&self) -> Result<()> {
        let missing = Error::new(safetensors::LENGTH_BYTES, ErrorKind::BadVersion);
        let has =
            |role: Role| self.container.entries().all().iter().any(|entry| entry.tag == role.tag());
        match self.generation {
            Some(Generation::Blobs) => Ok(()),
            Some(Generation::Tensors) if !self.is_first || has(Role::Major) && has(Role::Minor) => {
                Ok(())
            }
            _ => Err(missing),
        }
    }

    fn between<'a>(&mut self) -> Result<Step<'a>> {
        // Tensors of 1.x without data are ignored; an empty blob is an error.
        let says = |entry: &safetensors::Entry| {
            entry.begin < entry.end || self.generation == Some(Generation::Blobs)
        };
        let all = self.container.entries().all().iter().enumerate().skip(self.next);
        let Some((index, entry)) = all.map(|(at, entry)| (at, *entry)).find(|(_, e)| says(e))
        else {
            self.state = State::End;
            return Ok(Step::silent(0));
        };
        self.next = index.saturating_add(1);
        let until = self.container.data_offset().saturating_add(entry.end);
        self.state = match self.generation {
            Some(Generation::Blobs) => {
                State::Blob { blob: Blob::new(self.mode, until), at: At::Item }
            }
            _ => match Role::from_tag(entry.tag) {
                Role::Bulk => State::Bulk { until },
                _ => State::Parameter { until },
            },
        };
        Ok(Step::silent(0))
    }

    /// The entry of the current data.
    fn current(&self) -> Option<safetensors::Entry> {
        self.container.entries().all().get(self.next.checked_sub(1)?).copied()
    }

    fn data<'a>(&mut self, input: &'a [u8], until: u64) -> Step<'a> {
        if self.container.offset() >= until {
            self.state = State::Between;
            return Step::silent(0);
        }
        let step = Step::data(input, self.container.offset(), until);
        self.container.skip(step.used as u64);
        step
    }

    /// A tensor that describes how to read a layer, or the version.
    fn parameter<'a>(&mut self, input: &'a [u8], until: u64) -> Result<Step<'a>> {
        let offset = self.container.offset();
        let role = self.current().map_or(Role::Bulk, |entry| Role::from_tag(entry.tag));
        let number = match role {
            Role::Bulk | Role::Parameter => return Ok(self.data(input, until)),
            Role::Format => parse(le_u8, input, offset).map(|item| match item {
                Item::Parsed { item, used } => Item::Parsed { item: item.into(), used },
                Item::NeedMore { at_least } => Item::NeedMore { at_least },
            })?,
            _ => parse(le_u32, input, offset)?,
        };
        let (number, used): (u32, usize) = parsed!(number);
        let fail = |kind| Err(Error::new(offset, kind));
        match role {
            Role::Format
                if u8::try_from(number).ok().and_then(LayerFormat::from_code).is_none() =>
            {
                return fail(ErrorKind::BadEncoding);
            }
            Role::Dtype if ggml_dtype(number).is_none() => return fail(ErrorKind::BadDtype),
            Role::Major if number != 1 => return fail(ErrorKind::UnsupportedVersion),
            Role::Minor if number > MAX_MINOR.into() => {
                return fail(ErrorKind::UnsupportedVersion);
            }
            Role::Major => self.version = [Some(1), self.version[1]],
            Role::Minor => self.version = [self.version[0], u16::try_from(number).ok()],
            _ => {}
        }
        self.container.skip(used as u64);
        self.state = State::Between;
        let bytes = input.get(..used).unwrap_or(input);
        Ok(Step::new(used, Event::Data { offset, bytes }))
    }

    fn blob<'a>(&mut self, input: &'a [u8], blob: Blob, at: At) -> Result<Step<'a>> {
        let offset = self.container.offset();
        let (step, at) = match at {
            At::Item => return self.blob_item(input, blob),
            At::Index { index } => {
                let value = Value::Unsigned(index.into());
                (Step::new(0, Event::Value { key: "layer", value }), At::Format)
            }
            At::Format => {
                let code = blob.format().map_or(0, LayerFormat::code);
                let value = Value::Unsigned(code.into());
                (Step::new(0, Event::Value { key: "format", value }), At::Item)
            }
            At::Dims { shape, next } => match shape.dims().get(next) {
                Some(&dim) => {
                    let value = Value::Unsigned(dim);
                    let element = Event::Element { index: next as u64, value };
                    (Step::new(0, element), At::Dims { shape, next: next.saturating_add(1) })
                }
                None => (Step::silent(0), At::Item),
            },
            At::Data { until } if offset >= until => (Step::silent(0), At::Item),
            At::Data { until } => {
                let step = Step::data(input, offset, until);
                self.container.skip(step.used as u64);
                (step, at)
            }
        };
        self.state = State::Blob { blob, at };
        Ok(step)
    }

    fn blob_item<'a>(&mut self, input: &'a [u8], mut blob: Blob) -> Result<Step<'a>> {
        let found = blob.next(input, self.container.offset())?;
        let until = |tensor: &TensorHeader<'_>| tensor.offset.saturating_add(tensor.bytes);
        let (step, at) = match found {
            Found::NeedMore { at_least } => return Ok(Step::need_more(at_least)),
            Found::Begin { used } => {
                let index = self.current().map_or(0, |entry| entry.tag);
                if let Some(Version { major, minor }) = blob.version() {
                    self.version = [Some(major), Some(minor)];
                }
                (Step::silent(used), At::Index { index })
            }
            Found::Tensor { used, tensor } => {
                (Step::new(used, Event::Tensor(tensor)), At::Data { until: until(&tensor) })
            }
            Found::Shape { used, shape } => {
                let value = Value::Array { count: shape.dims().len() as u64 };
                let event = Event::Value { key: "shape", value };
                (Step::new(used, event), At::Dims { shape, next: 0 })
            }
            Found::Value { used, key, value } => {
                (Step::new(used, Event::Value { key, value }), At::Item)
            }
            Found::End => {
                // Lenient: the rest of the blob is skipped as data.
                let end = self.current().map_or(0, |entry| entry.end);
                let until = self.container.data_offset().saturating_add(end);
                self.state = State::Bulk { until };
                return Ok(Step::silent(0));
            }
        };
        self.container.skip(step.used as u64);
        self.state = State::Blob { blob, at };
        Ok(step)
    }
}

impl Decode for UqffDecoder<'_> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.step(input);
        self.failed = step.err();
        step
    }

    fn offset(&self) -> u64 {
        self.container.offset()
    }

    fn skippable(&self) -> u64 {
        match self.state {
            _ if self.failed.is_some() => 0,
            State::Bulk { until } | State::Blob { at: At::Data { until }, .. } => {
                until.saturating_sub(self.container.offset())
            }
            _ => 0,
        }
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        self.container.skip(bytes.min(self.skippable()))
    }

    fn is_complete(&self) -> bool {
        self.failed.is_none() && self.container.is_complete()
    }
}
