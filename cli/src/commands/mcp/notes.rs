//! Notes that agents keep: sections of a file in Markdown, which people may read and change.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nanoembed::files::user_folders;
use nanoembed::utc::Utc;

use crate::error::{Error, Result, name_of};

const FILE: &str = "notes.md";

/// The folder of the notes.
pub(super) struct Notes(Option<PathBuf>);

impl Notes {
    /// The notes in this folder, or in the user's folder for data.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder.or_else(|| Some(user_folders::for_data()?.join("nanoembed/notes"))))
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
        user_folders::create_private(self.folder()?).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let text = text.trim();
        let note = format!("## {}\n\n{text}\n\n", date(SystemTime::now().into()));
        // One write, so that notes of several processes do not mix.
        file.write_all(note.as_bytes()).map_err(failed)?;
        Ok(path)
    }
}

/// The date and the time of a note, which people read too.
fn date(now: Utc) -> String {
    let Utc { year, month, day, hour, minute, .. } = now;
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(date(Utc::from_seconds(seconds)), expected);
        }
    }
}
