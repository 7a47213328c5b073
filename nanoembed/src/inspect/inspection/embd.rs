//! `.weights` files: header, flags, metadata, tokenizer, tensors.

use nanoembed_core::Error as CoreError;
use nanoembed_core::event::{Event, FileInfo, Mode};
use nanoembed_core::format::embd::{DEFAULT_MAX_TENSORS, Embd, EmbdDecoder, Flags, LinearLayout};
use nanoembed_core::read::Slice;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tensors::{Tensor, Totals};

/// The description of a `.weights` file. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct EmbdSummary {
    pub file: String,
    pub format: &'static str,
    pub variant: &'static str,
    pub version: String,
    pub file_bytes: u64,
    pub flags: Vec<&'static str>,
    pub linear_layout: Option<&'static str>,
    pub metadata: Map<String, Value>,
    pub tokenizer: Option<EmbdTokenizer>,
    #[serde(flatten)]
    pub totals: Totals,
    pub tensors: Vec<Tensor>,
}

#[derive(Debug, Default, Serialize)]
pub struct EmbdTokenizer {
    pub kind: &'static str,
    pub tokens: u64,
    pub special: Map<String, Value>,
    /// The special tokens as the vocabulary spells them, for people.
    #[serde(skip)]
    pub spelled: Vec<(String, u32)>,
}

impl EmbdSummary {
    pub(super) fn read(name: &str, file: &[u8]) -> Result<Self, CoreError> {
        let mut source =
            Slice::new(EmbdDecoder::<DEFAULT_MAX_TENSORS>::new(Mode::Lenient), file).without_data();
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
        summary.totals = Totals::from_tensors(&summary.tensors);
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
        self.version = info.version.to_string();
    }

    fn wordpiece(&mut self) -> &mut EmbdTokenizer {
        self.tokenizer
            .get_or_insert_with(|| EmbdTokenizer { kind: "wordpiece", ..EmbdTokenizer::default() })
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
