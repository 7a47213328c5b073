//! Reports skipped tests.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports that `test` is skipped and why, on stderr, although the test runner captures output, and
/// in the file named by `NANOEMBED_SKIPPED`, which `.ci/run` summarises.
pub fn skipped(test: &str, why: &str) {
    let line = format!("SKIPPED {test}: {why}\n");
    // Not `eprint!`, which the test runner captures. Errors are ignored: stderr may be closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os("NANOEMBED_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(list);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
