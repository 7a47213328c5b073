//! UQFF files of either generation, in shards if they are large, and the report that the reference
//! puts beside them.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use nanoembed_core::format::uqff::{
    LayerFormat, UqffLayer, blob_bytes, write_blobs, write_tensors,
};
use nanoembed_core::sink::Sink;
use nanoembed_core::tensor::Encoding;
use nanoembed_core::{Error as CoreError, limit};
use serde::{Serialize, Serializer};

use super::FileSink;
use crate::error::{Error, Result, name_of};
use crate::files::new_file::NewFile;
use crate::stored::file_names::uqff_shard;
use crate::stored::uqff_set::{SET_KEY, SetPlace};

/// The layers, under the names or numbers that their generation wants.
pub enum Layers<'l, 'a> {
    /// 1.2.
    Tensors(&'l [UqffLayer<'a>]),
    /// 0.2.0.
    Blobs(&'l [(u32, UqffLayer<'a>)]),
}

const METADATA: [(&str, &str); 3] = [
    ("uqff.producer", "nanoembed"),
    ("uqff.version", "1.2.0"),
    ("uqff.producer.nanoembed.version", env!("CARGO_PKG_VERSION")),
];

impl Layers<'_, '_> {
    fn sizes(&self) -> Result<Vec<u64>> {
        match self {
            Self::Tensors(layers) => {
                let size = |layer: &UqffLayer<'_>| {
                    let bias = layer.bias.as_ref().map_or(0, |bias| bias.header().bytes);
                    layer.weight.encoding().stored_bytes() + bias
                };
                limit::exactly(layers.iter().map(size)).map_err(no_memory)
            }
            Self::Blobs(layers) => {
                let mut sizes = limit::reserved(layers.len()).map_err(no_memory)?;
                for (_, layer) in *layers {
                    sizes.push(blob_bytes(layer).map_err(|error| {
                        let name = format!("layer `{}`", layer.name);
                        Error::in_file(name, error).with_hint(
                            "UQFF 0.x holds no arrays beyond 4 GiB; `--to uqff-1.2` does",
                        )
                    })?);
                }
                Ok(sizes)
            }
        }
    }
}

fn no_memory(error: CoreError) -> Error {
    Error::in_file("the model", error)
}

/// The files that layers become.
pub struct Shards<'l, 'a> {
    layers: &'l Layers<'l, 'a>,
    ranges: Vec<Range<usize>>,
    pub paths: Vec<PathBuf>,
}

impl<'l, 'a> Shards<'l, 'a> {
    /// `path`, or, beyond `shard_bytes`, `NAME-0.uqff`, `NAME-1.uqff` and so on, each as large as
    /// fits. Refuses to leave a shard of another set after them, which would be opened with them.
    pub fn new(path: &Path, layers: &'l Layers<'l, 'a>, shard_bytes: u64) -> Result<Self> {
        let ranges = shards(&layers.sizes()?, shard_bytes).map_err(no_memory)?;
        let paths = names(path, ranges.len()).map_err(no_memory)?;
        let next = paths.first().and_then(|first| uqff_shard(first, paths.len()));
        let left = next.filter(|next| next.exists());
        match left {
            Some(left) => {
                let message = format!("{} would be taken for one of these shards", left.display());
                Err(Error::usage(message)
                    .with_hint("remove it and those after it, or choose another name for OUT"))
            }
            None => Ok(Self { layers, ranges, paths }),
        }
    }

    /// Writes the files, which are still to be put in their places.
    pub fn prepare(&self) -> Result<Vec<NewFile>> {
        let count = self.ranges.len();
        // One file is a set by itself.
        let set = if count > 1 { Some(self.hash()?) } else { None };
        let mut files = Vec::new();
        for (index, (range, path)) in self.ranges.iter().zip(&self.paths).enumerate() {
            let mut file = NewFile::create(path, true)?;
            let mut sink = FileSink::new(&mut file);
            let place = |set: &String| SetPlace { set: set.clone(), number: index + 1, count };
            let place = set.as_ref().map(place).map(|place| place.spelled());
            let of_set = place.as_deref().map(|place| (SET_KEY, place));
            let metadata: Vec<_> = of_set.into_iter().collect();
            let written = self.write_shard(index == 0, range, &metadata, &mut sink);
            sink.judge(written)?;
            limit::push(&mut files, file).map_err(no_memory)?;
        }
        Ok(files)
    }

    fn write_shard(
        &self,
        is_first: bool,
        range: &Range<usize>,
        metadata: &[(&str, &str)],
        sink: &mut impl Sink,
    ) -> std::result::Result<(), CoreError> {
        match self.layers {
            Layers::Tensors(all) => {
                let some = all.get(range.clone()).unwrap_or_default();
                let metadata = limit::collected(METADATA.iter().chain(metadata).copied())?;
                write_tensors(some, &metadata, is_first, sink)
            }
            Layers::Blobs(all) => {
                write_blobs(all.get(range.clone()).unwrap_or_default(), metadata, sink)
            }
        }
    }

    /// A hash of the contents of all files.
    fn hash(&self) -> Result<String> {
        let mut sink = Hash(0);
        for (index, range) in self.ranges.iter().enumerate() {
            let written = self.write_shard(index == 0, range, &[], &mut sink);
            let name = || self.paths.get(index).map(|path| name_of(path)).unwrap_or_default();
            written.map_err(|error| Error::in_file(name(), error))?;
        }
        Ok(format!("{:016x}", sink.0))
    }
}

/// Hashes the bytes written, eight at a time.
struct Hash(u64);

