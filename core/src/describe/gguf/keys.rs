//! The metadata of a GGUF file, read in one pass: the offset of each key in the table.

use core::cell::Cell;

use super::key::{Found, KEYS, Key, Rule, UNKNOWN};
use super::refusal::{GgufRefusal, Outcome};
use super::value::{is_off, number, text};
use super::{GgufModel, gguf_architecture, gguf_model};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::Limit;

const NUMBER: &str = "a number is needed here";
const POSITIVE: &str = "a positive number is needed here";
const ONE_VALUE: &str = "one value for all layers is honoured, not a list";

/// The offsets of all keys; there is no memory for their values.
#[derive(Clone, Debug)]
pub(crate) struct Keys<'a> {
    pub(crate) file: Gguf<'a>,
    pub(crate) architecture: &'a str,
    /// 0 if the file lacks the key.
    places: [u64; KEYS],
    /// The keys that have been read, a bit each.
    asked: Cell<u128>,
    /// The first key that is not in the table and not off.
    unknown: Option<u64>,
}

const _: () = assert!(KEYS <= 128, "the bits of `asked` suffice");

impl<'a> Keys<'a> {
    const fn unread(file: Gguf<'a>, architecture: &'a str) -> Self {
        Self { file, architecture, places: [0; KEYS], asked: Cell::new(0), unknown: None }
    }

    /// The keys of a decoder's file, not read yet.
    pub(super) fn decoder(file: &Gguf<'a>) -> Result<Self> {
        let unsupported = Error::without_offset(ErrorKind::UnsupportedArchitecture);
        let is_decoder = gguf_model(file)? == GgufModel::Decoder;
        let architecture = gguf_architecture(file).filter(|_| is_decoder).ok_or(unsupported)?;
        Ok(Self::unread(*file, architecture))
    }

    /// Reads the metadata of a decoder, and rejects the first unsupported key.
    #[inline(never)] // it is long, and there once
    pub(super) fn read_decoder(&mut self) -> Outcome<'a, ()> {
        let mut metadata = self.file.metadata();
        loop {
            let offset = metadata.offset();
            let Some((spelled, value)) = metadata.next() else { return Ok(()) };
            if !Key::is_of_decoders(spelled, self.architecture) {
                continue;
            }
            let refuse = |reason| Err(GgufRefusal::at(spelled, offset, reason));
            let Found::Known(key) = Key::find(spelled, self.architecture) else {
                return refuse(UNKNOWN);
            };
            if let Some(reason) = key.row().decoders.fault(value) {
                return refuse(reason);
            }
            self.put(key, offset);
        }
    }

    /// Reads the metadata of an encoder, whose keys are rejected when they are read, or by
    /// [`finish`](Self::finish).
    #[inline(never)]
    pub(crate) fn encoder(file: Gguf<'a>, architecture: &'a str) -> Self {
        let mut settings = Self::unread(file, architecture);
        let mut metadata = file.metadata();
        loop {
            let offset = metadata.offset();
            let Some((spelled, value)) = metadata.next() else { return settings };
            match Key::find(spelled, architecture) {
                Found::Known(key) => settings.put(key, offset),
                Found::Unknown if !is_off(value) => {
                    settings.unknown = settings.unknown.or(Some(offset));
                }
                Found::Unknown | Found::Foreign => {}
            }
        }
    }

    /// The first of repeated keys counts.
    fn put(&mut self, key: Key, offset: u64) {
        if let Some(place) = self.places.get_mut(key as usize).filter(|place| **place == 0) {
            *place = offset;
        }
    }

    /// The spelling, the offset and the value of a key.
    #[inline(never)] // there once for all keys
    fn setting(&self, key: Key) -> Option<(&'a str, u64, Value<'a>)> {
        let offset = *self.places.get(key as usize).filter(|offset| **offset != 0)?;
        let (spelled, value) = self.file.pair(offset)?;
        Some((spelled, offset, value))
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: Key) -> Option<Value<'a>> {
        self.asked.set(self.asked.get() | bit(key));
        self.setting(key).map(|(_, _, value)| value)
    }

    /// The key as the file spells it.
    pub(super) fn spelled(&self, key: Key) -> Option<&'a str> {
        self.setting(key).map(|(spelled, _, _)| spelled)
    }

    /// The number under a key whose type was checked.
    pub(super) fn number(&self, key: Key) -> Option<f64> {
        number(self.value(key)?)
    }

    /// The text under a key whose type was checked.
    pub(super) fn word(&self, key: Key) -> Option<&'a str> {
        text(self.value(key)?)
    }

    /// Rejects the value of a key, or its absence.
    pub(crate) fn refuse(&self, key: Key, reason: &'static str) -> GgufRefusal<'a> {
        match self.setting(key) {
            Some((spelled, offset, _)) => GgufRefusal::at(spelled, offset, reason),
            None => GgufRefusal::missing(key.name()),
        }
    }
}

