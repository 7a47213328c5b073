//! `index`: the indices of folders, by which they are searched.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nanoembed::Encoder;
use nanoembed::escape::line;
use nanoembed_search::{
    Cutting, IndexStatus, Tree, TreeOptions, Watch, cache_folder, drop_index, index_status,
};
use serde_json::json;

use super::search::FileArgs;
use crate::args::EmbedderArgs;
use crate::error::{Error, Result, name_of, warn};
use crate::output::lines::LineWriter;
use crate::progress::Terminal;
use crate::streams::say;

/// Make the index of folders beforehand, keep it up to date, look at it, or remove it
///
/// `search` keeps an index of every folder that it searches, and brings it up to date each time. This
/// command does the same without a search. An index is for one model and its options.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed index docs/
  nanoembed index --watch docs/
  nanoembed index --in-folder docs/
  nanoembed index --status docs/
  nanoembed index --drop docs/

Indices are in the folder `search` of NANOEMBED_CACHE, else of `nanoembed` in the user's folder for
caches, or with `--in-folder` in `.nanoembed` of their folder, where later searches find them. With
`--json`, each status is one line:
  {\"folder\", \"index\", \"model\", \"files\", \"passages\", \"bytes\", \"age_seconds\"}
`index` is the file.")]
pub(crate) struct Index {
    #[command(flatten)]
    files: FileArgs,

    /// Stay, and bring the indices up to date when files have changed; Ctrl-C ends
    #[arg(short, long)]
    watch: bool,

    /// Keep each index in its folder, in `.nanoembed`, where later searches by the same user find it
    #[arg(long)]
    in_folder: bool,

    /// Show the state of each index
    #[arg(long, conflicts_with_all = ["drop", "watch", "in_folder"])]
    status: bool,

    /// Remove each index
    #[arg(long, conflicts_with_all = ["watch", "in_folder"])]
    drop: bool,

    /// States as lines of JSON
    #[arg(long, requires = "status")]
    json: bool,

    #[command(flatten)]
    pub(super) embedder: EmbedderArgs,
}

impl Index {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.embedder.model.use_threads()?;
        let encoder = self.embedder.open(quiet)?;
        let folders = self.folders()?;
        let options = self.options()?;
        match (self.status, self.drop) {
            (true, _) => return self.show(&folders, &options, &encoder),
            (_, true) => remove(&folders, &options, &encoder, quiet)?,
            _ if self.watch => watch(&folders, &options, &encoder, quiet)?,
            _ => make(&folders, &options, &encoder, quiet)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn folders(&self) -> Result<Vec<PathBuf>> {
        let folders = self.files.paths();
        match folders.iter().find(|path| !path.is_dir()) {
            Some(path) if path.exists() => Err(Error::usage("only folders have an index")
                .at(path.display())
                .with_hint("files that are named are read by each search")),
            Some(path) => Err(Error::not_found("there is no such folder").at(path.display())),
            None => Ok(folders),
        }
    }

    fn options(&self) -> Result<TreeOptions> {
        let store = cache_folder().ok_or_else(|| {
            Error::not_found("there is no folder for indices")
                .with_hint("NANOEMBED_CACHE names one")
        })?;
        let cutting = Cutting { form: self.files.form(), lossy: false };
        let (walk, in_folder) = (self.files.walk(), self.in_folder);
        Ok(TreeOptions { walk, cutting, store: Some(store), in_folder, vectors: true })
    }

    fn show(
        &self,
        folders: &[PathBuf],
        options: &TreeOptions,
        encoder: &Encoder,
    ) -> Result<ExitCode> {
        let mut lines = LineWriter::stdout();
        let mut are_all = true;
        for folder in folders {
            let Some(status) = index_status(folder, options, encoder)? else {
                are_all = false;
                if !self.json {
                    lines
                        .text(format_args!("{}: no index", line(&folder.display().to_string())))?;
                }
                continue;
            };
            let age = status.age().as_secs();
            let IndexStatus { root, index, files, passages, bytes, .. } = status;
            let (root, model) = (root.display().to_string(), encoder.model_name());
            let index = index.display().to_string();
            if self.json {
                lines.json(&json!({
                    "folder": root, "index": index, "model": model, "files": files,
                    "passages": passages, "bytes": bytes, "age_seconds": age,
                }))?;
                continue;
            }
            let (root, index) = (line(&root), line(&index));
            lines.text(format_args!(
                "{root}: {files} files, {passages} passages, {bytes} bytes, by {model}, {age} s old, \
                 in {index}"
            ))?;
        }
        lines.finish()?;
        Ok(if are_all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn make(folders: &[PathBuf], options: &TreeOptions, encoder: &Encoder, quiet: bool) -> Result<()> {
    let tree = Tree::open(folders, options, encoder, &Terminal::new(quiet))?;
    if !quiet {
        tree.messages().iter().for_each(warn);
        say(made(&tree));
    }
    Ok(())
}

fn made(tree: &Tree) -> String {
    format!("{} passages, {} texts embedded", tree.passages(), tree.embedded)
}

/// Ends only by an error or an interruption: an index is replaced as a whole, and texts that were
/// embedded for the next one are in its journal.
fn watch(folders: &[PathBuf], options: &TreeOptions, encoder: &Encoder, quiet: bool) -> Result<()> {
    let terminal = Terminal::new(quiet);
    let mut watch = Watch::new(folders, options)?;
    let tree = watch.next_update(encoder, &terminal)?;
    let mut messages = tree.messages();
    if !quiet {
        messages.iter().for_each(warn);
        say(made(&tree));
        let names: Vec<String> = folders.iter().map(|folder| name_of(folder)).collect();
        say(format_args!("watching {}; Ctrl-C ends", names.join(", ")));
    }
    drop(tree);
    loop {
        let tree = watch.next_update(encoder, &terminal)?;
        if quiet {
            continue;
        }
        // Those about folders are the same each time.
        let before = std::mem::replace(&mut messages, tree.messages());
        messages.iter().filter(|message| !before.contains(message)).for_each(warn);
        let Tree { files_read, files_removed, .. } = tree;
        say(format_args!("{files_read} files read, {files_removed} removed: {}", made(&tree)));
    }
}

fn remove(
    folders: &[PathBuf],
    options: &TreeOptions,
    encoder: &Encoder,
    quiet: bool,
) -> Result<()> {
    for folder in folders {
        let dropped = drop_index(folder, options, encoder)?;
        if quiet {
            continue;
        }
        match dropped {
            Some(root) => say(format_args!("removed the index of {}", root.display())),
            None => say(format_args!("{} has no index", folder.display())),
        }
    }
    Ok(())
}