impl Sink for Hash {
    fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), CoreError> {
        const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut add = |word: u64| self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(PRIME);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| add((*byte).into()));
        add(bytes.len() as u64);
        Ok(())
    }
}

/// The layers of each shard.
fn shards(sizes: &[u64], most: u64) -> std::result::Result<Vec<Range<usize>>, CoreError> {
    let mut shards = Vec::new();
    let (mut start, mut filled) = (0, 0_u64);
    for (index, size) in sizes.iter().enumerate() {
        if index > start && filled.saturating_add(*size) > most {
            limit::push(&mut shards, start..index)?;
            (start, filled) = (index, 0);
        }
        filled = filled.saturating_add(*size);
    }
    limit::push(&mut shards, start..sizes.len())?;
    Ok(shards)
}

/// The paths of so many shards.
fn names(path: &Path, count: usize) -> std::result::Result<Vec<PathBuf>, CoreError> {
    if count == 1 {
        return Ok(vec![path.to_owned()]);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix("-0").unwrap_or(&stem);
    limit::exactly((0..count).map(|k| path.with_file_name(format!("{stem}-{k}.uqff"))))
}

/// The report, as the reference writes and reads it (schema 1).
#[derive(Serialize)]
struct Report<'l> {
    schema: u32,
    generated_by: GeneratedBy,
    uqff_version: &'static str,
    outputs: [Output<'l>; 1],
}

#[derive(Serialize)]
struct GeneratedBy {
    tool: &'static str,
}

#[derive(Serialize)]
struct Output<'l> {
    quant: String,
    shards: Vec<Cow<'l, str>>,
    layers: usize,
    actual_counts: Counts<'l>,
    fallback_count: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fallbacks: &'l [Fallback],
    layer_details: &'l [LayerDetail<'l>],
}

/// The number of layers that are stored in each way.
struct Counts<'l>(Vec<(&'l str, usize)>);

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[derive(Serialize)]
struct LayerDetail<'l> {
    module: &'l str,
    stored: Cow<'l, str>,
    shape: &'l [u64],
}

/// A layer that could not be stored in the type that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Fallback {
    pub module: String,
    pub from: String,
    pub to: String,
    pub shape: Vec<u64>,
    pub reason: String,
}

/// Writes `uqff_report.json`, which goes beside `paths`; it is still to be put in its place.
pub fn prepare_report(
    paths: &[PathBuf],
    layers: &[UqffLayer<'_>],
    fallbacks: &[Fallback],
) -> Result<Option<NewFile>> {
    let Some(first) = paths.first() else { return Ok(None) };
    let shards = paths.iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    let stem = first.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let quant = match stem.rsplit_once('-') {
        Some((front, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            front.to_owned()
        }
        _ => stem,
    };
    let details = layers.iter().map(|layer| LayerDetail {
        module: layer.name,
        stored: stored_name(layer),
        shape: layer.weight.shape().dims(),
    });
    let details = limit::exactly(details).map_err(no_memory)?;
    let output = Output {
        quant,
        shards: limit::exactly(shards).map_err(no_memory)?,
        layers: layers.len(),
        actual_counts: counts(&details).map_err(no_memory)?,
        fallback_count: fallbacks.len(),
        fallbacks,
        layer_details: &details,
    };
    let tool = concat!("nanoembed ", env!("CARGO_PKG_VERSION"));
    let generated_by = GeneratedBy { tool };
    let report = Report { schema: 1, generated_by, uqff_version: "1.2.0", outputs: [output] };
    let mut file = NewFile::create(&first.with_file_name("uqff_report.json"), false)?;
    let name = file.name();
    serde_json::to_writer_pretty(&mut file, &report)
        .map_err(|error| Error::writing(&name, &error.into()))?;
    Ok(Some(file))
}

/// Counts layers by the way they are stored, in the order of its name.
fn counts<'l>(details: &'l [LayerDetail<'_>]) -> std::result::Result<Counts<'l>, CoreError> {
    let mut ways = limit::exactly(details.iter().map(|detail| &*detail.stored))?;
    ways.sort_unstable();
    let ways = ways.chunk_by(|a, b| a == b);
    let counted = ways.filter_map(|same| Some((*same.first()?, same.len())));
    limit::collected(counted).map(Counts)
}

/// The reference's name for the way a layer is stored.
fn stored_name(layer: &UqffLayer<'_>) -> Cow<'static, str> {
    match (layer.format, layer.weight.encoding()) {
        (LayerFormat::Unquantized, _) => "unquant".into(),
        (_, Encoding::Plain { dtype, .. }) => match dtype.name() {
            // K types without the underscore.
            name if name.ends_with("_k") => name.replace("_k", "k").into(),
            name => name.into(),
        },
        (_, encoding) => encoding.name().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_filled_in_order_and_never_empty() {
        assert_eq!(shards(&[4, 4, 4, 9, 1], 8).unwrap(), [0..2, 2..3, 3..4, 4..5]);
        assert_eq!(shards(&[4, 4], 100).unwrap().len(), 1);
        assert_eq!(shards(&[], 8).unwrap().len(), 1);
        assert_eq!(names(Path::new("a/q4k.uqff"), 2).unwrap()[1], Path::new("a/q4k-1.uqff"));
        assert_eq!(names(Path::new("a/q4k-0.uqff"), 2).unwrap()[1], Path::new("a/q4k-1.uqff"));
        assert_eq!(names(Path::new("a/q4k.uqff"), 1).unwrap()[0], Path::new("a/q4k.uqff"));
    }
}
