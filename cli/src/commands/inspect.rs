//! `inspect`: all that a file says of itself, without reading its weights.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed_core::event::{Event, FileInfo, Format, Mode};
use nanoembed_core::format::embd::{DEFAULT_MAX_TENSORS, Decoder, Embd, Flags, LinearLayout};
use nanoembed_core::format::sniff;
use nanoembed_core::read::Slice;
use nanoembed_core::{Error, ErrorKind};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Failure, Result, name_of};
use crate::mapped::Mapped;
use crate::output::lines::Lines;
use crate::output::table::{Align, Table};
use crate::output::units;

/// Show a file's header, metadata, tokenizer and tensors, without reading its weights
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed inspect model.weights
  nanoembed inspect --json *.weights | jq '.tensors | length'
  curl -s https://example.org/model.weights | nanoembed inspect -

With `--json` every file is one line:
  {\"file\", \"format\", \"variant\", \"file_bytes\", \"metadata\", \"tokenizer\", …,
   \"tensors\": [{\"name\", \"dtype\", \"shape\", \"offset\", \"bytes\"}]}")]
pub(crate) struct Inspect {
    /// Files to look into; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// One line of JSON for every file
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut lines = Lines::stdout();
        for (ordinal, path) in self.files.iter().enumerate() {
            let file = Mapped::open(path)?;
            let summary = Summary::read(path, &file)
                .map_err(|error| Failure::of_file(name_of(path), error))?;
            if self.json {
                lines.json(&summary)?;
                continue;
            }
            if ordinal > 0 {
                lines.text("")?;
            }
            for line in summary.text() {
                lines.text(line)?;
            }
        }
        lines.finish()?;
        Ok(ExitCode::SUCCESS)
    }
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
    parameters: u64,
    tensor_bytes: u64,
    bits_per_parameter: f64,
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

#[derive(Debug, Serialize)]
struct Tensor {
    name: String,
    dtype: &'static str,
    shape: Vec<u64>,
    offset: u64,
    bytes: u64,
}

impl Summary {
    fn read(path: &Path, file: &[u8]) -> Result<Self, Error> {
        match sniff(file) {
            Some(Format::Embd) => Self::embd(path, file),
            _ => Err(Error::new(0, ErrorKind::UnknownFormat)),
        }
    }

    fn embd(path: &Path, file: &[u8]) -> Result<Self, Error> {
        let mut source =
            Slice::new(Decoder::<DEFAULT_MAX_TENSORS>::new(Mode::Lenient), file).without_data();
        let mut summary = Self::empty(path, file);
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
                Event::Tensor(tensor) => summary.tensors.push(Tensor {
                    name: tensor.name.to_owned(),
                    dtype: tensor.dtype.name(),
                    shape: tensor.shape.dims().to_vec(),
                    offset: tensor.offset,
                    bytes: tensor.bytes,
                }),
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
        summary.add_up();
        Ok(summary)
    }

    fn empty(path: &Path, file: &[u8]) -> Self {
        Self {
            file: name_of(path),
            format: "",
            variant: "",
            version: String::new(),
            file_bytes: file.len() as u64,
            flags: Vec::new(),
            linear_layout: None,
            metadata: Map::new(),
            tokenizer: None,
            parameters: 0,
            tensor_bytes: 0,
            bits_per_parameter: 0.0,
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

    /// Companions and indices are not parameters, but they take room.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn add_up(&mut self) {
        let is_parameter = |name: &str| {
            !name.starts_with("vocab.")
                && !name.ends_with(".scale")
                && !name.ends_with(".zero_point")
        };
        let model = || self.tensors.iter().filter(|tensor| !tensor.name.starts_with("vocab."));
        let elements = |tensor: &Tensor| tensor.shape.iter().product::<u64>();
        self.parameters =
            model().filter(|tensor| is_parameter(&tensor.name)).map(elements).sum::<u64>();
        self.tensor_bytes = self.tensors.iter().map(|tensor| tensor.bytes).sum();
        let bytes: u64 = model().map(|tensor| tensor.bytes).sum();
        if self.parameters > 0 {
            let bits = bytes as f64 * 8.0 / self.parameters as f64;
            self.bits_per_parameter = (bits * 1000.0).round() / 1000.0;
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
        fact("tensors", self.totals());
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
            text.extend(self.tensor_table().lines(4));
        }
        text
    }

    fn totals(&self) -> String {
        format!(
            "{} with {} parameters in {}, {:.2} bits per parameter",
            self.tensors.len(),
            units::count(self.parameters),
            units::bytes(self.tensor_bytes),
            self.bits_per_parameter,
        )
    }

    fn tensor_table(&self) -> Table {
        let mut table =
            Table::new(&[Align::Left, Align::Left, Align::Left, Align::Right, Align::Right]);
        table.row(["name", "dtype", "shape", "offset", "bytes"].map(str::to_owned));
        for tensor in &self.tensors {
            table.row([
                tensor.name.clone(),
                tensor.dtype.to_owned(),
                format!("{:?}", tensor.shape),
                tensor.offset.to_string(),
                tensor.bytes.to_string(),
            ]);
        }
        table
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
