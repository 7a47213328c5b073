//! `metadata`: the description of its origin in a `.fifu` file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nanoembed::files::mapped_file::MappedFile;
use nanoembed::words::file::WordFile;
use nanoembed::words::{derivation, metadata};
use nanoembed_core::text::toml::TomlEntries;

use crate::args::words::PolicyArgs;
use crate::error::{Error, Result, name_of};
use crate::output::create;
use crate::output::form::{self, form_of};
use crate::output::lines::LineWriter;

/// Show or change a `.fifu` file's metadata
///
/// Without KEY the whole TOML document. A key in a table has the table's name and a dot before it.
/// To change metadata, name a file to write: IN itself may be it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed metadata vectors.fifu
  nanoembed metadata vectors.fifu common_config.dims
  nanoembed metadata vectors.fifu --set description=\"News, 2026\" --set run.seed=7 -o vectors.fifu
  nanoembed metadata vectors.fifu --toml meta.toml -o with-metadata.fifu")]
pub(crate) struct Metadata {
    /// A `.fifu` file
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,

    /// Only the value of this key; exit status 1 if there is none
    key: Option<String>,

    /// Set a key to a value; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::convert::key_value, requires = "output", conflicts_with = "key")]
    set: Vec<(String, String)>,

    /// Take the whole metadata from a TOML file; `-` is stdin
    #[arg(long, alias = "from", value_name = "FILE", requires = "output", conflicts_with = "key")]
    toml: Option<PathBuf>,

    /// The `.fifu` file to write; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Format of FILE, where its ending does not tell
    #[arg(long, value_enum, value_name = "NAME", requires = "output")]
    format: Option<MetadataFormat>,

    #[command(flatten)]
    policy: PolicyArgs,
}

/// A format for metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MetadataFormat {
    /// A finalfusion file
    Finalfusion,
}

impl form::Form for MetadataFormat {
    fn endings(&self) -> &'static [&'static str] {
        &["fifu"]
    }
}

impl Metadata {
    pub(crate) fn run(self) -> Result<ExitCode> {
        if let Some(output) = &self.output {
            form_of(output, self.format, MetadataFormat::Finalfusion)?;
        }
        let bytes = MappedFile::open(&self.input)?;
        let opened = WordFile::parse(&self.input, &bytes, self.policy.policy())?;
        let document = opened.file.metadata();
        let Some(output) = &self.output else {
            let text = match &self.key {
                None => document.map(str::to_owned),
                Some(key) => metadata::value_of(document.unwrap_or(""), key)?,
            };
            let text = text.ok_or_else(|| {
                let what = self.key.as_deref().unwrap_or("metadata");
                Error::not_found(format!("there is no {what}")).at(&opened.name)
            })?;
            let mut lines = LineWriter::stdout();
            lines.block(text.trim_end_matches('\n'))?;
            lines.finish()?;
            return Ok(ExitCode::SUCCESS);
        };
        let document = match &self.toml {
            None => document.unwrap_or("").to_owned(),
            Some(path) => {
                let bytes = MappedFile::open(path)?;
                let text = str::from_utf8(&bytes)
                    .map_err(|_| Error::bad_input("not valid UTF-8").at(name_of(path)))?;
                metadata::parse(text).map_err(|failure| failure.at(name_of(path)))?;
                text.to_owned()
            }
        };
        let document = metadata::edited(&document, &self.set)?;
        // What other readers are to read should at least be read here.
        if let Some(error) = TomlEntries::new(&document).find_map(std::result::Result::err) {
            return Err(Error::in_file("the metadata", error));
        }
        let document = Some(&document[..]).filter(|document| !document.is_empty());
        let mut file = create(output, true)?;
        let name = file.name();
        derivation::copy(&opened, document, (&mut file, &name))?;
        file.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}
