//! Files opened together, and their contents.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::finalfusion::Finalfusion;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::format::safetensors::{Entry, Safetensors};
use nanoembed_core::format::sniff;
use nanoembed_core::format::uqff::{Generation, Uqff, UqffLayer, is_uqff};
use nanoembed_core::owned::folder::{ADAPTER, WEIGHTS};
use nanoembed_core::tensor::TensorView;
use nanoembed_core::text::json::chars;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::entries::room;
use super::file_names::{has_ending, is_uqff_name, joined, parts, shard_number, uqff_shards};
use super::folder_weights::{own_folder, safetensors_in};
use super::{Contents, Stored, Values};
use super::{diagnosis, gguf_parts, int8, uqff_set};
use crate::bytes::Bytes;
use crate::error::{Error, Result, name_of};
use crate::files::hub_cache;
use crate::files::mapped_file::MappedFile;
use crate::hashed;

/// One file, or several shards of one model.
pub struct FileSet {
    files: Vec<(PathBuf, Bytes)>,
    /// The folder, if one was named instead of its files.
    given: Option<PathBuf>,
}

impl FileSet {
    /// Opens each of `paths`, the first shard of a UQFF file, `NAME-0.uqff`, and each part of a
    /// split GGUF file with all others, which are not opened again.
    pub fn open_each(paths: &[PathBuf]) -> impl Iterator<Item = Result<Self>> {
        let mut brought: Vec<PathBuf> = Vec::new();
        paths.iter().filter_map(move |path| {
            let path = &*hub_cache::resolved(path);
            if brought.iter().any(|file| file == path) {
                return None;
            }
            let set = match path.is_dir() {
                true => Self::open(path),
                false => Self::from_paths(uqff_shards(path)).and_then(Self::with_parts),
            };
            if let Ok(set) = &set {
                brought.extend(set.iter().map(|(path, _)| path.to_owned()));
            }
            Some(set)
        })
    }

    /// Opens whatever `path` stands for: a file; the first shard of a UQFF file with the others; a
    /// part called `NAME-00001-of-00003.ENDING` with the others; several files joined by `;`; a
    /// folder as on Hugging Face, or the name of a model in the cache of its hub.
    pub fn open(path: &Path) -> Result<Self> {
        let path = &*hub_cache::resolved(path);
        if path.is_dir() {
            let given = Some(path.to_owned());
            return Ok(Self { given, ..Self::from_regular_paths(folder(path)?)? });
        }
        if let Some(joined) = joined(path) {
            return Self::from_paths(joined);
        }
        if let Some(parts) = parts(path).filter(|_| path.exists()) {
            return Self::from_regular_paths(parts);
        }
        Self::from_paths(uqff_shards(path))?.with_parts()
    }

    /// A file in memory, which messages call by its `path`.
    pub(crate) fn from_bytes(path: PathBuf, bytes: Bytes) -> Self {
        Self { files: vec![(path, bytes)], given: None }
    }

    fn from_paths(paths: Vec<PathBuf>) -> Result<Self> {
        Self::opened(paths, MappedFile::open)
    }

    /// Files that were not named by the user but found by the names of others.
    fn from_regular_paths(paths: Vec<PathBuf>) -> Result<Self> {
        Self::opened(paths, MappedFile::open_regular)
    }

