//! `models`: the models that can be used by their names.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nanoembed::Model;
use nanoembed::files::hub_cache;
use nanoembed::open::source::built_in_name;
use serde_json::{Value, json};

use crate::error::Result;
use crate::output::lines::LineWriter;
use crate::streams::Stdout;

/// List the models that commands know by name
///
/// These are the one that is built in, and those in the cache of the Hugging Face hub, where
/// `hf download ORGANISATION/MODEL` puts them. Each is opened to see what it does. Nothing is
/// downloaded here.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed models
  hf download intfloat/multilingual-e5-small && nanoembed embed -m intfloat/multilingual-e5-small \"a text\"

The cache is the folder in HF_HUB_CACHE, else `hub` in HF_HOME, else
`~/.cache/huggingface/hub`. With `--json`, each model is one line:
  {\"name\", \"path\", \"kind\", \"dimensions\", \"error\"}
`kind` is `encoder`, `cross_encoder` or `generator`, and null with an `error`.")]
pub(crate) struct Models {
    /// One line of JSON for every model
    #[arg(long)]
    json: bool,
}

impl Models {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut lines = LineWriter::stdout();
        if let Some(name) = built_in_name() {
            self.write(&mut lines, name, None, Model::options().built_in())?;
            lines.flush()?;
        }
        for cached in hub_cache::models() {
            let model = Model::open(&cached.folder);
            self.write(&mut lines, &cached.name, Some(&cached.folder), model)?;
            lines.flush()?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write(
        &self,
        lines: &mut LineWriter<Stdout>,
        name: &str,
        folder: Option<&Path>,
        model: Result<Model>,
    ) -> Result<()> {
        let (kind, dimensions, does) = match &model {
            Ok(Model::Encoder(model)) => {
                let dimensions = model.dimensions();
                (Some("encoder"), Some(dimensions), format!("embeds in {dimensions} dimensions"))
            }
            Ok(Model::CrossEncoder(_)) => (Some("cross_encoder"), None, "ranks texts".into()),
            Ok(Model::Generator(_)) => (Some("generator"), None, "continues texts".into()),
            Ok(_) => (None, None, "has word vectors".into()),
            Err(error) => (None, None, format!("cannot be used: {error}")),
        };
        if self.json {
            let path = folder.map_or(Value::Null, |folder| folder.to_string_lossy().into());
            let error = model.err().map(|error| error.to_string());
            return lines.json(&json!({
                "name": name, "path": path, "kind": kind, "dimensions": dimensions, "error": error,
            }));
        }
        let from = if folder.is_none() { ", built in" } else { "" };
        lines.text(format_args!("{name:<44} {does}{from}"))
    }
}
