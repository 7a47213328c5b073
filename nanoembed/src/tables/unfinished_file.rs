//! A Parquet file that grows group by group, and that a later run goes on with.
//!
//! While it grows there are two files beside the one that it shall become:
//!
//! | file | |
//! |---|---|
//! | `OUT.unfinished` | the file as far as it has got, without its footer |
//! | `OUT.unfinished.groups` | the facts of the run, then a record for every group that is whole |
//!
//! A group's chunks are on the disk before its record is written, so records are true. A record
//! that was cut, and chunks without a record, are cut off by the run that goes on.
//!
//! | bytes of a record | |
//! |---|---|
//! | 4 | length of the rest without the last four bytes, little-endian |
//! | 8 | rows of the input up to its end |
//! | 8 | where its chunks begin |
//! | 8 | where they end |
//! | | the footer of the small file that it was encoded in: see [`row_group`](super::row_group) |
//! | 4 | fingerprint of the bytes before |

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parquet::file::metadata::ParquetMetaDataReader;

use super::fingerprint::Fingerprint;
use super::row_group::{Encoded, MAGIC, Placed};
use super::schema::{Difference, Facts};
use crate::error::{Error, Result};
use crate::files::whole_file;

/// The first line of the file of groups; the facts of the run follow, then an empty line.
const HEADING: &str = "nanoembed: groups of an unfinished file, version 1\n";

/// The longest description of a run and the longest record that are read.
const MOST_BYTES: usize = 1 << 26;

/// The state of an output that is to be written.
pub(super) enum Begun {
    /// The file is whole, and made as it shall be.
    Done,
    Unfinished(Unfinished),
}

/// A file that grows.
pub(super) struct Unfinished {
    target: PathBuf,
    data: File,
    records: File,
    groups: Vec<Placed>,
    /// The start of the next group.
    end: u64,
    /// Rows of the input that are done.
    rows: u64,
}

/// The names of the two files beside `target`.
fn beside(target: &Path) -> (PathBuf, PathBuf) {
    let with = |ending: &str| {
        let mut name = target.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    (with(".unfinished"), with(".unfinished.groups"))
}

impl Unfinished {
    /// Begins a file that shall become `target`, or goes on with that of an interrupted run, if
    /// `resume`.
    pub(super) fn begin(target: &Path, facts: &Facts, resume: bool) -> Result<Begun> {
        let (data_path, records_path) = beside(target);
        if resume && !records_path.exists() && target.exists() {
            return match facts.difference(&facts_of(target)?) {
                None => Ok(Begun::Done),
                Some(difference) => Err(differs(target, difference)),
            };
        }
        let records = open(&records_path)?;
        let data = open(&data_path)?;
        let failed = |error: io::Error| Error::writing(data_path.display(), &error);
        let mut this =
            Self { target: target.to_owned(), data, records, groups: Vec::new(), end: 0, rows: 0 };
        let known = if resume { this.read_records(facts, &records_path)? } else { 0 };
        if known == 0 {
            this.start(facts).map_err(failed)?;
        } else {
            this.records.set_len(known).map_err(failed)?;
            this.data.set_len(this.end).map_err(failed)?;
        }
        this.records.seek(SeekFrom::End(0)).map_err(failed)?;
        this.data.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Begun::Unfinished(this))
    }

    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.records.set_len(0)?;
        self.records.rewind()?;
        self.data.set_len(0)?;
        self.data.rewind()?;
        self.data.write_all(MAGIC)?;
        self.end = MAGIC.len() as u64;
        self.records.write_all(format!("{HEADING}{}\n", facts.text()).as_bytes())
    }

    /// The number of finished rows of the input.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads the records of an interrupted run; returns the number of valid bytes, 0 if there is
    /// nothing.
    fn read_records(&mut self, facts: &Facts, path: &Path) -> Result<u64> {
        let failed = |error: io::Error| Error::reading(path.display(), &error);
        let data_bytes = self.data.metadata().map_err(failed)?.len();
        let Some((theirs, mut known)) = heading(&mut self.records).map_err(failed)? else {
            return Ok(0);
        };
        if theirs != facts.text() {
            let difference = Facts::parse(&facts.text()).difference(&Facts::parse(&theirs));
            return Err(differs(&self.target, difference.unwrap_or_default()));
        }
        self.end = MAGIC.len() as u64;
        while let Some((record, bytes)) = record(&mut self.records).map_err(failed)? {
            let follows = record.start == self.end && record.end >= record.start;
            if !follows || record.end > data_bytes || record.rows <= self.rows {
                break;
            }
            self.end = record.end;
            self.rows = record.rows;
            known += bytes;
            self.groups.push(Placed { start: record.start, footer: record.footer });
        }
        Ok(if data_bytes < self.end { 0 } else { known })
    }

    /// Adds a group, after which `rows` rows of the input are done. Without one, its rows were all
    /// left out: they are done with the next.
    pub(super) fn push(&mut self, group: Encoded, rows: u64) -> Result<()> {
        self.write(&group, rows).map_err(|error| Error::writing(self.target.display(), &error))?;
        self.groups.push(Placed { start: self.end, footer: group.footer });
        self.end += group.chunks.len() as u64;
        self.rows = rows;
        Ok(())
    }

    fn write(&mut self, group: &Encoded, rows: u64) -> io::Result<()> {
        self.data.write_all(&group.chunks)?;
        self.data.sync_data()?;
        let end = self.end + group.chunks.len() as u64;
        let mut record = Vec::new();
        for number in [rows, self.end, end] {
            record.extend(number.to_le_bytes());
        }
        record.extend(&group.footer);
        let length = u32::try_from(record.len()).map_err(io::Error::other)?;
        let check = Fingerprint::hash(&record);
        let whole = [&length.to_le_bytes()[..], &record, &check.to_le_bytes()].concat();
        self.records.write_all(&whole)
    }

    /// Writes the end that `end` makes for the groups and puts the file in its place.
    pub(super) fn finish(mut self, end: impl FnOnce(&[Placed]) -> Result<Vec<u8>>) -> Result<()> {
        let (data_path, records_path) = beside(&self.target);
        let footer = end(&self.groups)?;
        let failed = |error: io::Error| Error::writing(self.target.display(), &error);
        self.data.write_all(&footer).map_err(failed)?;
        self.data.sync_all().map_err(failed)?;
        if let Ok(there) = self.target.metadata() {
            self.data.set_permissions(there.permissions()).map_err(failed)?;
        }
        std::fs::rename(&data_path, &self.target).map_err(failed)?;
        std::fs::remove_file(&records_path).map_err(failed)
    }
}