    fn opened(paths: Vec<PathBuf>, open: fn(&Path) -> Result<MappedFile>) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            let file = open(&path)?;
            let name = name_of(&path);
            limit::push(&mut files, (path, file.into()))
                .map_err(|error| Error::in_file(name, error))?;
        }
        Ok(Self { files, given: None })
    }

    /// The folder, if one was named instead of its files.
    pub fn given_folder(&self) -> Option<&Path> {
        self.given.as_deref()
    }

    /// The name that was given: the folder, or the first file.
    pub fn given_name(&self) -> String {
        self.given.as_deref().map_or_else(|| self.name(), name_of)
    }

    /// All parts of the model that the only file is a part of, if that is one of GGUF's.
    fn with_parts(self) -> Result<Self> {
        let [(path, file)] = self.files.as_slice() else { return Ok(self) };
        match gguf_parts::split_of(file) {
            Some(split) => Self::from_regular_paths(gguf_parts::named_parts(path, split)?)
                .map_err(|failure| failure.with_hint(gguf_parts::HINT)),
            None => Ok(self),
        }
    }

    /// The name that messages give to all files together.
    pub fn name(&self) -> String {
        self.files.first().map(|(path, _)| name_of(path)).unwrap_or_default()
    }

    /// The name that messages give to one of the files.
    pub fn name_of(&self, index: usize) -> String {
        self.files.get(index).map(|(path, _)| name_of(path)).unwrap_or_default()
    }

    /// The folder of the first file.
    pub fn folder(&self) -> PathBuf {
        let parent = self.files.first().and_then(|(path, _)| path.parent());
        parent.unwrap_or(Path::new("")).to_owned()
    }

    /// The only or first file.
    pub fn first(&self) -> &[u8] {
        self.files.first().map(|(_, file)| &**file).unwrap_or_default()
    }

    /// The files in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, &[u8])> {
        self.files.iter().map(|(path, file)| (path.as_path(), &**file))
    }

    /// The bytes of each file, shared.
    pub fn shared(&self) -> impl Iterator<Item = &Bytes> {
        self.files.iter().map(|(_, bytes)| bytes)
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, file)| file.len() as u64).sum()
    }

    /// The format of the files, which is that of the first.
    pub fn format(&self) -> Option<Format> {
        format_of(self.files.first()?.0.as_path(), self.first())
    }

    /// Reads the contents of the files.
    pub fn contents(&self) -> Result<Contents<'_>> {
        let file =
            |index: usize| self.files.get(index).map(|(_, file)| &**file).unwrap_or_default();
        let fail = |index: usize| {
            move |error| diagnosis::failure(&self.name_of(index), file(index), error)
        };
        let format =
            self.format().ok_or(CoreError::new(0, ErrorKind::UnknownFormat)).map_err(fail(0))?;
        let mut contents = Contents {
            format,
            generation: None,
            tensors: Vec::new(),
            layers: Vec::new(),
            gguf: Vec::new(),
        };
        if format == Format::Uqff {
            self.uqff(&mut contents)?;
            return Ok(contents);
        }
        if format == Format::Gguf {
            self.check_parts()?;
        }
        let mut names: HashSet<String> = HashSet::new();
        for (index, (path, file)) in self.iter().enumerate() {
            if format_of(path, file) != Some(format) {
                let message = format!("this is no {} file as the first one is", format.name());
                return Err(Error::input(ErrorKind::UnknownFormat, message).at(name_of(path)));
            }
            let tensors = match format {
                Format::Safetensors => safetensors(file),
                Format::Gguf => Gguf::parse(file, Mode::Lenient).and_then(|gguf| {
                    limit::push(&mut contents.gguf, gguf)?;
                    plain(gguf.tensors())
                }),
                Format::Embd => Embd::parse(file, Mode::Lenient).and_then(|embd| {
                    let found = int8::tensors(&embd);
                    limit::gathered(found.map(|tensor| {
                        let (view, values) = tensor?;
                        stored(&view, values)
                    }))
                }),
                Format::Amb => Amb::parse(file, Mode::Lenient).and_then(|amb| plain(amb.tensors())),
                Format::Finalfusion => {
                    Finalfusion::parse(file, Mode::Lenient).and_then(|fifu| plain(fifu.tensors()))
                }
                _ => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
            };
            for tensor in tensors.map_err(fail(index))? {
                let name = limit::copied(&tensor.name).map_err(fail(index))?;
                if !hashed::add(&mut names, name).map_err(fail(index))? {
                    let message = format!("the tensor `{}` is there twice", tensor.name);
                    return Err(Error::input(ErrorKind::DuplicateName, message).at(name_of(path)));
                }
                let tensor = Stored { file: index, ..tensor };
                limit::push(&mut contents.tensors, tensor).map_err(fail(index))?;
            }
        }
        Ok(contents)
    }

    /// Refuses GGUF files of which some are parts of a model and others are not the rest of it.
    fn check_parts(&self) -> Result<()> {
        let parsed = self.iter().map_while(|(_, file)| Gguf::parse(file, Mode::Lenient).ok());
        let parsed = limit::collected(parsed);
        let parsed = parsed.map_err(|error| Error::in_file(self.name(), error))?;
        // A file that is damaged is told of where it is read.
        match parsed.len() == self.files.len() {
            true => gguf_parts::check(&parsed, |index| self.name_of(index)),
            false => Ok(()),
        }
    }

    fn uqff<'a>(&'a self, contents: &mut Contents<'a>) -> Result<()> {
        let (generation, mut layers) = self.layers(Mode::Lenient).map_err(|(index, error)| {
            let failure = Error::in_file(self.name_of(index), error);
            match self.later_shard_hint() {
                Some(hint) if error.kind() == ErrorKind::BadVersion => failure.with_hint(hint),
                _ => failure,
            }
        })?;
        layers.sort_unstable_by(|(_, a), (_, b)| in_number_order(a.name, b.name));
        contents.generation = Some(generation);
        for (file, layer) in layers {
            let file = file.unwrap_or(0);
            let place = self.offset_of(file, &layer);
            let failed = |error| Error::in_file(self.name_of(file), error);
            let name = limit::joined(&[layer.name, ".weight"]).map_err(failed)?;
            let values = Values::Weight(layer.weight);
            let weight = Stored { name, values, offset: place, file };
            limit::push(&mut contents.tensors, weight).map_err(failed)?;
            if let Some(bias) = &layer.bias {
                let values = Values::plain(bias).map_err(failed)?;
                let name = limit::joined(&[layer.name, ".bias"]).map_err(failed)?;
                let bias = Stored { name, values, offset: bias.header().offset, file };
                limit::push(&mut contents.tensors, bias).map_err(failed)?;
            }
            limit::push(&mut contents.layers, layer).map_err(failed)?;
        }
        Ok(())
    }

    /// The layers, each with the file of its weight; the error comes with the file at fault.
    #[expect(clippy::type_complexity, reason = "a list of pairs and a pair")]
    pub fn layers(
        &self,
        mode: Mode,
    ) -> std::result::Result<(Generation, Vec<(Option<usize>, UqffLayer<'_>)>), (usize, CoreError)>
    {
        let is_set = uqff_set::check(self.iter().map(|(_, file)| file));
        is_set.map_err(|(index, kind)| (index, CoreError::new(0, kind)))?;
        let mut rooms: Vec<Vec<Entry>> = Vec::new();
        for (at, (_, file)) in self.iter().enumerate() {
            let added = room(file).and_then(|room| limit::push(&mut rooms, room));
            added.map_err(|error| (at, error))?;
        }
        let (first_room, later_rooms) = rooms.split_first_mut().ok_or((0, missing()))?;
        let mut later = Vec::new();
        for (index, ((_, file), room)) in (1..).zip(self.iter().skip(1).zip(later_rooms)) {
            let shard = Uqff::parse_later_shard(file, mode, room);
            let added = shard.and_then(|shard| limit::push(&mut later, shard));
            added.map_err(|error| (index, error))?;
        }
        let uqff = Uqff::parse_shards(self.first(), &later, mode, first_room);
        let uqff = uqff.map_err(|error| (0, error))?;
        let mut layers = Vec::new();
        for layer in uqff.layers() {
            let layer = layer.map_err(|error| (0, error))?;
            let file = self.file_of(weight_bytes(&layer));
            limit::push(&mut layers, (file, layer)).map_err(|error| (0, error))?;
        }
        Ok((uqff.generation(), layers))
    }

    /// The file that contains `bytes`.
    fn file_of(&self, bytes: &[u8]) -> Option<usize> {
        self.iter().position(|(_, file)| file.as_ptr_range().contains(&bytes.as_ptr()))
    }

    /// The offset of a layer's weight in its file.
    pub fn offset_of(&self, file: usize, layer: &UqffLayer<'_>) -> u64 {
        let start = self.files.get(file).map_or(0, |(_, file)| file.as_ptr().addr());
        weight_bytes(layer).as_ptr().addr().saturating_sub(start) as u64
    }

    /// The hint if the only file is a shard that is not the first.
    pub fn later_shard_hint(&self) -> Option<String> {
        let (path, _) = self.files.first()?;
        let (stem, number) = shard_number(path)?;
        (number > 0).then(|| {
            format!("this is shard {number} of several: name the first, `{stem}-0.uqff`, to open them together")
        })
    }
}

const fn missing() -> CoreError {
    CoreError::new(0, ErrorKind::UnexpectedEnd)
}

/// A layer's largest array.
fn weight_bytes<'a>(layer: &UqffLayer<'a>) -> &'a [u8] {
    let [largest, ..] = layer.weight.encoding().arrays();
    largest
}

