//! Limits on the files that a command reads and the memory it takes.

use std::path::{Path, PathBuf};

use clap::Args;
use nanoembed::open::reading::Reading;
use nanoembed::open::source::Source;
use nanoembed::stored::FileSet;
use nanoembed::{Limits, Role};

use super::size::size;
use crate::error::{Error, Result, name_of};

/// The most bytes of files, for every command.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FileLimit {
    /// Refuse a model or a file of word vectors that is larger, in bytes or with K, M, G, T: all
    /// files of a model together [default: 1T for models that are run]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    max_file_bytes: Option<u64>,
}

/// The most scratch memory of a text, for commands that run models.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct SessionLimit {
    /// Refuse a model whose longest text takes more scratch memory in a thread, in bytes or with K,
    /// M, G, T; `--max-tokens` makes it less [default: 16G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_session_bytes: Option<u64>,
}

/// A model or file that a command reads, beside texts and settings.
pub(crate) enum Read<'c> {
    /// A model that it runs.
    Model { path: &'c Path, adapter: Option<&'c Path> },
    /// Files whose content it shows, checks or writes in another form.
    Files(&'c Path),
}

impl Read<'_> {
    pub(crate) const fn path(&self) -> &Path {
        match self {
            Self::Model { path, .. } | Self::Files(path) => path,
        }
    }

    /// The bytes of all files that belong to the named one, and its name; `None` for files that
    /// cannot be opened: the command says why.
    fn bytes(&self) -> Option<(u64, String)> {
        match self {
            Self::Model { path, adapter } => {
                // Of a model with a Router, texts of each role may need other files.
                let roles = [Role::Text, Role::Query, Role::Document].into_iter();
                let reading =
                    Reading { adapter: adapter.map(Path::to_owned), ..Reading::default() };
                let mut sources =
                    roles.filter_map(|role| Source::open_with(path, &reading.in_role(role)).ok());
                let first = sources.next()?;
                let others = first.route().is_some().then_some(sources).into_iter().flatten();
                let most = others.map(|source| source.bytes()).fold(first.bytes(), u64::max);
                Some((most, first.name().into()))
            }
            Self::Files(path) => {
                let set = FileSet::open(path).ok()?;
                Some((set.bytes(), set.given_name()))
            }
        }
    }
}

impl FileLimit {
    /// Refuses larger files among those that a command reads, before it opens one.
    pub(crate) fn check(self, reads: &[Read<'_>]) -> Result<()> {
        let Some(file_bytes) = self.max_file_bytes else { return Ok(()) };
        let limits = Limits { file_bytes, ..Limits::default() };
        for read in reads {
            let path = read.path();
            if path == Path::new("-") {
                let message = "is for files: how much comes through stdin is known at its end";
                return Err(Error::argument("max_file_bytes", message));
            }
            // By itself first, as what looks for the other files may read this one.
            let file = path.metadata().ok().filter(std::fs::Metadata::is_file);
            limits.check_file_bytes(file.map_or(0, |file| file.len()), &name_of(path))?;
            if let Some((bytes, name)) = read.bytes() {
                limits.check_file_bytes(bytes, &name)?;
            }
        }
        Ok(())
    }
}

impl SessionLimit {
    /// The limits for a session; files have been [checked](FileLimit::check) already.
    pub(crate) fn limits(self) -> Limits {
        let usual = Limits::default();
        Limits { session_bytes: self.max_session_bytes.unwrap_or(usual.session_bytes), ..usual }
    }
}

/// The files that a command names in one list.
pub(crate) fn each_file(paths: &[PathBuf]) -> Vec<Read<'_>> {
    paths.iter().map(|path| Read::Files(path)).collect()
}
