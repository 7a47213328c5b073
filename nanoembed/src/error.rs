//! Errors: a stable code, the place, the fault, and a hint.
//!
//! ```text
//! model.weights: byte 56: the header's checksum does not match its bytes
//! ```

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::escape;
use crate::hub_name::is_hub_name;
use crate::refusal::Refused;

/// The error of an allocation that was refused.
pub(crate) const NO_MEMORY: CoreError = CoreError::without_offset(ErrorKind::NoMemory);

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an error: a stable number and name, as `docs/errors.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// One that the core knows: a damaged or unsupported file, an incomplete model, reading or
    /// writing that failed.
    Core(ErrorKind),
    /// An argument or option is wrong.
    Usage,
    /// A thing that was asked for is not there.
    NotFound,
    /// The input cannot be used, and it is of none of the file formats.
    BadInput,
    /// The observer cancelled the job.
    Cancelled,
}

impl Kind {
    /// The kinds that the core does not have.
    pub const OWN: [Self; 4] = [Self::Usage, Self::NotFound, Self::BadInput, Self::Cancelled];

    /// The stable number. Its hundreds tell groups apart: 1 a damaged file, 2 one that is not
    /// supported, 3 an incomplete model, 4 a wrong argument, 5 reading or writing, 6 this crate's
    /// own.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Core(kind) => kind.code(),
            Self::Usage => 601,
            Self::NotFound => 602,
            Self::BadInput => 603,
            Self::Cancelled => 604,
        }
    }

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core(kind) => kind.name(),
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::BadInput => "bad_input",
            Self::Cancelled => "cancelled",
        }
    }

    /// The meaning of the kind.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Core(kind) => kind.message(),
            Self::Usage => "the command was called wrongly",
            Self::NotFound => "a thing that was asked for is not there",
            Self::BadInput => "the input cannot be used, and it is of none of the file formats",
            Self::Cancelled => "the job was cancelled before its end",
        }
    }
}

/// ELOOP, for which the standard library has no stable name.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const CIRCLE_OF_LINKS: Option<i32> = Some(libc::ELOOP);
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const CIRCLE_OF_LINKS: Option<i32> = None;

/// An error with its place, its cause and a hint.
///
/// It is displayed with its place in front. Hints are for people who sit before the `nanoembed`
/// program: they name its commands and options.
///
/// ```
/// let error = nanoembed::Encoder::open("no/such/model").unwrap_err();
/// assert_eq!(error.to_string(), "no/such/model: no such file or folder");
/// assert_eq!(error.code(), 501);
/// ```
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    place: Vec<Place>,
    argument: Option<&'static str>,
    message: String,
    hint: Option<String>,
    source: Option<io::Error>,
}

/// A part of the place, the outer ones first.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A file, a line, a key.
    Name(String),
    Byte(u64),
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(&escape::line(name)),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

