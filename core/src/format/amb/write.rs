//! Writes `.amb` files in one pass and without allocating: a [`AmbPlan`] determines all sizes, and the
//! data is passed through.

use super::CHECKSUM;
use super::checksum::as_data;
use super::grammar::{
    AmbTokenizerKind, HEADER_BYTES, MAGIC, NO_TOKEN, QUANTIZATION_BYTES, TOKENIZER_HEAD_BYTES,
    codes_of,
};
use crate::crc32::Running;
use crate::error::{Error, ErrorKind, Result};
use crate::sink::Sink;
use crate::tensor::identity::check_unique;
use crate::tensor::{Dtype, ScaleType, Shape};

/// A tensor to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmbTensorSpec<'a> {
    /// The name, unique in the file, 1 to 65,535 bytes.
    pub name: &'a str,
    /// F32, F16, BF16 or scaled codes.
    pub dtype: Dtype,
    /// Dimensions of up to 2³² − 1 each.
    pub shape: Shape,
    /// The number of full-precision blocks of adaptive codes; 0 for all other types.
    pub full_blocks: u64,
}

impl AmbTensorSpec<'_> {
    /// The size of the data in bytes, without the four bytes that describe the quantisation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDtype`] for a type that the format lacks,
    /// [`ErrorKind::InvalidArgument`] for a shape or a number of blocks that it cannot hold.
    pub fn data_bytes(&self) -> Result<u64> {
        codes_of(self.dtype).ok_or(Error::without_offset(ErrorKind::UnsupportedDtype))?;
        let dims = self.shape.dims();
        let elements =
            self.shape.elements().filter(|_| dims.iter().all(|dim| *dim <= u32::MAX.into()));
        let bytes = elements.and_then(|elements| match self.dtype {
            Dtype::Scaled(codes) => codes.data_bytes(elements, self.full_blocks),
            dtype => dtype.data_bytes(elements),
        });
        bytes.filter(|bytes| *bytes < u64::MAX / 4).ok_or(invalid())
    }

    const fn quantization_bytes(&self) -> u64 {
        match self.dtype {
            Dtype::Scaled(_) => QUANTIZATION_BYTES,
            _ => 0,
        }
    }

    /// Bytes of the record before the data, including the four of a quantisation.
    fn head_bytes(&self) -> u64 {
        let dims = self.shape.dims().len() as u64;
        2 + self.name.len() as u64 + 1 + 4 * dims + 1 + 8 + self.quantization_bytes()
    }
}

/// The payload of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Merges and tokens in the order of their ids.
    Bpe {
        /// Pairs of parts in order of rank, each part up to 65,535 bytes.
        merges: &'a [(&'a str, &'a str)],
        /// The tokens, each up to 65,535 bytes.
        tokens: &'a [&'a [u8]],
    },
    /// A serialized SentencePiece model.
    SentencePiece(&'a [u8]),
    /// Tokens in the order of their ids, each up to 65,535 bytes.
    WordPiece(&'a [&'a [u8]]),
    /// Any bytes.
    Custom(&'a [u8]),
}

/// A tokenizer to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbTokenizerSpec<'a> {
    /// Ids of the beginning, end, padding, unknown and mask tokens; up to 65,534.
    pub special: [Option<u32>; 5],
    /// The payload, which determines the kind.
    pub payload: Payload<'a>,
}

impl AmbTokenizerSpec<'_> {
    const fn kind(&self) -> AmbTokenizerKind {
        match self.payload {
            Payload::Bpe { .. } => AmbTokenizerKind::Bpe,
            Payload::SentencePiece(_) => AmbTokenizerKind::SentencePiece,
            Payload::WordPiece(_) => AmbTokenizerKind::WordPiece,
            Payload::Custom(_) => AmbTokenizerKind::Custom,
        }
    }

    fn bytes(&self) -> Option<u64> {
        let strings = |strings: &[&[u8]]| {
            strings.iter().try_fold(4_u64, |sum, string| Some(sum + string_bytes(string)?))
        };
        let payload = match self.payload {
            Payload::SentencePiece(bytes) | Payload::Custom(bytes) => bytes.len() as u64,
            Payload::WordPiece(tokens) => strings(tokens)?,
            Payload::Bpe { merges, tokens } => {
                let merges = merges.iter().try_fold(4_u64, |sum, (first, second)| {
                    Some(sum + string_bytes(first.as_bytes())? + string_bytes(second.as_bytes())?)
                })?;
                merges + strings(tokens)?
            }
        };
        Some(TOKENIZER_HEAD_BYTES + payload)
    }
}

