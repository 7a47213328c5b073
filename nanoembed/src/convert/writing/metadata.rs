//! Metadata of a GGUF file that is made up here, not copied from another.

use std::fmt;

use nanoembed_core::describe::gguf::{GgufArchitecture, GgufValue, Key, PutKey};
use nanoembed_core::format::gguf::WriteValue;
use nanoembed_core::limit::Growing;
use nanoembed_core::token::sentencepiece::PieceKind;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::error::{Error, Result};

/// An owned value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OwnValue {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<Vec<u8>>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
    Bools(Vec<bool>),
    Bytes(Vec<u8>),
}

impl OwnValue {
    /// The types of tokens.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(super) fn token_types(types: &[PieceKind]) -> Result<Self, CoreError> {
        let code = |kind: &PieceKind| i32::try_from(kind.code()).unwrap_or_default();
        limit::exactly(types.iter().map(code)).map(Self::I32s)
    }
}

/// Keys and values, in the order of the file. [`texts`](Self::texts) reports if there was no memory
/// for one.
#[derive(Debug)]
pub(super) struct Metadata {
    architecture: GgufArchitecture,
    pairs: Growing<(String, OwnValue)>,
}

impl Metadata {
    /// The metadata of a model of this architecture, whose name it begins with.
    pub(super) fn new(architecture: GgufArchitecture) -> Self {
        let mut metadata = Self { architecture, pairs: Growing::new() };
        metadata.text(Key::Architecture, architecture.name());
        metadata
    }

    pub(super) fn add(&mut self, key: Key, value: OwnValue) {
        let key = self.spelled(key);
        self.pairs.push((key, value));
    }

    /// Adds the text of a key that is not in the table.
    pub(super) fn further(&mut self, key: fmt::Arguments<'_>, value: &str) {
        match (limit::formatted(key), limit::copied(value)) {
            (Ok(key), Ok(value)) => self.pairs.push((key, OwnValue::Text(value))),
            _ => self.pairs.refuse(),
        }
    }

    /// The key as it is written.
    fn spelled(&self, key: Key) -> String {
        match key.is_of_model() {
            true => format!("{}.{}", self.architecture.name(), key.name()),
            false => key.name().to_owned(),
        }
    }

    pub(super) fn text(&mut self, key: Key, value: &str) {
        match limit::copied(value) {
            Ok(value) => self.add(key, OwnValue::Text(value)),
            Err(_) => self.pairs.refuse(),
        }
    }

    /// Adds a size, which GGUF holds in 32 bits.
    pub(super) fn size(&mut self, key: Key, size: usize) -> Result<()> {
        let large =
            |_| Error::input(ErrorKind::SizeOverflow, format!("{} is {size}", self.spelled(key)));
        let value = OwnValue::U32(u32::try_from(size).map_err(large)?);
        self.add(key, value);
        Ok(())
    }

    /// Adds a value of any type.
    pub(super) fn put(&mut self, key: Key, value: GgufValue) -> Result<()> {
        let value = match value {
            GgufValue::Size(size) => return self.size(key, size),
            GgufValue::Float(number) => OwnValue::F32(number),
            GgufValue::Truth(truth) => OwnValue::Bool(truth),
            GgufValue::Text(text) => {
                self.text(key, text);
                return Ok(());
            }
            GgufValue::Sizes(sizes) => {
                let sizes = sizes.values().map(|size| i32::try_from(size).unwrap_or(i32::MAX));
                OwnValue::I32s(limit::exactly(sizes).map_err(|error| self.failed(key, error))?)
            }
            GgufValue::Truths(truths) => {
                let truths = limit::exactly(truths.values());
                OwnValue::Bools(truths.map_err(|error| self.failed(key, error))?)
            }
            _ => return Err(Error::input(ErrorKind::UnsupportedSetting, self.spelled(key))),
        };
        self.add(key, value);
        Ok(())
    }

    fn failed(&self, key: Key, error: CoreError) -> Error {
        Error::in_file(self.spelled(key), error)
    }

    /// Adds all pairs that `describe` puts.
    pub(super) fn put_all(&mut self, describe: impl FnOnce(PutKey<'_>)) -> Result<()> {
        let mut outcome = Ok(());
        describe(&mut |key, value| {
            if outcome.is_ok() {
                outcome = self.put(key, value);
            }
        });
        outcome
    }

    /// Adds a token's id, if there is one.
    pub(super) fn id(&mut self, key: Key, id: Option<u32>) {
        if let Some(id) = id {
            self.add(key, OwnValue::U32(id));
        }
    }

    /// The texts of arrays, as [`values`](Self::values) borrows them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(super) fn texts(&self) -> Result<Vec<Vec<&[u8]>>, CoreError> {
        self.pairs.check()?;
        limit::gathered(self.pairs.iter().map(|(_, value)| match value {
            OwnValue::Texts(texts) => limit::exactly(texts.iter().map(Vec::as_slice)),
            _ => Ok(Vec::new()),
        }))
    }

    /// Keys and values as they are written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(super) fn values<'m>(
        &'m self,
        texts: &'m [Vec<&'m [u8]>],
    ) -> Result<Vec<(&'m str, WriteValue<'m>)>, CoreError> {
        let value = |(value, texts): (&'m OwnValue, &'m Vec<&'m [u8]>)| match value {
            OwnValue::U32(value) => WriteValue::U32(*value),
            OwnValue::F32(value) => WriteValue::F32(*value),
            OwnValue::Bool(value) => WriteValue::Bool(*value),
            OwnValue::Text(value) => WriteValue::Text(value),
            OwnValue::Texts(_) => WriteValue::Texts(texts),
            OwnValue::I32s(values) => WriteValue::I32s(values),
            OwnValue::F32s(values) => WriteValue::F32s(values),
            OwnValue::Bools(values) => WriteValue::Bools(values),
            OwnValue::Bytes(values) => WriteValue::U8s(values),
        };
        let pairs = self.pairs.iter().zip(texts);
        limit::exactly(pairs.map(|((key, own), texts)| (key.as_str(), value((own, texts)))))
    }
}