impl Error {
    /// An error without a place. Control characters are escaped wherever it is displayed.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = shown_line(message.into());
        Self { kind, place: Vec::new(), argument: None, message, hint: None, source: None }
    }

    /// The input is bad in a way that one of the core's causes names.
    pub fn input(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::new(Kind::Core(kind), message)
    }

    /// The input is bad in a way that concerns no file format of ours.
    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Kind::BadInput, message)
    }

    /// A thing that was asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// The job was cancelled.
    pub fn cancelled() -> Self {
        Self::new(Kind::Cancelled, Kind::Cancelled.message())
    }

    /// An argument is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// The argument called `name` is wrong; the message goes on from its name.
    pub fn argument(name: &'static str, message: impl Into<String>) -> Self {
        Self::usage(message).with_argument(name)
    }

    /// The same about the argument called `name`; the message goes on from its name.
    #[must_use]
    pub const fn with_argument(mut self, name: &'static str) -> Self {
        self.argument = Some(name);
        self
    }

    /// The core refused the file called `file`.
    pub fn in_file(file: impl Display, error: CoreError) -> Self {
        let file = file.to_string();
        let failure = Self::new(Kind::Core(error.kind()), error.message()).at(&file);
        let failure = match place_of(error) {
            Some(offset) => failure.at_byte(offset),
            None => failure,
        };
        let is_of_strict = matches!(
            error.kind(),
            ErrorKind::UnknownFlags
                | ErrorKind::NameHashMismatch
                | ErrorKind::Misaligned
                | ErrorKind::ReservedNotZero
        );
        match hint(error.kind(), &file).filter(|_| !is_of_strict) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    /// Reading `file` failed.
    pub fn reading(file: impl Display, error: &io::Error) -> Self {
        Self::storage(ErrorKind::ReadFailed, file, error)
    }

    /// Writing `file` failed.
    pub fn writing(file: impl Display, error: &io::Error) -> Self {
        Self::storage(ErrorKind::WriteFailed, file, error)
    }

    /// The result of one of the core's writers: where `file` could not be written, the system's own
    /// words; else the fault of `source`.
    pub(crate) fn from_written<T>(
        written: Result<T, CoreError>,
        failure: Option<io::Error>,
        file: impl Display,
        source: impl Display,
    ) -> Result<T> {
        written.map_err(|error| match failure {
            Some(failure) => Self::writing(file, &failure),
            None => Self::in_file(source, error),
        })
    }

    /// A file that is refused for what it is, not because reading failed.
    pub(crate) fn from_refusal(refused: Refused) -> Self {
        match refused {
            Refused::NotRegular => Self::bad_input(refused.to_string()),
            Refused::NoLength => Self::bad_input(refused.to_string())
                .with_hint("copy its content into a file on a disk, and name that"),
            Refused::TooLong(_) => Self::input(ErrorKind::OverLimit, refused.to_string()),
        }
    }

    fn storage(kind: ErrorKind, file: impl Display, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::OutOfMemory {
            return Self::in_file(file, NO_MEMORY);
        }
        if let Some(refused) = Refused::from_error(error) {
            return Self::from_refusal(refused).at(file);
        }
        let name = file.to_string();
        let (message, hint) = match error.kind() {
            io::ErrorKind::NotFound => {
                let hint = (kind == ErrorKind::ReadFailed).then(|| hub_hint(&name)).flatten();
                ("no such file or folder".into(), hint)
            }
            io::ErrorKind::PermissionDenied => ("permission denied".into(), None),
            io::ErrorKind::IsADirectory => ("this is a folder, not a file".into(), None),
            _ if CIRCLE_OF_LINKS.is_some() && error.raw_os_error() == CIRCLE_OF_LINKS => {
                ("its symbolic links lead in a circle".into(), None)
            }
            io::ErrorKind::StorageFull => {
                let hint = "free some space or write somewhere else";
                ("no space left on the device".into(), Some(hint.to_owned()))
            }
            _ => (error.to_string(), None),
        };
        let source = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        let source = Some(source);
        Self { hint, source, ..Self::new(Kind::Core(kind), message) }.at(file)
    }

    /// Adds a part of the place. Most errors have one or two, so there is room for it alone.
    fn push(&mut self, part: Place) {
        self.place.reserve_exact(1);
        self.place.push(part);
    }

    /// The same with one more, inner, part of the place.
    #[must_use]
    pub fn at(mut self, place: impl Display) -> Self {
        self.push(Place::Name(place.to_string()));
        self
    }

    /// The same at a byte of the place.
    #[must_use]
    pub fn at_byte(mut self, offset: u64) -> Self {
        self.push(Place::Byte(offset));
        self
    }

    /// The same with a hint for the user.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(shown_line(hint.into()));
        self
    }

    /// The cause.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The stable number of the cause.
    #[must_use]
    pub const fn code(&self) -> u16 {
        self.kind.code()
    }

    /// The file that the error is about, as it was named; not always one on the disk.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self.place.first()? {
            Place::Name(name) => Some(Path::new(name)),
            Place::Byte(_) => None,
        }
    }

    /// The byte of the file that the error is about.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.place.iter().find_map(|part| match part {
            Place::Byte(offset) => Some(*offset),
            Place::Name(_) => None,
        })
    }

    /// The argument that is wrong, if it is one: the message goes on from its name.
    #[must_use]
    pub const fn argument_name(&self) -> Option<&'static str> {
        self.argument
    }

    /// The place of the fault: file, line, byte, as far as they are known, the outer ones first.
    pub fn place(&self) -> impl Iterator<Item = String> + '_ {
        self.place.iter().map(ToString::to_string)
    }

    /// The cause, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The hint for the user.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// True if the input is at fault, not the storage that it comes from.
    #[must_use]
    pub const fn is_about_input(&self) -> bool {
        !matches!(self.kind, Kind::Usage | Kind::Cancelled) && self.code() / 100 != 5
    }

    /// True if an allocation was refused.
    pub(crate) const fn is_no_memory(&self) -> bool {
        matches!(self.kind, Kind::Core(ErrorKind::NoMemory))
    }

    /// The message with its place, but for its file `file` and its byte.
    pub(crate) fn message_within(&self, file: &str) -> String {
        let is_inner = |part: &&Place| matches!(part, Place::Name(name) if name != file);
        let place: String =
            self.place.iter().filter(is_inner).map(|part| format!("{part}: ")).collect();
        place + &self.message
    }
}

