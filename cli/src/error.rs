//! What can go wrong on the command line: one line for people, a code and an exit status for scripts.
//!
//! ```text
//! error[115]: model.weights: byte 56: the header's checksum does not match its bytes
//!   hint: the file is damaged; get another copy of it
//! ```
//!
//! | exit | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the input is bad, or a thing was not found |
//! | 2 | wrong usage |
//! | 3 | reading or writing failed |
//! | 130 | interrupted |

use std::fmt::Display;
use std::io;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use nanoembed_core::{Error, ErrorKind};

/// `Result` with this program's [`Failure`].
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Whose fault it is, which decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Input,
    Usage,
    Storage,
    /// The one who reads our output has gone: not worth a word.
    BrokenPipe,
}

/// An error with all that its line shows.
#[derive(Debug)]
pub(crate) struct Failure {
    fault: Fault,
    code: Option<u16>,
    /// File, line, byte: whatever is known of the place, outermost first.
    place: Vec<String>,
    message: String,
    hint: Option<String>,
}

impl Failure {
    fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, code: None, place: Vec::new(), message: message.into(), hint: None }
    }

    /// The input is bad in a way that one of the core's causes names.
    pub(crate) fn input(kind: ErrorKind, message: impl Into<String>) -> Self {
        let code = Some(kind.code());
        Self { code, ..Self::new(Fault::Input, message) }
    }

    /// The input is bad in a way that concerns no file format of ours.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Fault::Input, message)
    }

    /// A thing that was asked for does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Fault::Input, message)
    }

    /// The command was called wrongly in a way that the argument parser cannot know.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Fault::Usage, message)
    }

    /// The core refused the file called `file`.
    pub(crate) fn of_file(file: impl Display, error: Error) -> Self {
        let fault = if error.code() / 100 == 5 { Fault::Storage } else { Fault::Input };
        let failure = Self::new(fault, error.message());
        let failure = Self { code: Some(error.code()), ..failure }.at(file);
        let failure = match error.code() / 100 {
            1 | 2 | 3 | 5 => failure.at(format_args!("byte {}", error.offset)),
            _ => failure,
        };
        match hint(error.kind) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Reading `file` failed.
    pub(crate) fn reading(file: impl Display, error: &io::Error) -> Self {
        Self::storage(ErrorKind::ReadFailed, file, error)
    }

    /// Writing `file` failed.
    pub(crate) fn writing(file: impl Display, error: &io::Error) -> Self {
        Self::storage(ErrorKind::WriteFailed, file, error)
    }

    fn storage(kind: ErrorKind, file: impl Display, error: &io::Error) -> Self {
        let (fault, message, hint) = match error.kind() {
            io::ErrorKind::BrokenPipe => (Fault::BrokenPipe, error.to_string(), None),
            io::ErrorKind::NotFound => (Fault::Storage, "no such file or folder".into(), None),
            io::ErrorKind::PermissionDenied => (Fault::Storage, "permission denied".into(), None),
            io::ErrorKind::IsADirectory => {
                (Fault::Storage, "this is a folder, not a file".into(), None)
            }
            io::ErrorKind::StorageFull => {
                let hint = "free some space or write somewhere else";
                (Fault::Storage, "no space left on the device".into(), Some(hint.to_owned()))
            }
            _ => (Fault::Storage, error.to_string(), None),
        };
        Self { code: Some(kind.code()), hint, ..Self::new(fault, message) }.at(file)
    }

    /// The same with one more, inner, part of the place.
    pub(crate) fn at(mut self, place: impl Display) -> Self {
        self.place.push(place.to_string());
        self
    }

    /// The same with what the caller can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The message with its place, and the hint.
    pub(crate) fn into_message(self) -> (String, Option<String>) {
        let place: String = self.place.iter().map(|part| format!("{part}: ")).collect();
        (place + &self.message, self.hint)
    }

    /// The status that the process should end with.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self.fault {
            Fault::BrokenPipe => 0,
            Fault::Input => 1,
            Fault::Usage => 2,
            Fault::Storage => 3,
        }
    }

    /// Prints the error, unless nobody wants to read it.
    pub(crate) fn print(&self) {
        if self.fault == Fault::BrokenPipe {
            return;
        }
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
        let code = self.code.map(|code| format!("[{code}]")).unwrap_or_default();
        let place: String = self.place.iter().map(|part| format!("{part}: ")).collect();
        anstream::eprintln!("{red}error{code}{red:#}: {place}{}", self.message);
        if let Some(hint) = &self.hint {
            anstream::eprintln!("  {cyan}hint{cyan:#}: {hint}");
        }
    }
}

/// Prints a warning to stderr.
pub(crate) fn warn(message: impl Display) {
    let yellow = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    anstream::eprintln!("{yellow}warning{yellow:#}: {message}");
}

/// The name that messages give to a file.
pub(crate) fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "stdin".into() } else { file.display().to_string() }
}

/// What helps against an error of this kind.
pub(crate) fn hint(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::UnexpectedEnd => "the file is cut short, perhaps an unfinished download",
        ErrorKind::BadMagic => {
            "another format is needed here; `nanoembed inspect FILE` says which one the file has"
        }
        ErrorKind::UnknownFormat => {
            "`.weights`, `.amb`, `.fifu`, UQFF, GGUF and safetensors files are understood here; `nanoembed convert` makes the first three of other files"
        }
        ErrorKind::HeaderChecksum | ErrorKind::DataChecksum | ErrorKind::FileChecksum => {
            "the file is damaged; get another copy of it"
        }
        ErrorKind::TransposedWeights => {
            "`nanoembed convert FILE OUT.weights --config config.json` turns the weights round"
        }
        ErrorKind::MissingVocabulary => {
            "convert the model anew, with its vocabulary: `nanoembed convert FOLDER OUT.weights`"
        }
        ErrorKind::MissingMetadata | ErrorKind::BadMetadata => {
            "`nanoembed convert FILE OUT.weights --config config.json` adds the sizes from the model's config.json"
        }
        ErrorKind::UnknownFlags
        | ErrorKind::NameHashMismatch
        | ErrorKind::Misaligned
        | ErrorKind::ReservedNotZero => "without `--strict` the file may be usable all the same",
        ErrorKind::DuplicateWord => "`--duplicates first` keeps the first of them",
        ErrorKind::InvalidUtf8 => "`--utf8 bytes` takes words as the bytes they are",
        ErrorKind::SourceChanged => "the file changed while it was read; try again",
        _ => return None,
    })
}
