//! What a file says, event by event: header, metadata, tokens, tensors, and the data if it is wanted.

use core::ffi::{c_char, c_void};

use nanoembed_core::event::{Decode, Event, Format, Mode, SpecialRole, Step, Value};
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::{SNIFF_BYTES, amb, embd, finalfusion, gguf, safetensors, sniff, uqff};
use nanoembed_core::read::{Push, Seek};
use nanoembed_core::subword::Subwords;
use nanoembed_core::{Error, ErrorKind};

use crate::memory::Lent;
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Failure, INVALID, NANOEMBED_STOPPED, Outcome, answer, nanoembed_error, nanoembed_status, report,
};
use crate::tensor::nanoembed_tensor;

/// The formats.
pub type nanoembed_format = u32;
/// None that this library knows.
pub const NANOEMBED_FORMAT_UNKNOWN: nanoembed_format = 0;
/// EMBD `.weights`.
pub const NANOEMBED_FORMAT_EMBD: nanoembed_format = 1;
/// finalfusion `.fifu`.
pub const NANOEMBED_FORMAT_FINALFUSION: nanoembed_format = 2;
/// GGUF.
pub const NANOEMBED_FORMAT_GGUF: nanoembed_format = 3;
/// safetensors.
pub const NANOEMBED_FORMAT_SAFETENSORS: nanoembed_format = 4;
/// UQFF, in a safetensors container, which is how it is recognised.
pub const NANOEMBED_FORMAT_UQFF: nanoembed_format = 5;
/// AMB.
pub const NANOEMBED_FORMAT_AMB: nanoembed_format = 6;

fn number_of(format: Format) -> nanoembed_format {
    match format {
        Format::Embd => NANOEMBED_FORMAT_EMBD,
        Format::Finalfusion => NANOEMBED_FORMAT_FINALFUSION,
        Format::Gguf => NANOEMBED_FORMAT_GGUF,
        Format::Safetensors => NANOEMBED_FORMAT_SAFETENSORS,
        Format::Uqff => NANOEMBED_FORMAT_UQFF,
        Format::Amb => NANOEMBED_FORMAT_AMB,
        _ => NANOEMBED_FORMAT_UNKNOWN,
    }
}

/// How many bytes `nanoembed_sniff` wants to see.
pub const NANOEMBED_SNIFF_BYTES: usize = 9;
const _: () = assert!(SNIFF_BYTES == NANOEMBED_SNIFF_BYTES);

/// Recognises a format by a file's first bytes; `NANOEMBED_FORMAT_UNKNOWN` also for NULL.
///
/// # Safety
///
/// `start` points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_sniff(start: *const u8, bytes: usize) -> nanoembed_format {
    // SAFETY: the caller's promise.
    let start = unsafe { pointer::slice(start, bytes) };
    start.ok().and_then(sniff).map_or(NANOEMBED_FORMAT_UNKNOWN, number_of)
}

/// The name of a format, for example `embd`, or `unknown`. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_format_name(format: nanoembed_format) -> *const c_char {
    let name = match format {
        NANOEMBED_FORMAT_EMBD => c"embd",
        NANOEMBED_FORMAT_FINALFUSION => c"finalfusion",
        NANOEMBED_FORMAT_GGUF => c"gguf",
        NANOEMBED_FORMAT_SAFETENSORS => c"safetensors",
        NANOEMBED_FORMAT_UQFF => c"uqff",
        NANOEMBED_FORMAT_AMB => c"amb",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// Bytes that are not ended by a zero. They lie in the file or in the reader's buffer, and are good until the next call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_bytes {
    /// The first byte.
    pub data: *const u8,
    /// How many there are.
    pub length: usize,
}

impl nanoembed_bytes {
    const NONE: Self = Self::of(b"");

    const fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), length: bytes.len() }
    }
}

