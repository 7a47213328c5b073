//! What can go wrong on the command line: one line for people, a code and an exit status for
//! scripts.
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

use crate::whole_file::Refused;

/// `Result` with this program's [`Failure`].
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Codes of what is no fault of a file's format, beside those of [`ErrorKind`]: a number, a name
/// and a message each, as `docs/errors.md` lists them.
pub(crate) const OWN_CODES: [(u16, &str, &str); 3] = [
    (USAGE, "usage", "the command was called wrongly"),
    (NOT_FOUND, "not_found", "a thing that was asked for is not there"),
    (BAD_INPUT, "bad_input", "the input cannot be used, and it is of none of the file formats"),
];

/// The command was called wrongly.
pub(crate) const USAGE: u16 = 601;
const NOT_FOUND: u16 = 602;
const BAD_INPUT: u16 = 603;

/// ELOOP, for which the standard library has no stable name.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const CIRCLE_OF_LINKS: Option<i32> = Some(libc::ELOOP);
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const CIRCLE_OF_LINKS: Option<i32> = None;

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
    code: u16,
    /// File, line, byte: whatever is known of the place, outermost first.
    place: Vec<String>,
    message: String,
    hint: Option<String>,
}

impl Failure {
    fn new(fault: Fault, code: u16, message: impl Into<String>) -> Self {
        Self { fault, code, place: Vec::new(), message: message.into(), hint: None }
    }

    /// The input is bad in a way that one of the core's causes names.
    pub(crate) fn input(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::new(Fault::Input, kind.code(), message)
    }

    /// The input is bad in a way that concerns no file format of ours.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Fault::Input, BAD_INPUT, message)
    }

    /// A thing that was asked for does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Fault::Input, NOT_FOUND, message)
    }

    /// The command was called wrongly in a way that the argument parser cannot know.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Fault::Usage, USAGE, message)
    }

    /// The core refused the file called `file`.
    pub(crate) fn of_file(file: impl Display, error: Error) -> Self {
        let file = file.to_string();
        let fault = if error.code() / 100 == 5 { Fault::Storage } else { Fault::Input };
        let failure = Self::new(fault, error.code(), error.message()).at(&file);
        let failure = match place_of(error) {
            Some(offset) => failure.at(format_args!("byte {offset}")),
            None => failure,
        };
        let is_of_strict = matches!(
            error.kind,
            ErrorKind::UnknownFlags
                | ErrorKind::NameHashMismatch
                | ErrorKind::Misaligned
                | ErrorKind::ReservedNotZero
        );
        match hint(error.kind, &file).filter(|_| !is_of_strict) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// What has this code, be it the core's or the command line's.
    pub(crate) fn of_code(code: u16, message: impl Into<String>) -> Self {
        let fault = if code / 100 == 5 { Fault::Storage } else { Fault::Input };
        Self::new(fault, code, message)
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
        if let Some(refused) = Refused::of(error) {
            return refused.at(file);
        }
        let (fault, message, hint) = match error.kind() {
            io::ErrorKind::BrokenPipe => (Fault::BrokenPipe, error.to_string(), None),
            io::ErrorKind::NotFound => (Fault::Storage, "no such file or folder".into(), None),
            io::ErrorKind::PermissionDenied => (Fault::Storage, "permission denied".into(), None),
            io::ErrorKind::IsADirectory => {
                (Fault::Storage, "this is a folder, not a file".into(), None)
            }
            _ if CIRCLE_OF_LINKS.is_some() && error.raw_os_error() == CIRCLE_OF_LINKS => {
                (Fault::Storage, "its symbolic links lead in a circle".into(), None)
            }
            io::ErrorKind::StorageFull => {
                let hint = "free some space or write somewhere else";
                (Fault::Storage, "no space left on the device".into(), Some(hint.to_owned()))
            }
            _ => (Fault::Storage, error.to_string(), None),
        };
        Self { hint, ..Self::new(fault, kind.code(), message) }.at(file)
    }

    /// Whether the input is at fault, not the storage that it comes from.
    pub(crate) fn is_about_input(&self) -> bool {
        self.fault == Fault::Input
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

    /// The stable number of the cause.
    pub(crate) const fn code(&self) -> u16 {
        self.code
    }

    /// The stable name of the cause.
    pub(crate) fn cause(&self) -> &'static str {
        let own = || OWN_CODES.iter().find(|(code, ..)| *code == self.code);
        let own = || own().map_or("", |(_, name, _)| *name);
        ErrorKind::from_code(self.code).map_or_else(own, ErrorKind::name)
    }

    /// The byte of the file, taken out of the place, and the place without the file's name, which
    /// is `file`.
    pub(crate) fn within(mut self, file: &str) -> (Option<u64>, Self) {
        let byte = |part: &String| part.strip_prefix("byte ")?.parse::<u64>().ok();
        let offset = self.place.iter().find_map(byte);
        self.place.retain(|part| part != file && byte(part).is_none());
        (offset, self)
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
        anstream::eprintln!("{red}error[{}]{red:#}: {self}", self.code);
        if let Some(hint) = &self.hint {
            anstream::eprintln!("  {cyan}hint{cyan:#}: {hint}");
        }
    }
}

