//! The form that a file's name promises: nothing is written in another form.

use std::path::Path;

use crate::error::{Error, Result};
use crate::files::new_file::is_stream;

/// Endings that promise a form, whichever command writes it.
const PROMISES: [&str; 24] = [
    "amb",
    "arrow",
    "arrows",
    "csv",
    "feather",
    "fifu",
    "floret",
    "fvecs",
    "gguf",
    "html",
    "ipc",
    "json",
    "jsonl",
    "ndjson",
    "npy",
    "npz",
    "parquet",
    "pq",
    "safetensors",
    "svg",
    "tsv",
    "txt",
    "uqff",
    "weights",
];

/// Refuses to write a form to a file whose ending promises another. `endings` are those of the
/// form's files, the usual one first, and `form` is its name on the command line.
///
/// # Errors
///
/// The ending that is not that of the form.
pub fn check_promise(output: &Path, endings: &[&str], form: &str) -> Result<()> {
    let Some(ending) = output.extension().map(|it| it.to_string_lossy().to_lowercase()) else {
        return Ok(());
    };
    let is_kept = !PROMISES.contains(&&*ending) || endings.contains(&&*ending);
    if is_kept || is_stream(output) {
        return Ok(());
    }
    let usual = endings.first().copied().unwrap_or_default();
    Err(Error::usage(format!(
        "`{form}` is asked for, and the ending `.{ending}` tells another form"
    ))
    .at(output.display())
    .with_hint(format!("name it `.{usual}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_that_tells_a_form_is_that_of_what_is_written() {
        let check = |name: &str| check_promise(Path::new(name), &["npy"], "npy");
        for open in ["-", "x", "x.bin", "x.npy.gz", "x.NPY", "/dev/stdout"] {
            assert!(check(open).is_ok(), "{open}");
        }
        for promise in PROMISES {
            let name = format!("x.{}", promise.to_uppercase());
            assert_eq!(check(&name).is_ok(), promise == "npy", "{name}");
        }
    }
}