/// What an event is about.
pub type nanoembed_event_kind = u32;
/// The content is complete; always the last event.
pub const NANOEMBED_EVENT_END: nanoembed_event_kind = 0;
/// The fixed header: `format`, `key` (the layout's name), `version_major`, `version_minor`, `id` (the number of tensors),
/// `integer` (the file's length); the last two are 0 where the header does not say. Always the first event.
pub const NANOEMBED_EVENT_HEADER: nanoembed_event_kind = 1;
/// A metadata entry: `key`, `value`.
pub const NANOEMBED_EVENT_METADATA: nanoembed_event_kind = 2;
/// A piece of a metadata document in the format's own language (TOML in finalfusion): `value`, `offset`.
pub const NANOEMBED_EVENT_DOCUMENT: nanoembed_event_kind = 3;
/// The parameters of a vocabulary of words: `id` words; `key` is the kind of their subwords; `integer` rows of subwords.
pub const NANOEMBED_EVENT_VOCABULARY: nanoembed_event_kind = 4;
/// A metadata entry whose value is a number, a truth value, a text or the beginning of an array of `integer` elements:
/// `key`, `value_type`, and `integer`, `real` or `value`.
pub const NANOEMBED_EVENT_VALUE: nanoembed_event_kind = 5;
/// Element `id` of the array that the last value began: as there.
pub const NANOEMBED_EVENT_ELEMENT: nanoembed_event_kind = 6;
/// Token or word number `id`: `value`.
pub const NANOEMBED_EVENT_TOKEN: nanoembed_event_kind = 7;
/// An n-gram: `value`, and `integer`, the index that the file gives it.
pub const NANOEMBED_EVENT_NGRAM: nanoembed_event_kind = 8;
/// A token with a special role: `key` (`pad`, `unk`, `cls`, `sep`, `mask`), `id`.
pub const NANOEMBED_EVENT_SPECIAL_TOKEN: nanoembed_event_kind = 9;
/// A tensor: `key` (its name), `tensor`.
pub const NANOEMBED_EVENT_TENSOR: nanoembed_event_kind = 10;
/// A piece of tensor data: `value`, `offset`. Pieces may be cut anywhere.
pub const NANOEMBED_EVENT_DATA: nanoembed_event_kind = 11;

/// The type of a metadata value.
pub type nanoembed_value_type = u32;
/// There is no typed value.
pub const NANOEMBED_VALUE_NONE: nanoembed_value_type = 0;
/// An integer that is not negative: `integer`.
pub const NANOEMBED_VALUE_UNSIGNED: nanoembed_value_type = 1;
/// An integer: `integer`, to be read as `int64_t`.
pub const NANOEMBED_VALUE_SIGNED: nanoembed_value_type = 2;
/// A number: `real`.
pub const NANOEMBED_VALUE_FLOAT: nanoembed_value_type = 3;
/// A truth value: `integer` is 0 or 1.
pub const NANOEMBED_VALUE_BOOL: nanoembed_value_type = 4;
/// A text: `value`.
pub const NANOEMBED_VALUE_TEXT: nanoembed_value_type = 5;
/// The beginning of an array of `integer` elements.
pub const NANOEMBED_VALUE_ARRAY: nanoembed_value_type = 6;

/// Something that a file says. Which fields count depends on `kind`; the others are 0 and empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_event {
    /// What it is about.
    pub kind: nanoembed_event_kind,
    /// A number, see `kind`.
    pub id: u32,
    /// The format.
    pub format: nanoembed_format,
    /// The type of the value.
    pub value_type: nanoembed_value_type,
    /// The version of the format.
    pub version_major: u32,
    /// The version of the format.
    pub version_minor: u32,
    /// A name, in UTF-8.
    pub key: nanoembed_bytes,
    /// A value.
    pub value: nanoembed_bytes,
    /// A number, see `kind`.
    pub integer: u64,
    /// A number, see `kind`.
    pub real: f64,
    /// Absolute offset in the file, see `kind`.
    pub offset: u64,
    /// The tensor.
    pub tensor: nanoembed_tensor,
}

impl nanoembed_event {
    const END: Self = Self {
        kind: NANOEMBED_EVENT_END,
        id: 0,
        format: 0,
        value_type: 0,
        version_major: 0,
        version_minor: 0,
        key: nanoembed_bytes::NONE,
        value: nanoembed_bytes::NONE,
        integer: 0,
        real: 0.0,
        offset: 0,
        tensor: nanoembed_tensor::NONE,
    };