/// The place and the message, as they stand behind `error[CODE]: `.
impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place.iter().try_for_each(|part| write!(f, "{part}: "))?;
        f.write_str(&self.message)
    }
}

/// The byte of the file that an error is about. What is missing, and what is wrong with the file as
/// a whole, has no place in it.
pub(crate) const fn place_of(error: Error) -> Option<u64> {
    match error.code() / 100 {
        1 => Some(error.offset),
        2 | 3 | 5 if error.offset > 0 => Some(error.offset),
        _ => None,
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

/// The same for a file that is written.
pub(crate) fn name_of_output(file: &Path) -> String {
    if file == Path::new("-") { "stdout".into() } else { file.display().to_string() }
}

/// What helps against an error of this kind in `file`. A command that makes such files whole is
/// named only where it can.
pub(crate) fn hint(kind: ErrorKind, file: &str) -> Option<&'static str> {
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or("");
    let is_weights = ending.eq_ignore_ascii_case("weights");
    let is_fifu = ending.eq_ignore_ascii_case("fifu");
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
        ErrorKind::MissingVocabulary if is_weights => {
            "the model's folder has it: `nanoembed convert FOLDER OUT.weights` makes a file with a vocabulary"
        }
        ErrorKind::MissingMetadata | ErrorKind::BadMetadata if is_weights => {
            "`nanoembed convert FILE OUT.weights --config config.json` adds the sizes from the model's config.json"
        }
        ErrorKind::UnknownFlags
        | ErrorKind::NameHashMismatch
        | ErrorKind::Misaligned
        | ErrorKind::ReservedNotZero => "without `--strict` the file may be usable all the same",
        ErrorKind::DuplicateWord => "`--duplicates first` keeps the first of them",
        ErrorKind::InvalidUtf8 if is_fifu => "`--utf8 bytes` takes words as the bytes they are",
        ErrorKind::SourceChanged => "the file changed while it was read; try again",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use nanoembed_core::limit::Limit;

    use super::*;

    /// The tables of `docs/errors.md`, from the codes and limits as they are.
    fn tables() -> String {
        let mut text = String::new();
        let groups = [
            (1, "The file is damaged, or is not what it claims to be"),
            (2, "The file may be fine, but is not supported here"),
            (3, "The model in the file is incomplete, or its parts are at odds"),
            (4, "An argument or a buffer of the library's caller"),
            (5, "Reading or writing"),
            (6, "The command line"),
        ];
        let of_core = ErrorKind::ALL.iter().map(|kind| (kind.code(), kind.name(), kind.message()));
        let all: Vec<_> = of_core.chain(OWN_CODES).collect();
        for (group, heading) in groups {
            text += &format!(
                "\n### {group}xx: {heading}\n\n| code | name | what it means |\n|---|---|---|\n"
            );
            for (code, name, message) in all.iter().filter(|(code, ..)| code / 100 == group) {
                text += &format!("| {code} | `{name}` | {message} |\n");
            }
        }
        text += "\n### What is over a limit (209)\n\n| at most | |\n|---|---|\n";
        for Limit { name, most } in Limit::ALL {
            text += &format!("| {most} | {name} |\n");
        }
        text
    }

    #[test]
    fn the_documentation_lists_every_code() {
        const BEGIN: &str = "<!-- codes -->\n";
        const END: &str = "\n<!-- end of codes -->";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/errors.md");
        let document = std::fs::read_to_string(path).unwrap();
        let (head, rest) = document.split_once(BEGIN).unwrap();
        let (listed, tail) = rest.split_once(END).unwrap();
        if std::env::var_os("NANOEMBED_WRITE_DOCS").is_some() {
            std::fs::write(path, [head, BEGIN, &tables(), END, tail].concat()).unwrap();
            return;
        }
        assert!(
            listed == tables(),
            "run this test with NANOEMBED_WRITE_DOCS=1 to write the tables anew"
        );
    }

    #[test]
    fn every_code_belongs_to_one_cause() {
        let mut codes: Vec<u16> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        codes.extend(OWN_CODES.map(|(code, ..)| code));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
