//! Output files that are either whole or not there: written to a temporary file in the same folder,
//! then renamed; and folders of them.
//!
//! A program that is interrupted calls [`remove_unfinished`] before it ends. A process that is
//! killed leaves its files: the next that writes to the folder removes them. Pipes and devices have
//! nothing to keep whole: they are written to.

mod abandoned_files;
pub mod folder;

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nanoembed_core::limit;
use tempfile::NamedTempFile;

use crate::error::{Error, Result, name_of_output};

/// The temporary files and folders of this process, for a handler of interruptions.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files and folders that are being written. None can be created or renamed as long as
/// the returned guard lives: a program that is interrupted keeps it to its end.
pub fn remove_unfinished() -> impl Sized {
    let unfinished = unfinished();
    for path in unfinished.iter() {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_dir_all(path);
    }
    unfinished
}

/// A file being written, or stdout, a pipe or a device.
pub struct NewFile {
    sink: Sink,
    target: PathBuf,
}

enum Sink {
    File(BufWriter<NamedTempFile>, Listed),
    Stream(BufWriter<Box<dyn Write>>),
}

/// The path of an unfinished file or folder, which stays in the list of unfinished files until it is dropped.
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

impl NewFile {
    /// Starts to write what shall become `target`; `-` is stdout, which must not be a terminal for
    /// `binary` content.
    pub fn create(target: &Path, binary: bool) -> Result<Self> {
        if target == Path::new("-") {
            return Self::stream(
                io::stdout().lock(),
                target.to_owned(),
                binary && io::stdout().is_terminal(),
            );
        }
        let failed = |error: io::Error| Error::writing(target.display(), &error);
        if is_stream(target) {
            let stream = OpenOptions::new().write(true).open(target).map_err(failed)?;
            let is_terminal = binary && stream.is_terminal();
            return Self::stream(stream, target.to_owned(), is_terminal);
        }
        Self::file(check_replaceable(target)?).map_err(failed)
    }

    fn stream(to: impl Write + 'static, target: PathBuf, would_garble: bool) -> Result<Self> {
        if would_garble {
            return Err(Error::usage("binary output is not written to a terminal")
                .with_hint("redirect it to a file, or name one"));
        }
        Ok(Self { sink: Sink::Stream(BufWriter::new(Box::new(to))), target })
    }

    fn file(target: PathBuf) -> io::Result<Self> {
        let mut files = unfinished();
        let file = temporary(&target, &files)?;
        files.push(file.path().to_owned());
        drop(files);
        let listed = Listed(file.path().to_owned());
        Ok(Self { sink: Sink::File(BufWriter::with_capacity(1 << 20, file), listed), target })
    }

    /// The name that messages give to the file.
    pub fn name(&self) -> String {
        name_of_output(&self.target)
    }

    /// True for stdout, a pipe or a device, which others may read as it comes.
    #[must_use]
    pub const fn is_stream(&self) -> bool {
        matches!(self.sink, Sink::Stream(_))
    }

    /// The bytes written so far, mapped or read back; `None` for what keeps none.
    pub fn written(&mut self) -> Result<Option<File>> {
        self.flush().map_err(|error| Error::writing(self.name(), &error))?;
        match &self.sink {
            Sink::File(writer, _) => {
                let file = writer.get_ref().reopen();
                file.map(Some).map_err(|error| Error::reading(self.name(), &error))
            }
            Sink::Stream(_) => Ok(None),
        }
    }