/// The contents of a file except for the tensors' data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmbPlan<'a> {
    /// JSON about the model's origin; written verbatim.
    pub metadata: &'a str,
    /// JSON with the model's sizes; written verbatim.
    pub config: &'a str,
    /// The tokenizer.
    pub tokenizer: Option<AmbTokenizerSpec<'a>>,
    /// The tensors in the order in which their data will be written.
    pub tensors: &'a [AmbTensorSpec<'a>],
    /// True to write the tensor [`CHECKSUM`] after all others.
    pub checksum: bool,
}

/// The last tensor, whose data is the checksum of the bytes before it.
fn checksum_spec() -> AmbTensorSpec<'static> {
    let shape = Shape::new(&[2]).unwrap_or(Shape::SCALAR);
    AmbTensorSpec { name: CHECKSUM, dtype: Dtype::F32, shape, full_blocks: 0 }
}

impl<'a> AmbPlan<'a> {
    /// A file with this configuration, these tensors and a checksum, without tokenizer and with
    /// empty metadata.
    #[must_use]
    pub const fn new(config: &'a str, tensors: &'a [AmbTensorSpec<'a>]) -> Self {
        Self { metadata: "{}", config, tokenizer: None, tensors, checksum: true }
    }
}

impl AmbPlan<'_> {
    /// The size of the file in bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the format cannot hold the plan: names, strings, sections
    /// or ids too large; [`ErrorKind::UnsupportedDtype`].
    pub fn file_bytes(&self) -> Result<u64> {
        self.layout().map(|(weights, bytes)| weights + bytes)
    }

    /// The offset and the size of the weights.
    fn layout(&self) -> Result<(u64, u64)> {
        let section =
            |bytes: u64| if u32::try_from(bytes).is_ok() { Ok(bytes) } else { Err(invalid()) };
        let weights = HEADER_BYTES
            + section(self.metadata.len() as u64)?
            + section(self.config.len() as u64)?
            + section(self.tokenizer_bytes()?)?;
        let mut end = weights;
        let checksum = checksum_spec();
        let checksum = self.checksum.then_some(&checksum);
        for tensor in self.tensors.iter().chain(checksum) {
            let name = string_bytes(tensor.name.as_bytes()).filter(|_| !tensor.name.is_empty());
            name.ok_or(invalid())?;
            end = end
                .checked_add(tensor.head_bytes())
                .and_then(|end| end.checked_add(tensor.data_bytes().ok()?))
                .and_then(|end| end.checked_next_multiple_of(8))
                .filter(|end| *end < u64::MAX / 2)
                .ok_or(tensor.data_bytes().err().unwrap_or(invalid()))?;
        }
        Ok((weights, end - weights))
    }

    fn tokenizer_bytes(&self) -> Result<u64> {
        let Some(tokenizer) = &self.tokenizer else { return Ok(0) };
        let fits = |id: &Option<u32>| id.is_none_or(|id| id < NO_TOKEN.into());
        tokenizer.bytes().filter(|_| tokenizer.special.iter().all(fits)).ok_or(invalid())
    }
}

fn invalid() -> Error {
    Error::without_offset(ErrorKind::InvalidArgument)
}

/// The size of a string with a 16-bit length prefix.
fn string_bytes(string: &[u8]) -> Option<u64> {
    u16::try_from(string.len()).ok().map(|length| 2 + u64::from(length))
}

/// Writes one file: [`new`](Self::new) writes everything before the tensors, [`data`](Self::data)
/// their data in order, and [`finish`](Self::finish) the rest.
pub struct AmbWriter<'p, S> {
    plan: AmbPlan<'p>,
    sink: S,
    crc: Running,
    /// Bytes written.
    written: u64,
    /// Index of the tensor whose data comes next, and the number of its missing bytes.
    tensor: usize,
    missing: u64,
}

impl<'p, S: Sink> AmbWriter<'p, S> {
    /// Checks `plan` and writes everything before the first tensor's data.
    ///
    /// # Errors
    ///
    /// As [`AmbPlan::file_bytes`]; [`ErrorKind::DuplicateName`] if two tensors have the same name or
    /// one that of the checksum; any error from the sink.
    pub fn new(plan: AmbPlan<'p>, sink: S) -> Result<Self> {
        let (_, weights_bytes) = plan.layout()?;
        let own = plan.checksum.then_some(CHECKSUM);
        check_unique(plan.tensors.iter().map(|tensor| tensor.name).chain(own))?;
        let crc = Running::new();
        let mut writer = Self { plan, sink, crc, written: 0, tensor: 0, missing: 0 };
        writer.put(MAGIC)?;
        writer.put(&[1, 0, 0])?;
        writer.put(&word(plan.metadata.len())?)?;
        writer.put(&word(plan.config.len())?)?;
        let tokenizer = usize::try_from(plan.tokenizer_bytes()?).map_err(|_| invalid())?;
        writer.put(&word(tokenizer)?)?;
        writer.put(&weights_bytes.to_le_bytes())?;
        writer.put(plan.metadata.as_bytes())?;
        writer.put(plan.config.as_bytes())?;
        writer.tokenizer()?;
        writer.begin_tensors()?;
        Ok(writer)
    }

