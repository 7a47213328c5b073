//! `.weights` files: header, flags, metadata, tokenizer, tensors.

use nanoembed_core::Error;
use nanoembed_core::event::{Event, FileInfo, Mode};
use nanoembed_core::format::embd::{DEFAULT_MAX_TENSORS, Decoder, Embd, Flags, LinearLayout};
use nanoembed_core::read::Slice;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Inspection;
use super::tensors::{self, Tensor, Totals};
use crate::output::table::{Align, Table};
use crate::output::units;

pub(super) fn inspect(name: &str, file: &[u8]) -> Result<Inspection, Error> {
    let summary = Summary::read(name, file)?;
    Ok(Inspection::new(&summary, summary.text()))
}

/// What a file says of itself. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    format: &'static str,
    variant: &'static str,
    version: String,
    file_bytes: u64,
    flags: Vec<&'static str>,
    linear_layout: Option<&'static str>,
    metadata: Map<String, Value>,
    tokenizer: Option<Tokenizer>,
    #[serde(flatten)]
    totals: Totals,
    tensors: Vec<Tensor>,
}

#[derive(Debug, Default, Serialize)]
struct Tokenizer {
    kind: &'static str,
    tokens: u64,
    special: Map<String, Value>,
    /// The special tokens as the vocabulary spells them, for people.
    #[serde(skip)]
    spelled: Vec<(String, u32)>,
}

impl Summary {
    fn read(name: &str, file: &[u8]) -> Result<Self, Error> {
        let mut source =
            Slice::new(Decoder::<DEFAULT_MAX_TENSORS>::new(Mode::Lenient), file).without_data();
        let mut summary = Self::empty(name, file);
        loop {
            match source.next_event()? {
                Event::Header(info) => summary.header(&info),
                Event::Metadata { key, value } => {
                    summary.metadata.insert(key.to_owned(), value.into());
                }
                Event::Token { .. } => summary.wordpiece().tokens += 1,
                Event::SpecialToken { role, id } => {
                    summary.wordpiece().special.insert(role.name().to_owned(), id.into());
                }
                Event::Tensor(tensor) => summary.tensors.push((&tensor).into()),
                Event::End => break,
                _ => {}
            }
        }
        let embd = Embd::parse(file, Mode::Lenient)?;
        summary.flags = flag_names(embd.flags());
        summary.linear_layout = match embd.linear_layout() {
            LinearLayout::OutIn => Some("[out, in]"),
            LinearLayout::InOut => Some("[in, out]"),
            LinearLayout::Unknown => None,
        };
        summary.spell_special(&embd);
        summary.totals = Totals::of(&summary.tensors);
        Ok(summary)
    }

    fn empty(name: &str, file: &[u8]) -> Self {
        Self {
            file: name.to_owned(),
            format: "",
            variant: "",
            version: String::new(),
            file_bytes: file.len() as u64,
            flags: Vec::new(),
            linear_layout: None,
            metadata: Map::new(),
            tokenizer: None,
            totals: Totals::default(),
            tensors: Vec::new(),
        }
    }

    fn header(&mut self, info: &FileInfo) {
        self.format = info.format.name();
        self.variant = info.variant;
        self.version = format!("{}.{}", info.version.0, info.version.1);
    }

    fn wordpiece(&mut self) -> &mut Tokenizer {
        self.tokenizer
            .get_or_insert_with(|| Tokenizer { kind: "wordpiece", ..Tokenizer::default() })
    }

    fn spell_special(&mut self, embd: &Embd<'_>) {
        let Some(tokenizer) = &mut self.tokenizer else { return };
        let ids = tokenizer.special.values().filter_map(Value::as_u64);
        let mut ids: Vec<u32> = ids.filter_map(|id| u32::try_from(id).ok()).collect();
        ids.sort_unstable();
        ids.dedup();
        for (id, token) in (0..).zip(embd.tokens()) {
            if ids.binary_search(&id).is_ok() {
                tokenizer.spelled.push((String::from_utf8_lossy(token).into_owned(), id));
            }
        }
    }

    fn text(&self) -> Vec<String> {
        let mut text = vec![self.file.clone()];
        let mut facts = Table::new(&[Align::Left, Align::Left]);
        let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
        fact("format", format!("{} {}, {} layout", self.format, self.version, self.variant));
        fact("size", format!("{} ({} bytes)", units::bytes(self.file_bytes), self.file_bytes));
        if !self.flags.is_empty() {
            fact("flags", self.flags.join(", "));
        }
        if let Some(layout) = self.linear_layout {
            let remark =
                if layout == "[in, out]" { ", transposed: convert the file to use it" } else { "" };
            fact("linear", format!("{layout}{remark}"));
        }
        if let Some(tokenizer) = &self.tokenizer {
            let special = tokenizer.spelled.iter().map(|(token, id)| format!("{token} {id}"));
            let special: Vec<String> = special.collect();
            fact("tokenizer", format!("{} with {} tokens", tokenizer.kind, tokenizer.tokens));
            if !special.is_empty() {
                fact("special", special.join(", "));
            }
        }
        fact("tensors", self.totals.text(self.tensors.len()));
        text.extend(facts.lines(2));
        if !self.metadata.is_empty() {
            text.extend(["".into(), "  metadata".into()]);
            let mut table = Table::new(&[Align::Left, Align::Left]);
            for (key, value) in &self.metadata {
                table.row([key.clone(), value.as_str().unwrap_or_default().to_owned()]);
            }
            text.extend(table.lines(4));
        }
        if !self.tensors.is_empty() {
            text.extend(["".into(), "  tensors".into()]);
            text.extend(tensors::table(&self.tensors).lines(4));
        }
        text
    }
}

fn flag_names(flags: Flags) -> Vec<&'static str> {
    let named = [
        (Flags::VOCABULARY, "vocabulary"),
        (Flags::ALIGNED, "aligned"),
        (Flags::CHECKSUMS, "checksums"),
        (Flags::COMPRESSED, "compressed"),
    ];
    let set = named.iter().filter(|(bit, _)| flags.has(*bit)).map(|(_, name)| *name);
    set.chain(flags.has_unknown().then_some("unknown")).collect()
}