    const fn new(kind: nanoembed_event_kind) -> Self {
        Self { kind, ..Self::END }
    }

    fn typed(mut self, value: Value<'_>) -> Self {
        match value {
            Value::Unsigned(number) => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_UNSIGNED, number);
            }
            Value::Signed(number) => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_SIGNED, number.cast_unsigned());
            }
            Value::Float(number) => {
                (self.value_type, self.real) = (NANOEMBED_VALUE_FLOAT, number);
            }
            Value::Bool(truth) => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_BOOL, truth.into());
            }
            Value::Text(text) => {
                self.value_type = NANOEMBED_VALUE_TEXT;
                self.value = nanoembed_bytes::of(text.as_bytes());
            }
            Value::Array { count } => {
                (self.value_type, self.integer) = (NANOEMBED_VALUE_ARRAY, count);
            }
        }
        self
    }

    fn of(event: &Event<'_>) -> Self {
        let text = |text: &str| nanoembed_bytes::of(text.as_bytes());
        let (key, value) = (text, nanoembed_bytes::of);
        match *event {
            Event::Header(info) => Self {
                format: number_of(info.format),
                key: key(info.variant),
                version_major: info.version.0.into(),
                version_minor: info.version.1.into(),
                id: info.tensors.unwrap_or(0),
                integer: info.file_bytes.unwrap_or(0),
                ..Self::new(NANOEMBED_EVENT_HEADER)
            },
            Event::Metadata { key: name, value } => {
                Self { key: key(name), value: text(value), ..Self::new(NANOEMBED_EVENT_METADATA) }
            }
            Event::Document { offset, text: piece } => {
                Self { value: text(piece), offset, ..Self::new(NANOEMBED_EVENT_DOCUMENT) }
            }
            Event::Vocabulary(vocabulary) => Self {
                id: vocabulary.words,
                key: key(vocabulary.subwords.name()),
                integer: subword_rows(&vocabulary.subwords),
                ..Self::new(NANOEMBED_EVENT_VOCABULARY)
            },
            Event::Value { key: name, value } => {
                Self { key: key(name), ..Self::new(NANOEMBED_EVENT_VALUE) }.typed(value)
            }
            Event::Element { index, value } => Self {
                id: u32::try_from(index).unwrap_or(u32::MAX),
                ..Self::new(NANOEMBED_EVENT_ELEMENT)
            }
            .typed(value),
            Event::Token { id, bytes } => {
                Self { id, value: value(bytes), ..Self::new(NANOEMBED_EVENT_TOKEN) }
            }
            Event::Ngram { bytes, index } => {
                Self { value: value(bytes), integer: index, ..Self::new(NANOEMBED_EVENT_NGRAM) }
            }
            Event::SpecialToken { role, id } => {
                Self { key: key(role_name(role)), id, ..Self::new(NANOEMBED_EVENT_SPECIAL_TOKEN) }
            }
            Event::Tensor(header) => Self {
                key: key(header.name),
                offset: header.offset,
                tensor: nanoembed_tensor::of(&header),
                ..Self::new(NANOEMBED_EVENT_TENSOR)
            },
            Event::Data { offset, bytes } => {
                Self { value: value(bytes), offset, ..Self::new(NANOEMBED_EVENT_DATA) }
            }
            // Sources keep the first to themselves.
            Event::NeedMore { .. } | Event::End => Self::END,
        }
    }
}

const fn role_name(role: SpecialRole) -> &'static str {
    role.name()
}

fn subword_rows(subwords: &Subwords) -> u64 {
    match subwords {
        Subwords::Explicit { ngrams } => (*ngrams).into(),
        hashed => hashed.rows().unwrap_or(0),
    }
}

/// How many tensors a file may have.
const TENSORS: usize = if cfg!(feature = "std") { 1024 } else { 256 };