    /// Writes the next bytes of data: the tensors' bytes in the order of the plan, cut anywhere,
    /// without padding and without the bytes that describe their quantisation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is more data than planned; any error from the sink.
    pub fn data(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.missing == 0 {
                return Err(invalid());
            }
            let room = usize::try_from(self.missing).unwrap_or(usize::MAX);
            let (part, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.put(part)?;
            self.missing -= part.len() as u64;
            rest = after;
            if self.missing == 0 {
                self.end_tensor()?;
                self.begin_tensors()?;
            }
        }
        Ok(())
    }

    /// Writes the checksum and returns the sink.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if data is missing; any error from the sink.
    pub fn finish(mut self) -> Result<S> {
        if self.tensor < self.plan.tensors.len() {
            return Err(Error::without_offset(ErrorKind::SizeMismatch));
        }
        if self.plan.checksum {
            self.head(&checksum_spec())?;
            let data = as_data(self.crc.clone().finish());
            self.put(&data)?;
            self.pad()?;
        }
        Ok(self.sink)
    }

    fn tokenizer(&mut self) -> Result<()> {
        let Some(tokenizer) = self.plan.tokenizer else { return Ok(()) };
        self.put(&[tokenizer.kind().code()])?;
        for id in tokenizer.special {
            let id = id.map_or(Ok(NO_TOKEN), |id| u16::try_from(id).map_err(|_| invalid()))?;
            self.put(&id.to_le_bytes())?;
        }
        match tokenizer.payload {
            Payload::SentencePiece(bytes) | Payload::Custom(bytes) => self.put(bytes),
            Payload::WordPiece(tokens) => self.strings(tokens),
            Payload::Bpe { merges, tokens } => {
                self.put(&word(merges.len())?)?;
                for (first, second) in merges {
                    self.string(first.as_bytes())?;
                    self.string(second.as_bytes())?;
                }
                self.strings(tokens)
            }
        }
    }

    fn strings(&mut self, strings: &[&[u8]]) -> Result<()> {
        self.put(&word(strings.len())?)?;
        strings.iter().try_for_each(|string| self.string(string))
    }

    fn string(&mut self, string: &[u8]) -> Result<()> {
        self.put(&u16::try_from(string.len()).map_err(|_| invalid())?.to_le_bytes())?;
        self.put(string)
    }

    /// Writes records up to the next tensor with data.
    fn begin_tensors(&mut self) -> Result<()> {
        while let Some(tensor) = self.plan.tensors.get(self.tensor) {
            self.head(tensor)?;
            self.missing = tensor.data_bytes()?;
            if self.missing > 0 {
                return Ok(());
            }
            self.end_tensor()?;
        }
        Ok(())
    }

    fn end_tensor(&mut self) -> Result<()> {
        self.tensor += 1;
        self.pad()
    }

    /// A record up to its data.
    fn head(&mut self, tensor: &AmbTensorSpec<'_>) -> Result<()> {
        let (code, kind) = codes_of(tensor.dtype).ok_or(invalid())?;
        self.string(tensor.name.as_bytes())?;
        let dims = tensor.shape.dims();
        self.put(&[u8::try_from(dims.len()).map_err(|_| invalid())?])?;
        for dim in dims {
            self.put(&u32::try_from(*dim).map_err(|_| invalid())?.to_le_bytes())?;
        }
        self.put(&[code])?;
        let bytes = tensor.data_bytes()? + tensor.quantization_bytes();
        self.put(&bytes.to_le_bytes())?;
        if let (Dtype::Scaled(codes), Some(kind)) = (tensor.dtype, kind) {
            let [low, high] = codes.block.to_le_bytes();
            let scales = match codes.scales {
                ScaleType::F32 => 0,
                ScaleType::F16 => 1,
            };
            self.put(&[kind, low, high, scales])?;
        }
        Ok(())
    }

    fn pad(&mut self) -> Result<()> {
        let padding = self.written.next_multiple_of(8) - self.written;
        (0..padding).try_for_each(|_| self.put(&[0]))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.plan.checksum {
            self.crc.update(bytes);
        }
        self.written += bytes.len() as u64;
        self.sink.write(bytes)
    }
}

fn word(value: usize) -> Result<[u8; 4]> {
    u32::try_from(value).map(u32::to_le_bytes).map_err(|_| invalid())
}