/// `None` in place of a fault that is passed over. That an allocation was refused never is.
pub(crate) fn passed_over<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.is_no_memory() => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Messages contain text from files, so they are escaped too.
fn shown_line(text: String) -> String {
    match escape::line(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

/// The place and the message.
impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.iter().try_for_each(|part| write!(f, "{part}: "))?;
        self.argument.iter().try_for_each(|name| write!(f, "{name} "))?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// The byte of the file that an error is about. Missing things, and faults of the file as a whole,
/// have no place in it.
pub fn place_of(error: CoreError) -> Option<u64> {
    match error.code() / 100 {
        1 => Some(error.offset().unwrap_or(0)),
        2 | 3 | 5 => error.offset().filter(|offset| *offset > 0),
        _ => None,
    }
}

/// The name that messages give to a file.
pub fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "stdin".into() } else { file.display().to_string() }
}

/// The same for a file that is written.
pub fn name_of_output(file: &Path) -> String {
    if file == Path::new("-") { "stdout".into() } else { file.display().to_string() }
}

/// The hint if `name` is that of a model on the Hugging Face hub, an organisation and a model.
fn hub_hint(name: &str) -> Option<String> {
    is_hub_name(name).then(|| {
        format!(
            "if this is a model on the Hugging Face hub: nothing is downloaded here; `hf download {name}` gets it, and the name is known then"
        )
    })
}

/// The hint against an error of this kind in `file`. A command that makes such files whole is named
/// only where it can.
pub fn hint(kind: ErrorKind, file: &str) -> Option<&'static str> {
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
        ErrorKind::BadVersion if is_fifu => {
            "the file is laid out as finalfusion's specification prints it, not as its programs write it; without `--strict` it is read all the same"
        }
        ErrorKind::UnsupportedVersion if is_fifu => {
            "version 0 is read as finalfusion's programs write it; n-grams without indices, as its specification prints explicit vocabularies, are not"
        }
        ErrorKind::UnsupportedDtype if is_fifu => {
            "of the types that finalfusion's specification prints, its programs write two: u8 for codes and f32 for all else"
        }
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
        let all: Vec<_> = of_core
            .chain(Kind::OWN.map(|kind| (kind.code(), kind.name(), kind.message())))
            .collect();
        for (group, heading) in groups {
            text += &format!(
                "\n### {group}xx: {heading}\n\n| code | name | what it means |\n|---|---|---|\n"
            );
            for (code, name, message) in all.iter().filter(|(code, ..)| code / 100 == group) {
                text += &format!("| {code} | `{name}` | {message} |\n");
            }
        }
        text += "\n### What is over a limit (209)\n\n| at most | |\n|---|---|\n";
        for Limit { name, most, .. } in Limit::ALL {
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
            "run this test with NANOEMBED_WRITE_DOCS=1 to rewrite the tables"
        );
    }

    #[test]
    fn every_code_belongs_to_one_cause() {
        let mut codes: Vec<u16> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        codes.extend(Kind::OWN.map(Kind::code));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