/// The decoder of any format, in the caller's memory: nothing to put the large ones in a box of.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum AnyDecoder {
    Embd(embd::Decoder<TENSORS>),
    Finalfusion(finalfusion::Decoder),
    Gguf(gguf::Decoder<TENSORS>),
    Safetensors(safetensors::Decoder<'static>),
    Uqff(uqff::Decoder<'static>),
    Amb(amb::Decoder<TENSORS>),
}

macro_rules! each {
    ($decoder:expr, $inner:ident => $what:expr) => {
        match $decoder {
            AnyDecoder::Embd($inner) => $what,
            AnyDecoder::Finalfusion($inner) => $what,
            AnyDecoder::Gguf($inner) => $what,
            AnyDecoder::Safetensors($inner) => $what,
            AnyDecoder::Uqff($inner) => $what,
            AnyDecoder::Amb($inner) => $what,
        }
    };
}

impl Decode for AnyDecoder {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error> {
        each!(self, decoder => decoder.next(input))
    }

    fn offset(&self) -> u64 {
        each!(self, decoder => decoder.offset())
    }

    fn skippable(&self) -> u64 {
        each!(self, decoder => decoder.skippable())
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        each!(self, decoder => decoder.skip(bytes))
    }

    fn is_complete(&self) -> bool {
        each!(self, decoder => decoder.is_complete())
    }
}

#[derive(Debug)]
enum Reading {
    Pulled(Seek<'static, Bytes, &'static mut AnyDecoder>),
    Pushed(Push<'static, &'static mut AnyDecoder>),
}

/// Reads a file's structure. Used by one thread at a time.
#[derive(Debug)]
pub struct nanoembed_reader {
    reading: Reading,
}

/// How a file is to be read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_reader_options {
    /// The format, for example as `nanoembed_sniff` answers. UQFF is recognised as safetensors, and must be asked for.
    pub format: nanoembed_format,
    /// 0 to accept harmless deviations from the format's letter, 1 to refuse every one.
    pub strict: u32,
    /// 1 to have the data of tensors, too; 0 to pass over it, in storage unread.
    pub data: u32,
}

/// Memory that a reader needs beside its buffer, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_reader_bytes() -> usize {
    least_bytes().unwrap_or(usize::MAX)
}

fn least_bytes() -> Outcome<usize> {
    let mut sum = crate::memory::Sum::default();
    sum.add::<nanoembed_reader>(1)?;
    sum.add::<AnyDecoder>(1)?;
    sum.add::<Entry>(TENSORS)?;
    Ok(sum.bytes())
}

/// Makes a reader in `memory` and puts the handle, which lies there, into `*reader`. What `memory_bytes` is more than
/// `nanoembed_reader_bytes()` is the reader's buffer, which must hold the longest name, token or metadata entry: some
/// hundred bytes in real files; with less, files that have longer ones are refused.
///
/// With a `source` events are pulled by `nanoembed_reader_next`; with NULL the file is pushed, chunk by chunk, through
/// `nanoembed_reader_feed` and `nanoembed_reader_finish`.
///
/// # Safety
///
/// `source` is NULL or what its type says, `options` points to options, `memory` to as many bytes, aligned to
/// `NANOEMBED_ALIGN`, that nobody else touches as long as the reader is used; `reader` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_init(
    source: *const nanoembed_source,
    options: *const nanoembed_reader_options,
    memory: *mut u8,
    memory_bytes: usize,
    reader: *mut *mut nanoembed_reader,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (options, out, mut lent, source) = unsafe {
            let source = if source.is_null() { None } else { Some(Bytes::new(source)?) };
            (
                pointer::get(options)?,
                pointer::out(reader)?,
                Lent::new(memory, memory_bytes)?,
                source,
            )
        };
        let mode = if options.strict == 0 { Mode::Lenient } else { Mode::Strict };
        let handle: *mut nanoembed_reader = lent.place(1)?;
        let decoder: *mut AnyDecoder = lent.place(1)?;
        let entries = lent.filled(TENSORS, Entry::default())?;
        let made = match options.format {
            NANOEMBED_FORMAT_EMBD => AnyDecoder::Embd(embd::Decoder::new(mode)),
            NANOEMBED_FORMAT_FINALFUSION => {
                AnyDecoder::Finalfusion(finalfusion::Decoder::new(mode))
            }
            NANOEMBED_FORMAT_GGUF => AnyDecoder::Gguf(gguf::Decoder::new(mode)),
            NANOEMBED_FORMAT_SAFETENSORS => {
                AnyDecoder::Safetensors(safetensors::Decoder::new(mode, entries))
            }
            NANOEMBED_FORMAT_UQFF => AnyDecoder::Uqff(uqff::Decoder::new(mode, entries)),
            NANOEMBED_FORMAT_AMB => AnyDecoder::Amb(amb::Decoder::new(mode)),
            _ => return Err(ErrorKind::UnknownFormat.into()),
        };
        let buffer = lent.left() / crate::memory::ALIGN * crate::memory::ALIGN;
        let buffer = lent.filled(buffer, 0)?;
        // SAFETY: the place was taken for it, and nobody else has it.
        let decoder = unsafe {
            decoder.write(made);
            &mut *decoder
        };
        let reading = match source {
            None => Reading::Pushed(Push::new(decoder, buffer)),
            Some(source) => {
                let seek = Seek::new(source, decoder, buffer);
                Reading::Pulled(if options.data == 0 { seek.without_data() } else { seek })
            }
        };
        // SAFETY: as before.
        unsafe { handle.write(nanoembed_reader { reading }) };
        out.write(handle);
        Ok(())
    };
    answer(make())
}

