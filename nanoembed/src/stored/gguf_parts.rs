//! A GGUF model in parts, as llama.cpp's `llama-gguf-split` makes them: `NAME-00001-of-00003.gguf`
//! and so on.
//!
//! The first part has the metadata, each part its own tensors, and all say how many there are. They
//! are read together or not at all: some of a model's tensors are no model.

use std::path::{Path, PathBuf};

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, Split, TensorSpec, WriteValue};
use nanoembed_core::format::sniff;
use nanoembed_core::owned::IoSink;
use nanoembed_core::{ErrorKind, limit};

use super::file_names::parts;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;

/// The hint where the parts are not called or not there as they should be.
pub(super) const HINT: &str = "put all parts into one folder under the names that they were made with, `NAME-00001-of-00003.gguf` and so on, or make one file of them with llama.cpp's `llama-gguf-split --merge FIRST OUT`";

/// The keys that only parts have.
const SPLIT_KEYS: &str = "split.";
const ALIGNMENT_KEY: &str = "general.alignment";

/// The place of `file` in a split model, if it is a part of one.
pub fn split_of(file: &[u8]) -> Option<Split> {
    if sniff(file) != Some(Format::Gguf) {
        return None;
    }
    Gguf::parse(file, Mode::Lenient).ok()?.split()
}

/// The model that the file at `path` holds or is a part of, in one file: `file` itself, or all
/// parts put together in temporary storage.
pub fn whole(path: &Path, file: MappedFile) -> Result<MappedFile> {
    // Files under other names are refused where the model is opened.
    let split = parts(path).and_then(|_| split_of(&file));
    let Some(split) = split else { return Ok(file) };
    let paths = named_parts(path, split)?;
    let files = paths.iter().map(|path| MappedFile::open_regular(path)).collect::<Result<Vec<_>>>();
    let files = files.map_err(|failure| failure.with_hint(HINT))?;
    let mut parsed = Vec::new();
    for (path, file) in paths.iter().zip(&files) {
        let gguf = Gguf::parse(file, Mode::Lenient);
        parsed.push(gguf.map_err(|error| Error::in_file(name_of(path), error))?);
    }
    check(&parsed, |index| paths.get(index).map(|path| name_of(path)).unwrap_or_default())?;
    merged(path, &parsed)
}

/// The names of all parts of the model that the file at `path` is the part `split` of.
pub(super) fn named_parts(path: &Path, split: Split) -> Result<Vec<PathBuf>> {
    let paths = parts(path).filter(|paths| {
        let own = usize::try_from(split.number).ok().and_then(|number| paths.get(number));
        paths.len() as u64 == u64::from(split.count)
            && own.is_some_and(|own| own.file_name() == path.file_name())
    });
    paths.ok_or_else(|| {
        Error::input(ErrorKind::SplitFile, misnaming(split)).at(name_of(path)).with_hint(HINT)
    })
}

/// The error message for a part that is not called as one.
pub(super) fn misnaming(split: Split) -> String {
    let (number, count) = (u64::from(split.number) + 1, split.count);
    format!(
        "this is part {number} of {count} of a split model, but is not called `…-{number:05}-of-{count:05}.gguf`"
    )
}

/// Refuses files that are not, in this order, all parts of one model. `name` gives the name of
/// each.
pub fn check(files: &[Gguf<'_>], name: impl Fn(usize) -> String) -> Result<()> {
    let Some(first) = files.iter().find_map(Gguf::split) else { return Ok(()) };
    let refuse = |index: usize, message: String| {
        Err(Error::input(ErrorKind::SplitFile, message).at(name(index)).with_hint(HINT))
    };
    let (count, there) = (first.count, files.len());
    if u64::from(count) != there as u64 {
        return refuse(
            0,
            format!("this is part 1 of {count} of a split model, of which {there} are here"),
        );
    }
    for (index, file) in files.iter().enumerate() {
        let own = file.split();
        let is_its = own.is_some_and(|own| {
            u64::from(own.number) == index as u64
                && own.count == count
                && (own.tensors.is_none() || own.tensors == first.tensors)
        });
        if !is_its {
            return refuse(
                index,
                format!("this is not part {} of {count} of the same model", index + 1),
            );
        }
    }
    let tensors: usize = files.iter().map(|file| file.tensors().count()).sum();
    match first.tensors {
        Some(said) if u64::from(said) != tensors as u64 => {
            refuse(0, format!("the parts have {tensors} tensors together, but should have {said}"))
        }
        _ => Ok(()),
    }
}

/// One file of the first part's metadata and all tensors.
fn merged(path: &Path, parts: &[Gguf<'_>]) -> Result<MappedFile> {
    let no_memory = |error| Error::in_file(name_of(path), error);
    let metadata = parts.first().into_iter().flat_map(|first| {
        let own = first
            .metadata()
            .filter(|(key, _)| !key.starts_with(SPLIT_KEYS) && *key != ALIGNMENT_KEY);
        own.filter_map(|(key, _)| Some((key, WriteValue::Stored(first.stored_value(key)?))))
    });
    let metadata = limit::collected(metadata).map_err(no_memory)?;
    let tensors: Vec<_> =
        limit::collected(parts.iter().flat_map(Gguf::tensors)).map_err(no_memory)?;
    let specs = tensors.iter().map(|tensor| {
        let header = tensor.header();
        TensorSpec { name: header.name, dtype: header.dtype, shape: header.shape }
    });
    let specs: Vec<TensorSpec<'_>> = limit::exactly(specs).map_err(no_memory)?;
    let plan = GgufPlan { metadata: &metadata, tensors: &specs, alignment: 32 };
    const FILE: &str = "a temporary file";
    let failed = |error: std::io::Error| Error::writing(FILE, &error);
    let file = tempfile::tempfile().map_err(failed)?;
    let file = std::io::BufWriter::with_capacity(1 << 20, file);
    let mut sink = IoSink::new(file);
    let written = GgufWriter::new(plan, &mut sink).and_then(|mut writer| {
        tensors.iter().try_for_each(|tensor| writer.data(tensor.data()))?;
        writer.finish().map(|_| ())
    });
    Error::from_written(written, sink.take_error(), FILE, name_of(path))?;
    let file = sink.into_inner().into_inner().map_err(|error| failed(error.into_error()))?;
    rewound(file).map_err(failed)
}

fn rewound(mut file: std::fs::File) -> std::io::Result<MappedFile> {
    std::io::Seek::rewind(&mut file)?;
    MappedFile::from_file(file)
}
