//! Metadata of a GGUF file that is made up here, not copied from another.

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::{GgufArchitecture, GgufValue, Key, PutKey};
use nanoembed_core::format::gguf::WriteValue;
use nanoembed_core::token::sentencepiece::PieceKind;

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
    Bytes(Vec<u8>),
}

impl OwnValue {
    /// The types of tokens.
    pub(super) fn token_types(types: &[PieceKind]) -> Self {
        let code = |kind: &PieceKind| i32::try_from(kind.code()).unwrap_or_default();
        Self::I32s(types.iter().map(code).collect())
    }
}

/// Keys and values, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metadata {
    architecture: GgufArchitecture,
    pairs: Vec<(String, OwnValue)>,
}

impl Metadata {
    /// The metadata of a model of this architecture, whose name it begins with.
    pub(super) fn new(architecture: GgufArchitecture) -> Self {
        let mut metadata = Self { architecture, pairs: Vec::new() };
        metadata.text(Key::Architecture, architecture.name());
        metadata
    }

    pub(super) fn add(&mut self, key: Key, value: OwnValue) {
        self.further(self.spelled(key), value);
    }

    /// Adds a key that is not in the table.
    pub(super) fn further(&mut self, key: String, value: OwnValue) {
        self.pairs.push((key, value));
    }

    /// The key as it is written.
    fn spelled(&self, key: Key) -> String {
        match key.is_of_model() {
            true => format!("{}.{}", self.architecture.name(), key.name()),
            false => key.name().to_owned(),
        }
    }

    pub(super) fn text(&mut self, key: Key, value: impl Into<String>) {
        self.add(key, OwnValue::Text(value.into()));
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
            GgufValue::Text(text) => OwnValue::Text(text.to_owned()),
            _ => return Err(Error::input(ErrorKind::UnsupportedSetting, self.spelled(key))),
        };
        self.add(key, value);
        Ok(())
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
    pub(super) fn texts(&self) -> Vec<Vec<&[u8]>> {
        let texts = self.pairs.iter().map(|(_, value)| match value {
            OwnValue::Texts(texts) => texts.iter().map(Vec::as_slice).collect(),
            _ => Vec::new(),
        });
        texts.collect()
    }

    /// Keys and values as they are written.
    pub(super) fn values<'m>(
        &'m self,
        texts: &'m [Vec<&'m [u8]>],
    ) -> Vec<(String, WriteValue<'m>)> {
        let value = |(value, texts): (&'m OwnValue, &'m Vec<&'m [u8]>)| match value {
            OwnValue::U32(value) => WriteValue::U32(*value),
            OwnValue::F32(value) => WriteValue::F32(*value),
            OwnValue::Bool(value) => WriteValue::Bool(*value),
            OwnValue::Text(value) => WriteValue::Text(value),
            OwnValue::Texts(_) => WriteValue::Texts(texts),
            OwnValue::I32s(values) => WriteValue::I32s(values),
            OwnValue::F32s(values) => WriteValue::F32s(values),
            OwnValue::Bytes(values) => WriteValue::U8s(values),
        };
        let pairs = self.pairs.iter().zip(texts);
        pairs.map(|((key, own), texts)| (key.clone(), value((own, texts)))).collect()
    }
}
