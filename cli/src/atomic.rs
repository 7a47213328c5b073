//! Output files that are either whole or not there: written to a temporary file in the same folder, then renamed.
//!
//! An interruption (Ctrl-C, termination) removes the temporary file and ends the process with status 130.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::error::{Failure, Result, name_of};

/// The temporary files of this process, for the one who handles an interruption.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an interruption leaves no temporary file behind and ends the process with status 130.
pub(crate) fn clean_up_when_interrupted() {
    let installed = ctrlc::set_handler(|| {
        // The lock is kept until the end, so that no file can be created or renamed meanwhile.
        let files = unfinished();
        for file in files.iter() {
            let _ = std::fs::remove_file(file);
        }
        std::process::exit(130);
    });
    // Without a handler the system's own applies, which ends the process all the same.
    drop(installed);
}

/// A file being written, or stdout.
pub(crate) struct NewFile {
    sink: Sink,
    target: PathBuf,
}

enum Sink {
    File(BufWriter<NamedTempFile>),
    Stdout(BufWriter<io::Stdout>),
}

impl NewFile {
    /// Starts to write what shall become `target`; `-` is stdout, which must not be a terminal for `binary` content.
    pub(crate) fn create(target: &Path, binary: bool) -> Result<Self> {
        if target == Path::new("-") {
            return Self::stdout(binary);
        }
        // A link is followed: what it points to is replaced, not the link.
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if target.is_dir() {
            return Err(Failure::writing(target.display(), &io::ErrorKind::IsADirectory.into()));
        }
        let mut files = unfinished();
        let file = builder()
            .prefix(".nanoembed-")
            .suffix(".part")
            .tempfile_in(folder)
            .map_err(|error| Failure::writing(target.display(), &error))?;
        files.push(file.path().to_owned());
        drop(files);
        Ok(Self { sink: Sink::File(BufWriter::with_capacity(1 << 20, file)), target })
    }

    fn stdout(binary: bool) -> Result<Self> {
        let stdout = io::stdout();
        if binary && stdout.is_terminal() {
            return Err(Failure::usage("binary output is not written to a terminal")
                .hint("redirect it to a file, or name one"));
        }
        Ok(Self { sink: Sink::Stdout(BufWriter::new(stdout)), target: "stdout".into() })
    }

    /// The name that messages give to the file.
    pub(crate) fn name(&self) -> String {
        name_of(&self.target)
    }

    /// The bytes written so far, mapped or read back; `None` for stdout.
    pub(crate) fn written(&mut self) -> Result<Option<File>> {
        self.flush().map_err(|error| Failure::writing(self.name(), &error))?;
        match &self.sink {
            Sink::File(writer) => {
                let file = writer.get_ref().reopen();
                file.map(Some).map_err(|error| Failure::reading(self.name(), &error))
            }
            Sink::Stdout(_) => Ok(None),
        }
    }

    /// Puts the whole file in its place.
    pub(crate) fn commit(mut self) -> Result<()> {
        let name = self.name();
        self.flush().map_err(|error| Failure::writing(&name, &error))?;
        let Sink::File(writer) = self.sink else { return Ok(()) };
        let failed = |error: io::Error| Failure::writing(&name, &error);
        let file = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.as_file().sync_all().map_err(failed)?;
        let mut files = unfinished();
        files.retain(|unfinished| unfinished != file.path());
        file.persist(&self.target).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::File(file) => file.write(bytes),
            Sink::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.flush(),
            Sink::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// Temporary files are private by default; a result should have the usual permissions.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = std::any::type_name::<Permissions>();
    builder
}
