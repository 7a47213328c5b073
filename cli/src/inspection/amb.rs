//! `.amb` files: sections, metadata and configuration, tokenizer, tensors.

use nanoembed_core::Error;
use nanoembed_core::event::{Event, Mode, SpecialRole, Value as EventValue};
use nanoembed_core::format::amb::{Amb, CHECKSUM, DEFAULT_MAX_TENSORS, Decoder, TokenizerKind};
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
    checksum: bool,
    metadata: Value,
    config: Value,
    tokenizer: Option<Tokenizer>,
    #[serde(flatten)]
    totals: Totals,
    tensors: Vec<Tensor>,
}

#[derive(Debug, Serialize)]
struct Tokenizer {
    kind: &'static str,
    tokens: u64,
    merges: u64,
    bytes: u64,
    special: Map<String, Value>,
}

impl Summary {
    fn read(name: &str, file: &[u8]) -> Result<Self, Error> {
        let decoder = Decoder::<DEFAULT_MAX_TENSORS>::new(Mode::Lenient);
        let mut source = Slice::new(decoder, file).without_data();
        let amb = Amb::parse(file, Mode::Lenient)?;
        let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
        let mut summary = Self {
            file: name.to_owned(),
            format: "amb",
            variant: "",
            version: String::new(),
            file_bytes: file.len() as u64,
            checksum: amb.tensor(CHECKSUM).is_some(),
            metadata: json(amb.metadata()),
            config: json(amb.config()),
            tokenizer: amb.tokenizer().map(|tokenizer| Tokenizer {
                kind: tokenizer.kind().name(),
                tokens: 0,
                merges: 0,
                bytes: amb.layout().tokenizer.bytes,
                special: SpecialRole::ALL
                    .iter()
                    .filter_map(|role| Some((role.name().into(), tokenizer.special(*role)?.into())))
                    .collect(),
            }),
            totals: Totals::default(),
            tensors: Vec::new(),
        };
        loop {
            match source.next_event()? {
                Event::Header(info) => {
                    summary.variant = info.variant;
                    summary.version = info.version.0.to_string();
                }
                Event::Value { key: "merges", value: EventValue::Array { count } } => {
                    summary.count(|tokenizer| tokenizer.merges = count / 2);
                }
                Event::Token { .. } => summary.count(|tokenizer| tokenizer.tokens += 1),
                Event::Tensor(tensor) => summary.tensors.push((&tensor).into()),
                Event::End => break,
                _ => {}
            }
        }
        summary.totals = Totals::of(&summary.tensors);
        Ok(summary)
    }

    fn count(&mut self, change: impl FnOnce(&mut Tokenizer)) {
        if let Some(tokenizer) = &mut self.tokenizer {
            change(tokenizer);
        }
    }

    fn text(&self) -> Vec<String> {
        let mut text = vec![self.file.clone()];
        let mut facts = Table::new(&[Align::Left, Align::Left]);
        let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
        fact("format", format!("{} version {}, {}", self.format, self.version, self.variant));
        fact("size", format!("{} ({} bytes)", units::bytes(self.file_bytes), self.file_bytes));
        fact("checksum", if self.checksum { "yes" } else { "none" }.into());
        if let Some(tokenizer) = &self.tokenizer {
            let has = match tokenizer.kind {
                kind if kind == TokenizerKind::Bpe.name() => {
                    format!("{} tokens and {} merges", tokenizer.tokens, tokenizer.merges)
                }
                kind if kind == TokenizerKind::WordPiece.name() => {
                    format!("{} tokens", tokenizer.tokens)
                }
                _ => units::bytes(tokenizer.bytes),
            };
            fact("tokenizer", format!("{} with {has}", tokenizer.kind));
            let special: Vec<String> =
                tokenizer.special.iter().map(|(role, id)| format!("{role} {id}")).collect();
            if !special.is_empty() {
                fact("special", special.join(", "));
            }
        }
        fact("tensors", self.totals.text(self.tensors.len()));
        text.extend(facts.lines(2));
        for (heading, object) in [("metadata", &self.metadata), ("configuration", &self.config)] {
            let Some(members) = object.as_object().filter(|members| !members.is_empty()) else {
                continue;
            };
            text.extend(["".into(), format!("  {heading}")]);
            let mut table = Table::new(&[Align::Left, Align::Left]);
            for (key, value) in members {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                table.row([key.clone(), value]);
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
