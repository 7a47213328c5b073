//! `verify`: whether a file is whole, and what is wrong with it where it is not.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed_core::event::{Event, Format, Mode};
use nanoembed_core::format::embd::{DEFAULT_MAX_TENSORS, Embd, MAX_ITEM_BYTES, Verifier};
use nanoembed_core::format::sniff;
use nanoembed_core::read::Push;
use nanoembed_core::{Error, ErrorKind};
use serde::Serialize;

use crate::error::{Result, hint, name_of};
use crate::mapped::Mapped;
use crate::model_check;
use crate::output::lines::Lines;
use crate::progress::Progress;

/// Check a file's structure, bounds and checksums, and the model in it
///
/// Exit status 0 if nothing is wrong with any file, 1 otherwise.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed verify model.weights
  nanoembed verify --strict --json *.weights

With `--json` every finding is one line:
  {\"file\", \"offset\", \"code\", \"name\", \"message\"}")]
pub(crate) struct Verify {
    /// Files to check; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Refuse harmless deviations from the format too
    #[arg(long)]
    strict: bool,

    /// One line of JSON for every finding, none for files without
    #[arg(long)]
    json: bool,
}

/// One thing that is wrong. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Finding {
    file: String,
    offset: u64,
    code: u16,
    name: &'static str,
    message: String,
    #[serde(skip)]
    hint: Option<&'static str>,
}

impl Finding {
    fn new(file: &str, error: Error) -> Self {
        Self {
            file: file.to_owned(),
            offset: error.offset,
            code: error.code(),
            name: error.kind.name(),
            message: error.message().to_owned(),
            hint: hint(error.kind),
        }
    }

    fn of_model(file: &str, finding: model_check::Finding) -> Self {
        let error = Error::new(finding.offset, finding.kind);
        Self { message: finding.message, ..Self::new(file, error) }
    }
}

impl Verify {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let mode = if self.strict { Mode::Strict } else { Mode::Lenient };
        let mut lines = Lines::stdout();
        let mut sound = true;
        for path in &self.files {
            let bytes = Mapped::open(path)?;
            let name = name_of(path);
            let (findings, praise) = match verify(path, &bytes, mode, quiet) {
                Ok(checked) => (Vec::new(), checked),
                Err(findings) => (findings, String::new()),
            };
            sound &= findings.is_empty();
            for finding in &findings {
                if self.json {
                    lines.json(finding)?;
                    continue;
                }
                let Finding { offset, code, name: cause, message, .. } = finding;
                lines.text(format_args!("{name}: byte {offset}: {message} [{code} {cause}]"))?;
            }
            if !self.json {
                let mut hints: Vec<&str> = findings.iter().filter_map(|f| f.hint).collect();
                hints.dedup();
                for hint in hints {
                    lines.text(format_args!("  hint: {hint}"))?;
                }
            }
            if findings.is_empty() && !self.json {
                lines.text(format_args!("{name}: ok ({praise})"))?;
            }
        }
        lines.finish()?;
        Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What was checked, or what is wrong.
fn verify(
    path: &Path,
    bytes: &[u8],
    mode: Mode,
    quiet: bool,
) -> std::result::Result<String, Vec<Finding>> {
    let name = name_of(path);
    match sniff(bytes) {
        Some(Format::Embd) => {}
        _ => return Err(vec![Finding::new(&name, Error::new(0, ErrorKind::UnknownFormat))]),
    }
    let one = |error| vec![Finding::new(&name, error)];
    let facts = structure(bytes, mode, quiet).map_err(one)?;
    let file = Embd::parse(bytes, mode).map_err(one)?;
    let findings = model_check::findings(bytes, &file, mode == Mode::Strict);
    if findings.is_empty() {
        return Ok(facts);
    }
    Err(findings.into_iter().map(|finding| Finding::of_model(&name, finding)).collect())
}

/// Decodes the whole file piece by piece and compares its checksums.
fn structure(bytes: &[u8], mode: Mode, quiet: bool) -> std::result::Result<String, Error> {
    const PIECE_BYTES: usize = 1 << 20;
    let mut carry = vec![0; MAX_ITEM_BYTES];
    let mut push = Push::new(Verifier::<DEFAULT_MAX_TENSORS>::new(mode), &mut carry);
    let progress = (!quiet).then(|| Progress::bytes("verifying", bytes.len() as u64));
    let mut layout = "";
    let mut tensors = 0_u64;
    let mut tokens = 0_u64;
    let mut on_event = |event: Event<'_>| {
        match event {
            Event::Header(info) => layout = info.variant,
            Event::Tensor(_) => tensors += 1,
            Event::Token { .. } => tokens += 1,
            _ => {}
        }
        Ok(())
    };
    for piece in bytes.chunks(PIECE_BYTES) {
        push.feed(piece, &mut on_event)?;
        if let Some(progress) = &progress {
            progress.advance(piece.len() as u64);
        }
    }
    push.finish(&mut on_event)?;
    let checksums = if push.decoder().has_checksums() {
        "checksums match"
    } else {
        "the file has no checksums"
    };
    Ok(format!("{layout} layout, {tensors} tensors, {tokens} tokens, {checksums}"))
}
