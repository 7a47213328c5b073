//! How a test says that it was skipped.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Says on stderr that `test` is skipped and why, though the test runner hides what tests print,
/// and in the file that `NANOEMBED_SKIPPED` names, of which `.ci/run` makes its closing lines.
pub fn skipped(test: &str, why: &str) {
    let line = format!("SKIPPED {test}: {why}\n");
    // Not `eprint!`, which the test runner hides. Whoever has closed stderr does not want to know.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os("NANOEMBED_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(list);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