/// Puts the next thing that the file says into `*event`; `NANOEMBED_EVENT_END` at its end. After an error every call
/// returns that error.
///
/// # Safety
///
/// `reader` is NULL or a reader, `event` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_next(
    reader: *mut nanoembed_reader,
    event: *mut nanoembed_event,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (reader, out) = unsafe { (pointer::get_mut(reader)?, pointer::out(event)?) };
        let Reading::Pulled(seek) = &mut reader.reading else { return Err(INVALID) };
        let mut found = nanoembed_event::END;
        seek.next_event(|event| {
            found = nanoembed_event::of(&event);
            Ok(())
        })?;
        out.write(found);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Is called with what a pushed file says; anything but 0 stops the reader with `NANOEMBED_STOPPED`.
pub type nanoembed_on_event =
    Option<unsafe extern "C" fn(context: *mut c_void, event: *const nanoembed_event) -> i32>;

/// What the callback of a pushed reader asked for.
fn pushed(
    reader: &mut nanoembed_reader,
    on_event: nanoembed_on_event,
    context: *mut c_void,
    push: impl FnOnce(
        &mut Push<'static, &'static mut AnyDecoder>,
        &mut dyn FnMut(Event<'_>) -> Result<(), Error>,
    ) -> Result<(), Error>,
) -> Outcome {
    let on_event = on_event.ok_or(crate::status::BAD_POINTER)?;
    let Reading::Pushed(pushed) = &mut reader.reading else { return Err(INVALID) };
    let mut stopped = false;
    let outcome = push(pushed, &mut |event| {
        let event = nanoembed_event::of(&event);
        // SAFETY: the contract of the callback; the event lives as long as the call.
        stopped = unsafe { on_event(context, &raw const event) } != 0;
        if stopped { Err(Error::without_offset(ErrorKind::Finished)) } else { Ok(()) }
    });
    if stopped {
        return Err(Failure::Here(NANOEMBED_STOPPED));
    }
    Ok(outcome?)
}

/// Pushes the next chunk of a file, of any length.
///
/// # Safety
///
/// `reader` is NULL or a reader, `chunk` points to `bytes` bytes; `on_event` is called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_feed(
    reader: *mut nanoembed_reader,
    chunk: *const u8,
    bytes: usize,
    on_event: nanoembed_on_event,
    context: *mut c_void,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (reader, chunk) = unsafe { (pointer::get_mut(reader)?, pointer::slice(chunk, bytes)?) };
        pushed(reader, on_event, context, |push, on_event| push.feed(chunk, on_event))
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Declares the end of a pushed file: an error if the content is not complete, else the event `NANOEMBED_EVENT_END` comes.
///
/// # Safety
///
/// `reader` is NULL or a reader; `on_event` is called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_finish(
    reader: *mut nanoembed_reader,
    on_event: nanoembed_on_event,
    context: *mut c_void,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let reader = unsafe { pointer::get_mut(reader)? };
        pushed(reader, on_event, context, |push, on_event| push.finish(on_event))
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