/// Numbers by their value, before names by their letters; numbers inside names by their value too.
pub fn in_number_order(a: &str, b: &str) -> std::cmp::Ordering {
    fn part(part: &str) -> (u64, &str) {
        (part.parse().unwrap_or(u64::MAX), part)
    }
    a.split('.').map(part).cmp(b.split('.').map(part))
}

/// The format of a file; one called `.uqff` is meant to be UQFF.
fn format_of(path: &Path, file: &[u8]) -> Option<Format> {
    match sniff(file) {
        Some(Format::Safetensors) if has_ending(path, "uqff") || is_uqff(file) => {
            Some(Format::Uqff)
        }
        format => format,
    }
}

fn safetensors(file: &[u8]) -> std::result::Result<Vec<Stored<'_>>, CoreError> {
    let mut room = room(file)?;
    let mut tensors = plain(Safetensors::parse(file, Mode::Lenient, &mut room)?.tensors())?;
    for tensor in &mut tensors {
        tensor.name = limit::spelled(chars(&tensor.name))?;
    }
    Ok(tensors)
}

fn plain<'a>(
    tensors: impl Iterator<Item = TensorView<'a>>,
) -> std::result::Result<Vec<Stored<'a>>, CoreError> {
    let mut all = Vec::new();
    for view in tensors {
        limit::push(&mut all, stored(&view, Values::plain(&view)?)?)?;
    }
    Ok(all)
}

