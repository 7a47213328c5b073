//! A report on a file as JSON, built from a decoder's events.

use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_core::event::{Event, FileInfo, Format, Value};
use nanoembed_core::tensor::TensorHeader;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// JavaScript spells floats; doing so here would take a third of the inspector.
    #[wasm_bindgen(js_name = String)]
    fn spell(number: f64) -> String;
}

/// How many elements of an array in the metadata are shown.
const SHOWN_ELEMENTS: u64 = 16;

/// The facts that have been seen so far.
#[derive(Debug, Default)]
pub struct Report {
    info: Option<FileInfo>,
    tensors: Vec<u8>,
    metadata: Vec<u8>,
    document: Vec<u8>,
    special: Vec<u8>,
    vocabulary: Vec<u8>,
    /// Layers that have a header of their own, as blobs of UQFF 0.x have.
    layers: Vec<u8>,
    in_layer: bool,
    /// True while the elements of an array are written.
    in_array: bool,
    tokens: u64,
    ngrams: u64,
}

impl Report {
    pub(crate) fn add(&mut self, event: &Event<'_>) {
        if let Event::Header(info) = event {
            self.info = Some(*info);
        }
        if !matches!(event, Event::Element { .. }) {
            self.close_array();
        }
        // The names and values of these formats come as JSON spells them.
        let is_spelled =
            self.info.is_some_and(|info| matches!(info.format, Format::Safetensors | Format::Uqff));
        match event {
            Event::Metadata { key, value } => {
                let out = &mut self.metadata;
                member(out, key, is_spelled);
                text(out, value, is_spelled);
            }
            Event::Document { text, .. } => self.document.extend(text.as_bytes()),
            Event::Value { key, value } => {
                if *key == "layer" && is_spelled {
                    self.begin_layer();
                }
                let out = self.values();
                member(out, key, is_spelled);
                self.in_array = put_value(out, value);
            }
            Event::Element { index, value } if *index < SHOWN_ELEMENTS => {
                let out = self.values();
                if *index > 0 {
                    out.push(b',');
                }
                put_value(out, value);
            }
            Event::Token { .. } => self.tokens = self.tokens.saturating_add(1),
            Event::Ngram { .. } => self.ngrams = self.ngrams.saturating_add(1),
            Event::SpecialToken { role, id } => {
                member(&mut self.special, role.name(), false);
                number(&mut self.special, (*id).into());
            }
            Event::Vocabulary(vocabulary) => {
                let out = &mut self.vocabulary;
                member(out, "kind", false);
                text(out, vocabulary.subwords.name(), false);
                for (name, value) in [
                    ("words", vocabulary.words),
                    ("minN", vocabulary.min_n),
                    ("maxN", vocabulary.max_n),
                ] {
                    member(out, name, false);
                    number(out, value.into());
                }
            }
            Event::Tensor(tensor) if self.in_layer => {
                member(&mut self.layers, tensor.name, is_spelled);
                put_tensor(&mut self.layers, tensor, is_spelled);
            }
            Event::Tensor(tensor) => {
                if !self.tensors.is_empty() {
                    self.tensors.push(b',');
                }
                put_tensor(&mut self.tensors, tensor, is_spelled);
            }
            _ => {}
        }
    }

    /// Where values go: to the layer that they are about, or to the file's metadata.
    fn values(&mut self) -> &mut Vec<u8> {
        if self.in_layer { &mut self.layers } else { &mut self.metadata }
    }

    fn close_array(&mut self) {
        if self.in_array {
            self.in_array = false;
            self.values().extend(b"]}");
        }
    }

    fn begin_layer(&mut self) {
        if self.in_layer {
            self.layers.extend(b"},");
        }
        self.in_layer = true;
        self.layers.push(b'{');
    }

