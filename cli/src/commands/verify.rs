//! `verify`: checks that a file is whole, and reports its faults.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::inspect::verification::{Finding, verify};
use nanoembed::stored::FileSet;
use nanoembed_core::event::Mode;

use crate::args::words::PolicyArgs;
use crate::error::{self, Result};
use crate::output::lines::LineWriter;
use crate::progress::Terminal;

/// Check a file's structure, bounds and checksums, and the model in it
///
/// Files of every form that `convert` reads, word vectors too, and folders as on Hugging Face: all
/// parts of the weights and the JSON files beside them. A model is opened as `embed` or `generate`
/// would open it, and faults that prevent that are reported. In a format without checksums a
/// changed value cannot be detected; the report says so.
///
/// Exit status 0 if nothing is wrong with any file, 1 if something is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed verify model.weights
  nanoembed verify --strict --json *.weights
  nanoembed verify q4k-0.uqff
  nanoembed verify vectors.fifu --duplicates first --utf8 bytes

`--strict` refuses harmless deviations too and, in GGUF, safetensors and UQFF files, values
that are no finite numbers, and runs the model on one text. The shards of a UQFF file are opened together.

With `--json` every finding is one line:
  {\"file\", \"offset\", \"code\", \"name\", \"message\"}
`offset` is null where it is the file as a whole that is wrong.")]
pub(crate) struct Verify {
    /// Files or folders to check; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// Refuse harmless deviations from the format too
    #[arg(long)]
    strict: bool,

    /// One line of JSON for every finding, none for files without
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl Verify {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let observer = Terminal::new(quiet);
        let mode = if self.strict { Mode::Strict } else { Mode::Lenient };
        let mut lines = LineWriter::stdout();
        let mut status = 0;
        for set in FileSet::open_each(&self.files) {
            let set = match set {
                Ok(set) => set,
                Err(failure) => {
                    error::print(&failure);
                    status = status.max(error::exit_code(&failure));
                    continue;
                }
            };
            let name = set.given_name();
            let (findings, praise) = match verify(&set, mode, self.policy.policy(), &observer) {
                Ok(checked) => (Vec::new(), checked),
                Err(findings) => (findings, String::new()),
            };
            status = status.max(u8::from(!findings.is_empty()));
            for finding in &findings {
                if self.json {
                    lines.json(finding)?;
                    continue;
                }
                let Finding { file, offset, code, name: cause, message, .. } = finding;
                let place = offset.map_or_else(String::new, |offset| format!("byte {offset}: "));
                lines.text(format_args!("{file}: {place}{message} [{code} {cause}]"))?;
            }
            if !self.json {
                let mut hints: Vec<&str> =
                    findings.iter().filter_map(|f| f.hint.as_deref()).collect();
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
        Ok(ExitCode::from(status))
    }
}
