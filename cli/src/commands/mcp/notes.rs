//! Notes that agents keep: sections of a file in Markdown, which people may read and change.

use std::env;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result, name_of};

const FILE: &str = "notes.md";

/// The folder of the notes.
pub(super) struct Notes(Option<PathBuf>);

impl Notes {
    /// The notes in this folder, or in the user's folder for data.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder.or_else(|| Some(users()?.join("nanoembed/notes"))))
    }

    pub(super) fn folder(&self) -> Result<&Path> {
        let hint = "`nanoembed mcp --notes FOLDER` names one";
        let none = || Error::not_found("there is no folder for notes").with_hint(hint);
        self.0.as_deref().ok_or_else(none)
    }

    /// Adds a note; returns the file.
    pub(super) fn add(&self, text: &str) -> Result<PathBuf> {
        let path = self.folder()?.join(FILE);
        let failed = |error: io::Error| Error::writing(name_of(&path), &error);
        create(self.folder()?).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let text = text.trim();
        let note = format!("## {}\n\n{text}\n\n", date(seconds()));
        // One write, so that notes of several processes do not mix.
        file.write_all(note.as_bytes()).map_err(failed)?;
        Ok(path)
    }
}

/// Creates a folder that only its owner may read.
fn create(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The user's folder for data, as the system has it.
fn users() -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|it| !it.as_os_str().is_empty());
    if cfg!(windows) {
        return set("APPDATA");
    }
    let named = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let below =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    named.or_else(|| Some(set("HOME")?.join(below)))
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Date and time of seconds since 1970, in UTC.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // H. Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute) = (rest / 3_600, rest % 3_600 / 60);
    format!("{year}-{month:02}-{of_month:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // By `date -u -d @N`.
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00 UTC"),
            (1_796_000_000, "2026-11-30 00:53 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