    /// `data` is where the data begins, for files whose tensors' offsets count from there;
    /// `first_document` the bytes of the first of two documents, for files that have two.
    pub(crate) fn json(&mut self, data: u64, first_document: Option<u64>) -> String {
        self.close_array();
        if self.in_layer {
            self.in_layer = false;
            self.layers.push(b'}');
        }
        let mut out = Vec::new();
        if let Some(info) = self.info {
            member(&mut out, "format", false);
            text(&mut out, info.format.name(), false);
            member(&mut out, "variant", false);
            text(&mut out, info.variant, false);
            member(&mut out, "version", false);
            out.push(b'[');
            number(&mut out, info.version.major.into());
            out.push(b',');
            number(&mut out, info.version.minor.into());
            out.push(b']');
        }
        member(&mut out, "dataOffset", false);
        number(&mut out, data);
        for (name, count) in [("tokens", self.tokens), ("ngrams", self.ngrams)] {
            member(&mut out, name, false);
            number(&mut out, count);
        }
        let first = first_document.and_then(|bytes| usize::try_from(bytes).ok());
        let all = &self.document[..];
        let (document, configuration) =
            first.and_then(|first| all.split_at_checked(first)).unwrap_or((all, &[]));
        for (name, document) in [("document", document), ("configuration", configuration)] {
            if !document.is_empty() {
                member(&mut out, name, false);
                text(&mut out, core::str::from_utf8(document).unwrap_or(""), false);
            }
        }
        for (name, content) in [
            ("metadata", &self.metadata),
            ("special", &self.special),
            ("vocabulary", &self.vocabulary),
        ] {
            member(&mut out, name, false);
            out.push(b'{');
            out.extend(content);
            out.push(b'}');
        }
        for (name, content) in [("layers", &self.layers), ("tensors", &self.tensors)] {
            member(&mut out, name, false);
            out.push(b'[');
            out.extend(content);
            out.push(b']');
        }
        let mut json = String::from("{");
        json.push_str(core::str::from_utf8(&out).unwrap_or(""));
        json.push('}');
        json
    }
}

/// Begins a member of an object, after what is there.
fn member(out: &mut Vec<u8>, name: &str, is_spelled: bool) {
    if !matches!(out.last(), None | Some(b'{')) {
        out.push(b',');
    }
    text(out, name, is_spelled);
    out.push(b':');
}

fn text(out: &mut Vec<u8>, text: &str, is_spelled: bool) {
    out.push(b'"');
    if is_spelled {
        out.extend(text.as_bytes());
    } else {
        for byte in text.bytes() {
            match byte {
                b'"' | b'\\' => out.extend([b'\\', byte]),
                0..=0x1f => {
                    let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
                    out.extend(b"\\u00");
                    out.extend([digit(byte >> 4), digit(byte)]);
                }
                _ => out.push(byte),
            }
        }
    }
    out.push(b'"');
}

fn number(out: &mut Vec<u8>, mut number: u64) {
    let start = out.len();
    loop {
        #[allow(clippy::cast_possible_truncation, reason = "a digit")]
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

/// Writes a value; whether it was the beginning of an array, whose elements follow.
fn put_value(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match *value {
        Value::Unsigned(value) => number(out, value),
        Value::Signed(value) => {
            if value < 0 {
                out.push(b'-');
            }
            number(out, value.unsigned_abs());
        }
        Value::Float(value) if value.is_finite() => out.extend(spell(value).as_bytes()),
        Value::Float(_) => out.extend(b"null"),
        Value::Bool(value) => out.extend(if value { &b"true"[..] } else { b"false" }),
        Value::Text(value) => text(out, value, false),
        Value::Array { count } => {
            out.extend(b"{\"count\":");
            number(out, count);
            out.extend(b",\"first\":[");
            return true;
        }
    }
    false
}

fn put_tensor(out: &mut Vec<u8>, tensor: &TensorHeader<'_>, is_spelled: bool) {
    out.extend(b"{\"name\":");
    text(out, tensor.name, is_spelled);
    out.extend(b",\"dtype\":");
    text(out, tensor.dtype.name(), false);
    out.extend(b",\"shape\":[");
    for (at, &dim) in tensor.shape.dims().iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        number(out, dim);
    }
    out.extend(b"],\"offset\":");
    number(out, tensor.offset);
    out.extend(b",\"bytes\":");
    number(out, tensor.bytes);
    out.push(b'}');
}
