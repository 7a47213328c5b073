//! Report of a finished conversion.

use std::path::Path;

use nanoembed::convert::{Converted, WrittenFile};
use nanoembed::units::{self, Listed};
use nanoembed::words::Report;

use crate::error::{Result, name_of_output, warn};
use crate::output::lines::LineWriter;
use crate::output::table::{Align, Table};
use crate::streams::say;

/// Reports a file of word vectors.
pub(super) fn words(report: &Report, name: &str) {
    let subwords = match report.subwords {
        0 => String::new(),
        count => format!(", {} rows for subwords", units::count(count)),
    };
    let cols = match report.cols {
        0 => String::new(),
        cols => format!(" of {cols} columns"),
    };
    say(format_args!("{name}: {} words{cols}{subwords}", units::count(report.words)));
    if report.repeated > 0 {
        warn(format_args!(
            "{} words stood there twice; the first vector of each was kept",
            report.repeated
        ));
    }
}

/// The sizes of files of weights, but for stdout.
pub(in crate::commands) fn files(written: &[WrittenFile]) {
    for WrittenFile { path, bytes, .. } in written.iter().filter(|it| it.path != Path::new("-")) {
        say(format_args!("{}: {}", path.display(), units::bytes(*bytes)));
    }
}

/// The report of a converted model.
pub(in crate::commands) struct Model<'m> {
    pub(in crate::commands) output: &'m Path,
    pub(in crate::commands) json: bool,
    /// True if the pooler was kept.
    pub(in crate::commands) pooler: bool,
}

impl Model<'_> {
    /// Every tensor to stdout if that was asked for; else sizes and errors by type to stderr, as
    /// stdout may be the file.
    pub(in crate::commands) fn print(&self, converted: &Converted, quiet: bool) -> Result<()> {
        if self.json {
            let mut lines = LineWriter::stdout();
            converted.tally.tensors.iter().try_for_each(|tensor| lines.json(tensor))?;
            lines.finish()?;
        } else if !quiet {
            self.report_types(converted);
        }
        Ok(())
    }

    fn report_types(&self, Converted { left_out, files, tally, .. }: &Converted) {
        let mut table = Table::new(&[
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ]);
        let heads = ["type", "tensors", "parameters", "size", "error (NMSE)", "largest in"];
        table.row(heads.map(str::to_owned));
        for entry in &tally.by_type {
            let worst = entry.worst.as_ref().filter(|(_, share)| *share > 0.0);
            let (error, worst) = match worst {
                Some((name, share)) => {
                    (format!("{:.1e}", entry.nmse()), format!("{name} {share:.1e}"))
                }
                None => ("none".into(), String::new()),
            };
            table.row([
                entry.name.to_owned(),
                entry.tensors.to_string(),
                units::count(entry.parameters),
                units::bytes(entry.bytes),
                error,
                worst,
            ]);
        }
        let output = name_of_output(self.output);
        say(format_args!("{output}: {}", units::bytes(files.iter().map(|file| file.bytes).sum())));
        for line in table.lines(2) {
            say(line);
        }
        let is_pooler = |name: &String| name.starts_with("pooler.");
        if !left_out.is_empty() {
            let pooler = if left_out.iter().any(is_pooler) && !self.pooler {
                " (`--pooler` keeps the pooler)"
            } else {
                ""
            };
            say(format_args!("  left out: {}{pooler}", Listed(left_out)));
        }
    }
}
