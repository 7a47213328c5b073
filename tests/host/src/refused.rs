//! Jobs that write files, run with each of their allocations failing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

use nanoembed::Error;
use nanoembed_core::ErrorKind;
use nanoembed_tests::refusing::Refusing;

/// Bytes of the smallest allocation that fails. On other systems, names of temporary files are
/// longer.
pub const LEAST: usize = if cfg!(target_os = "linux") { 64 } else { 192 };

/// Sizes of infallible allocations where models are converted.
pub const SPARED: [usize; 17] = [
    // Shared options.
    72,
    // Hash tables of `serde_json`'s objects with groups of 8 and of 16 bytes, and arrays.
    80,
    88,
    152,
    160,
    296,
    304,
    584,
    592,
    288,
    576,
    // The members of an object that is written.
    312,
    416,
    // Nodes of the set of members that were asked for.
    280,
    376,
    // The target of a link, and the buffer of a file that is written.
    256,
    1 << 20,
];

/// Copies a file, or a folder with all in it.
///
/// # Errors
///
/// The system's.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    fs::read_dir(from)?.try_for_each(|entry| {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))
    })
}

/// Files by their names.
type Files = BTreeMap<OsString, Vec<u8>>;

/// Takes all files from the folder `out`.
fn take(out: &Path) -> Files {
    let entries = fs::read_dir(out).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut files = Files::new();
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            let inner = take(&path).into_iter();
            files.extend(inner.map(|(inner, bytes)| (Path::new(&name).join(inner).into(), bytes)));
            fs::remove_dir(path).expect("an empty folder");
        } else {
            files.insert(name, fs::read(&path).expect("what was written"));
            fs::remove_file(path).expect("a file");
        }
    }
    files
}

/// Checks what a job left in the folder `out`, and removes it; `whole` is all that it writes without
/// a failure.
fn judge(name: &str, outcome: Result<(), Error>, out: &Path, whole: &mut Option<Files>) {
    let written = take(out);
    match outcome {
        Ok(()) => {
            assert!(!written.is_empty(), "{name}: nothing is written");
            let whole = whole.get_or_insert_with(|| written.clone());
            assert!(*whole == written, "{name}: other files after a failure");
        }
        Err(error) => {
            assert_eq!(error.code(), ErrorKind::NoMemory.code(), "{name}: {error}");
            assert!(written.is_empty(), "{name}: {:?} are left", written.keys());
        }
    }
}

/// Runs `job`, which writes files into the folder `out`, with each allocation failing: more than
/// `most` of its runs do. Each failure is an error of that kind, and no file is left.
///
/// # Panics
///
/// If a run ends otherwise, or leaks.
pub fn refuse_each(
    allocator: &Refusing,
    (name, out): (&str, &Path),
    most: usize,
    job: impl Fn() -> Result<(), Error>,
) {
    let mut whole = None;
    let judge = |outcome| judge(name, outcome, out, &mut whole);
    let refused = allocator.judge_each(name, job, judge);
    assert!(refused > most, "{name}: {refused}");
}