fn stored<'a>(
    view: &TensorView<'a>,
    values: Values<'a>,
) -> std::result::Result<Stored<'a>, CoreError> {
    let header = view.header();
    let name = limit::copied(header.name)?;
    Ok(Stored { name, values, offset: header.offset, file: 0 })
}

/// The weights of a folder: `model.safetensors`, or its parts, or else the shards of its only UQFF
/// file, or the weights of the first module in a subfolder.
fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    if let Some(files) = safetensors_in(path)? {
        return Ok(files);
    }
    let paths = files_in(path)?;
    let parts = paths.iter().filter_map(|path| parts(path)).find(|parts| {
        parts.first().is_some_and(|first| has_ending(first, "safetensors") && first.exists())
    });
    if let Some(parts) = parts {
        return Ok(parts);
    }
    if let Some(first) = uqff_in(path)? {
        return Ok(uqff_shards(&first));
    }
    let adapter = path.join(ADAPTER);
    if adapter.exists() {
        let message = "an adapter is merged where a model is run, and by `nanoembed convert` into `.weights` and `.amb` files";
        return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(&adapter)));
    }
    let own = own_folder(path)?;
    let of_module = if own == path { None } else { safetensors_in(&own)? };
    of_module.ok_or_else(|| {
        let message = format!("there is no `{WEIGHTS}` in this folder, and no UQFF file");
        Error::not_found(message).at(name_of(path))
    })
}

/// The only UQFF file in a folder, or the first of its shards.
pub fn uqff_in(folder: &Path) -> Result<Option<PathBuf>> {
    let is_first = |path: &PathBuf| shard_number(path).is_none_or(|(_, number)| number == 0);
    let mut first: Vec<PathBuf> = files_in(folder)?;
    first.retain(|path| is_uqff_name(path) && is_first(path));
    first.sort_unstable();
    let mut first = first.into_iter();
    match (first.next(), first.next()) {
        (Some(one), Some(other)) => {
            let (one, other) = (one.display(), other.display());
            let message = format!("there are several UQFF files, `{one}` and `{other}` among them");
            Err(Error::usage(message).at(name_of(folder)).with_hint("name the one to use"))
        }
        (only, _) => Ok(only),
    }
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.map_err(|error| Error::reading(name_of(folder), &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    limit::collected(paths).map_err(|error| Error::in_file(name_of(folder), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_ordered_by_the_numbers_in_their_names() {
        let mut names = ["model.layers.10.a", "2", "10", "lm_head", "model.layers.2.b"];
        names.sort_by(|a, b| in_number_order(a, b));
        assert_eq!(names, ["2", "10", "lm_head", "model.layers.2.b", "model.layers.10.a"]);
    }
}