const fn bit(key: Key) -> u128 {
    1_u128.wrapping_shl(key as u32)
}

/// Values whose types are checked when they are read.
impl<'a> Keys<'a> {
    /// Marks keys as known that have no effect here.
    pub(crate) fn known(&self, keys: &[Key]) {
        for key in keys {
            self.asked.set(self.asked.get() | bit(*key));
        }
    }

    /// Marks the keys of the tokenizer as known.
    pub(super) fn know_tokenizer(&self) {
        for key in Key::all().filter(|key| key.is_of_tokenizer()) {
            self.known(&[key]);
        }
    }

    /// A number, which may be fractional.
    pub(super) fn float(&self, key: Key) -> Outcome<'a, Option<f64>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Array { .. }) => Err(self.refuse(key, ONE_VALUE)),
            Some(value) => number(value).map(Some).ok_or_else(|| self.refuse(key, NUMBER)),
        }
    }

    /// A positive number, such as the base of rotary frequencies.
    pub(super) fn positive(&self, key: Key) -> Outcome<'a, Option<f32>> {
        let Some(number) = self.float(key)? else { return Ok(None) };
        #[allow(clippy::cast_possible_truncation)] // models are not this precise
        let number = number as f32;
        match number.is_finite() && number > 0.0 {
            true => Ok(Some(number)),
            false => Err(self.refuse(key, POSITIVE)),
        }
    }

    /// A number within a limit.
    pub(crate) fn size(&self, key: Key, limit: Limit) -> Outcome<'a, Option<usize>> {
        let number = match self.value(key) {
            None => return Ok(None),
            Some(Value::Unsigned(number)) => Some(number),
            Some(Value::Signed(number)) => u64::try_from(number).ok(),
            Some(Value::Array { .. }) => return Err(self.refuse(key, ONE_VALUE)),
            Some(_) => None,
        };
        let number = number.ok_or_else(|| self.refuse(key, NUMBER))?;
        let size = limit.check(number).map_err(|error| {
            self.refuse(key, "it is larger than in any model").with_kind(error.kind())
        })?;
        Ok(Some(size))
    }

    /// A required number within a limit, not 0.
    pub(super) fn needed(&self, key: Key, limit: Limit) -> Outcome<'a, usize> {
        match self.size(key, limit)? {
            None => Err(GgufRefusal::missing(key.name())),
            Some(0) => Err(self.refuse(key, POSITIVE)),
            Some(size) => Ok(size),
        }
    }

    /// A text.
    pub(crate) fn text(&self, key: Key) -> Outcome<'a, Option<&'a str>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.refuse(key, "a text is needed here")),
        }
    }

    /// A boolean; this project's own keys may have a string, as in other formats' metadata.
    pub(crate) fn truth(&self, key: Key) -> Outcome<'a, Option<bool>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(truth)),
            Some(Value::Text(word @ ("true" | "false"))) => Ok(Some(word == "true")),
            Some(_) => Err(self.refuse(key, "true or false is needed here")),
        }
    }

    /// Rejects the first key that has neither been read nor is known to have no effect, unless it
    /// is off.
    pub(crate) fn finish(&self) -> Outcome<'a, ()> {
        let is_unasked = |key: &Key| {
            let is_irrelevant = matches!(key.row().encoders, Rule::Irrelevant);
            self.asked.get() & bit(*key) == 0 && !is_irrelevant
        };
        let offset = |key: Key| {
            let (_, offset, value) = self.setting(key)?;
            (!is_off(value)).then_some(offset)
        };
        let unasked = Key::all().filter(is_unasked).filter_map(offset);
        match unasked.chain(self.unknown).min().and_then(|at| Some((at, self.file.pair(at)?))) {
            Some((offset, (spelled, _))) => Err(GgufRefusal::at(spelled, offset, UNKNOWN)),
            None => Ok(()),
        }
    }
}
