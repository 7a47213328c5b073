//! `.amb` files: sections, metadata and configuration, tokenizer, tensors.

use nanoembed_core::Error as CoreError;
use nanoembed_core::event::{Event, Mode, SpecialRole, Value as EventValue};
use nanoembed_core::format::amb::{Amb, AmbDecoder, CHECKSUM, DEFAULT_MAX_TENSORS};
use nanoembed_core::read::Slice;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tensors::{Tensor, Totals};
use crate::folder::json_file::tree;

/// The description of an AMB file. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct AmbSummary {
    pub file: String,
    pub format: &'static str,
    pub variant: &'static str,
    pub version: String,
    pub file_bytes: u64,
    pub checksum: bool,
    pub metadata: Value,
    pub config: Value,
    pub tokenizer: Option<AmbTokenizer>,
    #[serde(flatten)]
    pub totals: Totals,
    pub tensors: Vec<Tensor>,
}

#[derive(Debug, Serialize)]
pub struct AmbTokenizer {
    pub kind: &'static str,
    pub tokens: u64,
    pub merges: u64,
    pub bytes: u64,
    pub special: Map<String, Value>,
}

impl AmbSummary {
    pub(super) fn read(name: &str, file: &[u8]) -> Result<Self, CoreError> {
        let decoder = AmbDecoder::<DEFAULT_MAX_TENSORS>::new(Mode::Lenient);
        let mut source = Slice::new(decoder, file).without_data();
        let amb = Amb::parse(file, Mode::Lenient)?;
        let json = |text: &str| tree(text.as_bytes()).unwrap_or_default();
        let mut summary = Self {
            file: name.to_owned(),
            format: "amb",
            variant: "",
            version: String::new(),
            file_bytes: file.len() as u64,
            checksum: amb.tensor(CHECKSUM).is_some(),
            metadata: json(amb.metadata()),
            config: json(amb.config()),
            tokenizer: amb.tokenizer().map(|tokenizer| AmbTokenizer {
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
                    summary.version = info.version.major.to_string();
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
        summary.totals = Totals::from_tensors(&summary.tensors);
        Ok(summary)
    }

    fn count(&mut self, change: impl FnOnce(&mut AmbTokenizer)) {
        if let Some(tokenizer) = &mut self.tokenizer {
            change(tokenizer);
        }
    }
}