/// Opens a file to be read and written, for this process alone. It is made here, or by another run: a
/// link or a pipe of this name, which somebody else has put there, is refused.
fn open(path: &Path) -> Result<File> {
    let failed = |error: io::Error| Error::writing(path.display(), &error);
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NOFOLLOW | libc::O_NONBLOCK,
    );
    let file = match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_own(&path.symlink_metadata().map_err(failed)?, path)?;
            let file = options.open(path).map_err(failed)?;
            check_own(&file.metadata().map_err(failed)?, path)?;
            file
        }
        file => file.map_err(failed)?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(Error::bad_input("another process is writing this file").at(path.display()))
        }
        // Where files cannot be locked, nobody can tell.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Refuses files that are not those of a run.
fn check_own(there: &Metadata, path: &Path) -> Result<()> {
    #[cfg(unix)]
    let is_shared = std::os::unix::fs::MetadataExt::nlink(there) > 1;
    #[cfg(not(unix))]
    let is_shared = false;
    match there.is_file() && !is_shared {
        true => Ok(()),
        false => Err(Error::bad_input("this is no file of its own").at(path.display()).with_hint(
            "remove it: unfinished files are made and found under this name, links are not followed",
        )),
    }
}

/// The facts of a run, and the bytes that they and the heading take; `None` if they are not whole.
fn heading(records: &mut File) -> io::Result<Option<(String, u64)>> {
    let mut start = Vec::new();
    records.take(MOST_BYTES as u64).read_to_end(&mut start)?;
    let end = start.windows(2).position(|two| two == b"\n\n").map(|at| at + 2);
    let text = end.and_then(|end| start.get(..end)).and_then(|text| str::from_utf8(text).ok());
    let facts = text.and_then(|text| text.strip_prefix(HEADING));
    let Some((facts, end)) = facts.zip(end) else { return Ok(None) };
    records.seek(SeekFrom::Start(end as u64))?;
    let facts = facts.strip_suffix('\n').unwrap_or(facts);
    Ok(Some((facts.to_owned(), end as u64)))
}

struct Record {
    rows: u64,
    start: u64,
    end: u64,
    footer: Vec<u8>,
}

/// The next record and its bytes; `None` where there is no whole one.
fn record(records: &mut File) -> io::Result<Option<(Record, u64)>> {
    let mut length = Vec::new();
    records.take(4).read_to_end(&mut length)?;
    let Some(length) = length.first_chunk::<4>().map(|it| u32::from_le_bytes(*it) as usize) else {
        return Ok(None);
    };
    if length > MOST_BYTES {
        return Ok(None);
    }
    let mut content = Vec::new();
    records.take(length as u64 + 4).read_to_end(&mut content)?;
    let Some((body, check)) = content.split_at_checked(length) else { return Ok(None) };
    let mut numbers = body
        .chunks_exact(8)
        .map(|eight| eight.first_chunk::<8>().map_or(0, |eight| u64::from_le_bytes(*eight)));
    let numbers = (numbers.next(), numbers.next(), numbers.next());
    let (Some(rows), Some(start), Some(end)) = numbers else { return Ok(None) };
    if check != Fingerprint::hash(body).to_le_bytes() {
        return Ok(None);
    }
    let footer = body.get(24..).unwrap_or_default().to_vec();
    Ok(Some((Record { rows, start, end, footer }, length as u64 + 8)))
}

/// The facts that a whole file has about how it was made.
fn facts_of(target: &Path) -> Result<Facts> {
    let name = target.display().to_string();
    let file = whole_file::open(target).map_err(|error| Error::reading(&name, &error))?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    let metadata = metadata.map_err(|error| super::unreadable_parquet(&name, &error))?;
    let metadata = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    let text = metadata.filter_map(|pair| Some((&*pair.key, pair.value.as_deref()?)));
    Ok(Facts::among(text))
}

fn differs(target: &Path, Difference { name, ours, theirs }: Difference) -> Error {
    Error::bad_input(format!("it was made with another `{name}`: {theirs}, now {ours}"))
        .at(target.display())
        .with_hint("without `--resume` it is written anew")
}