    /// Puts the whole file in its place.
    pub fn commit(mut self) -> Result<()> {
        let name = self.name();
        self.flush().map_err(|error| Error::writing(&name, &error))?;
        let Sink::File(writer, _listed) = self.sink else { return Ok(()) };
        let failed = |error: io::Error| Error::writing(&name, &error);
        let file = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.as_file().sync_all().map_err(failed)?;
        let mut files = unfinished();
        files.retain(|unfinished| unfinished != file.path());
        file.persist(&self.target).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Refuses to overwrite inputs. Devices have nothing to lose.
pub fn keep_inputs<I: AsRef<Path>, O: AsRef<Path>>(
    inputs: impl IntoIterator<Item = I>,
    outputs: impl IntoIterator<Item = O>,
) -> Result<()> {
    let inputs = inputs.into_iter().filter_map(|input| input.as_ref().canonicalize().ok());
    let inputs = limit::collected(inputs.filter(|input| input.is_file()));
    let inputs: Vec<PathBuf> = inputs.map_err(|error| Error::in_file("the inputs", error))?;
    let is_input =
        |output: &O| output.as_ref().canonicalize().is_ok_and(|output| inputs.contains(&output));
    match outputs.into_iter().find(is_input) {
        Some(output) => {
            let name = output.as_ref().display();
            Err(Error::usage(format!("{name} is read, and would be overwritten"))
                .with_hint("choose another name or folder for what is written"))
        }
        None => Ok(()),
    }
}

/// Puts files that belong together in their places, the first last: readers look for the set by it.
/// If the process ends in between, no first file is there, and an incomplete set is not taken for
/// one.
pub fn commit_set(mut files: Vec<NewFile>) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let first = files.remove(0);
    if !files.is_empty() && first.target.is_file() {
        std::fs::remove_file(&first.target)
            .map_err(|error| Error::writing(first.name(), &error))?;
    }
    files.into_iter().try_for_each(NewFile::commit)?;
    first.commit()
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::File(file, _) => file.write(bytes),
            Sink::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File(file, _) => file.flush(),
            Sink::Stream(stream) => stream.flush(),
        }
    }
}

/// True if writing to `target` is writing to stdout, a pipe or a device, which keep nothing.
#[must_use]
pub fn is_stream(target: &Path) -> bool {
    let is_other = |there: Metadata| !there.is_file() && !there.is_dir();
    target == Path::new("-") || target.metadata().is_ok_and(is_other)
}

/// The file that writing to `target` creates or replaces, if that may be done: links are followed.
pub(crate) fn check_replaceable(target: &Path) -> Result<PathBuf> {
    let failed = |error: io::Error| Error::writing(target.display(), &error);
    match target.metadata() {
        Ok(there) if there.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
        Ok(there) if permissions(&there).is_some_and(|of| of.readonly()) => {
            Err(failed(io::ErrorKind::PermissionDenied.into()))
        }
        // What is not there yet, or a link to it; but no circle of links.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(followed(target)),
    }
}

/// The path that `target` leads to, or will lead to if it is a link to a missing file: links stay
/// links.
fn followed(target: &Path) -> PathBuf {
    // As many links as Linux follows; more are a circle.
    const LINKS: usize = 40;
    let mut target = target.to_owned();
    for _ in 0..LINKS {
        let Ok(to) = target.read_link() else { break };
        target = target.parent().unwrap_or(Path::new("")).join(to);
    }
    target
}

/// The folder of `target`.
fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file that shall become `target`, with the permissions of the one that it replaces.
fn temporary(target: &Path, own: &[PathBuf]) -> io::Result<NamedTempFile> {
    let folder = folder_of(target);
    abandoned_files::remove(folder, own);
    let prefix = abandoned_files::prefix();
    let file =
        builder(0o666).prefix(&prefix).suffix(abandoned_files::SUFFIX).tempfile_in(folder)?;
    // Kept as long as this process lives. Where files cannot be locked, nobody can tell that one is
    // abandoned.
    let _ = file.as_file().try_lock();
    if let Some(replaced) = target.metadata().ok().as_ref().and_then(permissions) {
        file.as_file().set_permissions(replaced)?;
    }
    Ok(file)
}

/// The permissions of a file, which WebAssembly does not know.
fn permissions(of: &Metadata) -> Option<Permissions> {
    (!cfg!(target_os = "wasi")).then(|| of.permissions())
}

/// Temporary files are private by default; a result should have the usual permissions, at most
/// `mode`.
fn builder(mode: u32) -> tempfile::Builder<'static, 'static> {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder
}
