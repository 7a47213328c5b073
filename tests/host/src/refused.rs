//! Jobs that write files, run with each of their allocations failing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use nanoembed::Error;
use nanoembed_core::ErrorKind;
use nanoembed_tests::refusing::Refusing;

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
