//! A file or stdin, as bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nanoembed::lines::Lines;

use crate::error::{Error, Result, name_of};
use crate::streams;

/// Opens `path`; `-` is stdin.
fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let failed = |error| Error::reading(name_of(path), &error);
    if path == Path::new("-") {
        streams::check_stdin().map_err(failed)?;
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(File::open(path).map_err(failed)?))
}

/// The lines of a file, or of stdin (`-`). `lossy` is the option of this name: `None` if the command
/// has none.
pub(crate) fn lines(path: &Path, lossy: Option<bool>) -> Result<Lines> {
    Ok(Lines::new(name_of(path), open(path)?, lossy))
}

/// The bytes of a file, or of stdin (`-`). Of one that has more than `most`, there is one more than
/// that.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::reading(name_of(path), &error))?;
    Ok(bytes)
}
