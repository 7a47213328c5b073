//! The files of folders, as ripgrep finds them: without hidden ones, and those that `.gitignore` and its
//! like name.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkBuilder};
use nanoembed::{Error, Result};

use crate::store::OWN_FOLDER;

/// Files with more bytes are no texts that people read.
pub const MOST_BYTES: u64 = 64 << 20;

/// The bytes in which a NUL says that a file is no text.
const SNIFFED: usize = 8 << 10;

/// A file that changed less than this before it is read may change again without a later time of
/// change, as file systems' clocks tick slowly.
pub(crate) const TICK: Duration = Duration::from_secs(2);

/// The files that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    globs: Vec<String>,
    types: Vec<String>,
    hidden: bool,
    no_ignore: bool,
    /// The folder of indices, whose files are none of those of a folder that contains it.
    without: Option<PathBuf>,
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path, beginning with the folder as it was given.
    pub path: PathBuf,
    /// True if the file itself was given, and not its folder.
    pub is_given: bool,
    /// Its size in bytes when it was found; 0 for stdin.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970; 0 if that is not known.
    pub changed: u64,
}

impl Found {
    /// A file that was given by its name.
    #[must_use]
    pub fn given(path: &Path) -> Self {
        Self { path: path.to_owned(), is_given: true, size: 0, changed: 0 }
    }

    /// True if it may change again without a later time of change. A time in the future is none that
    /// a change now would give it.
    pub(crate) fn is_recent(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.abs_diff(Duration::from_nanos(self.changed)) <= TICK
    }
}

/// The files that were found, and messages about those that could not be read.
#[derive(Debug, Default)]
pub struct Files {
    /// In the order of their paths, in that of the paths that were given.
    pub found: Vec<Found>,
    /// The folders in which files were looked for.
    pub folders: Vec<PathBuf>,
    /// One for each file or folder.
    pub warnings: Vec<String>,
}

impl Walk {
    /// Only files that match one of these globs, or none of those that begin with `!`.
    #[must_use]
    pub fn globs(self, globs: Vec<String>) -> Self {
        Self { globs, ..self }
    }

    /// Only files of one of these types, as `rg --type-list` has them.
    #[must_use]
    pub fn types(self, types: Vec<String>) -> Self {
        Self { types, ..self }
    }

    /// Hidden files, too.
    #[must_use]
    pub const fn hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }

    /// Files that `.gitignore`, `.ignore` and their like name, too.
    #[must_use]
    pub const fn no_ignore(mut self, no_ignore: bool) -> Self {
        self.no_ignore = no_ignore;
        self
    }

    /// None of the files in `folder`, which has indices.
    pub(crate) fn without(mut self, folder: Option<&Path>) -> Self {
        self.without = folder.and_then(|folder| folder.canonicalize().ok());
        self
    }

    /// True if all files of a folder are wanted, but for those that are never indexed unless asked for.
    pub(crate) const fn is_whole(&self) -> bool {
        self.globs.is_empty() && self.types.is_empty()
    }

    /// The files of a folder, or the file itself.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](nanoembed::Kind::Usage) for an invalid glob or an unknown type; fails if `path`
    /// does not exist.
    pub fn find(&self, path: &Path, files: &mut Files) -> Result<()> {
        let name = || path.display().to_string();
        let metadata = path.metadata().map_err(|error| Error::reading(name(), &error))?;
        if !metadata.is_dir() {
            files.found.push(Found::given(path));
            return Ok(());
        }
        let walk = self.builder(path)?.build();
        for entry in walk {
            match entry {
                Ok(entry) if is_file(&entry) => add(&entry, files),
                Ok(entry) if is_folder(&entry) => files.folders.push(entry.into_path()),
                Ok(_) => {}
                Err(error) => files.warnings.push(error.to_string()),
            }
        }
        Ok(())
    }

    fn builder(&self, path: &Path) -> Result<WalkBuilder> {
        let mut builder = WalkBuilder::new(path);
        builder.hidden(!self.hidden).sort_by_file_path(Path::cmp);
        let without = self.without.clone();
        builder.filter_entry(move |entry| !has_indices(entry, without.as_deref()));
        if self.no_ignore {
            builder.ignore(false).git_ignore(false).git_exclude(false).git_global(false);
            builder.parents(false);
        }
        let mut globs = OverrideBuilder::new(path);
        for glob in &self.globs {
            globs.add(glob).map_err(|error| Error::argument("glob", error.to_string()))?;
        }
        let globs = globs.build().map_err(|error| Error::argument("glob", error.to_string()))?;
        builder.overrides(globs);
        if !self.types.is_empty() {
            builder.types(self.selected()?);
        }
        Ok(builder)
    }

    fn selected(&self) -> Result<ignore::types::Types> {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        for name in &self.types {
            let is_known = types.definitions().iter().any(|known| known.name() == name);
            if !is_known && name != "all" {
                return Err(Error::argument("type", format!("{name}: there is no such type"))
                    .with_hint("such as `py`, `rust`, `md`, `html`; `rg --type-list` has all"));
            }
            types.select(name);
        }
        types.build().map_err(|error| Error::argument("type", error.to_string()))
    }
}

fn add(entry: &DirEntry, files: &mut Files) {
    let path = entry.path();
    let path = path.strip_prefix("./").unwrap_or(path).to_owned();
    match entry.metadata() {
        Ok(metadata) if metadata.len() > MOST_BYTES => {
            let name = path.display();
            files.warnings.push(format!("{name}: left out, more than {MOST_BYTES} bytes"));
        }
        Ok(metadata) => {
            let (size, changed) = (metadata.len(), changed(&metadata));
            files.found.push(Found { path, is_given: false, size, changed });
        }
        Err(error) => files.warnings.push(error.to_string()),
    }
}

fn changed(metadata: &Metadata) -> u64 {
    let changed = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    changed.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// True if an entry is a folder of indices: one in a tree, or that of all others.
fn has_indices(entry: &DirEntry, others: Option<&Path>) -> bool {
    let is_others = |others: &Path| {
        // Most have another name, and need not be looked up.
        others.file_name() == Some(entry.file_name())
            && entry.path().canonicalize().is_ok_and(|path| path == others)
    };
    is_folder(entry) && (entry.file_name() == OWN_FOLDER || others.is_some_and(is_others))
}

/// The bytes of a file; `None` if it is no text.
///
/// # Errors
///
/// Fails if the file cannot be read or has more than [`MOST_BYTES`].
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let name = || path.display().to_string();
    let failed = |error| Error::reading(name(), &error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::bad_input(format!("has more than {MOST_BYTES} bytes")).at(name()));
    }
    let is_text = !bytes.iter().take(SNIFFED).any(|byte| *byte == 0);
    Ok(is_text.then_some(bytes))
}
