//! Weights into which a LoRA adapter is merged: `W + s·B·A`, with the `s` of its settings.

use std::collections::HashMap;
use std::path::Path;

use nanoembed_core::format::safetensors::{SafetensorsPlan, SafetensorsWriter};
use nanoembed_core::owned::folder::{ADAPTER, Adapter};
use nanoembed_core::tensor::{Dtype, TensorSpec};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use regex_lite::{Regex, RegexBuilder};

use super::tensor::le_bytes;
use crate::error::{Error, Result, name_of};
use crate::folder::adapter::FolderAdapter;
use crate::stored::{FileSet, Stored};
use crate::{hashed, parallel};

/// The adapter's weights, and the form of them that only Python reads.
const WEIGHTS: &str = "adapter_model.safetensors";
const PICKLE: &str = "adapter_model.bin";

/// What peft puts before the names of a model's modules.
const PREFIX: &str = "base_model.model.";
/// The end of the name of a module's matrix.
const WEIGHT: &str = ".weight";
/// The factors of a product, by the ends of their names.
const FACTORS: [&str; 2] = [".lora_A.weight", ".lora_B.weight"];

/// The two factors for the matrix of a module: `[rank, inputs]` and `[outputs, rank]`.
type Factors<'a> = [Option<&'a Stored<'a>>; 2];

/// The matrices of `base` that the adapter changes, changed, in f32.
pub(crate) fn merge(adapter: &FolderAdapter, base: &FileSet) -> Result<FileSet> {
    let path = adapter.folder.join(WEIGHTS);
    if !path.exists() && adapter.folder.join(PICKLE).exists() {
        let message = format!("the adapter has its weights only as `{PICKLE}`, a pickle");
        return Err(Error::input(ErrorKind::UnknownFormat, message)
            .at(name_of(&adapter.folder))
            .with_hint("save it with `safe_serialization=True`"));
    }
    let files = FileSet::open(&path)?;
    let (factors, originals) = (files.contents()?, base.contents()?);
    let modules = modules(&factors.tensors, &path)?;
    let prefix = modules.first().map_or("", |(module, _)| prefix(&originals.tensors, module));
    let merging = Merging::new(&adapter.settings, (&originals.tensors, prefix), &path)?;
    let mut changes = Vec::new();
    for (module, factors) in modules {
        let [Some(inner), Some(outer)] = factors else {
            let message = format!("`{PREFIX}{module}` has only one of its two factors");
            return Err(Error::input(ErrorKind::MissingTensor, message).at(name_of(&path)));
        };
        let change = merging.change(module, [inner, outer])?;
        limit::push(&mut changes, change).map_err(|error| merging.failed(error))?;
    }
    let bytes = as_file(&changes, &path)?;
    Ok(FileSet::from_bytes(path, bytes.into()))
}

/// The factors by the names of their modules, in the order of the file.
fn modules<'a>(tensors: &'a [Stored<'a>], path: &Path) -> Result<Vec<(&'a str, Factors<'a>)>> {
    let failed = |error| Error::in_file(name_of(path), error);
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut found: Vec<(&str, Factors<'_>)> = Vec::new();
    for tensor in tensors {
        let module = tensor.name.strip_prefix(PREFIX).unwrap_or(&tensor.name);
        let factor = (0..).zip(FACTORS).find_map(|(at, end)| Some((at, module.strip_suffix(end)?)));
        let Some((at, module)) = factor else {
            let message = format!("`{}` is no factor of a plain LoRA adapter", tensor.name);
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(path)));
        };
        let place = match places.get(module) {
            Some(place) => *place,
            None => {
                hashed::insert(&mut places, module, found.len()).map_err(failed)?;
                limit::push(&mut found, (module, [None; 2])).map_err(failed)?;
                found.len() - 1
            }
        };
        if let Some(factor) = found.get_mut(place).and_then(|(_, factors)| factors.get_mut(at)) {
            let before: Option<&Stored<'_>> = factor.replace(tensor);
            if before.is_some() {
                let message = format!("there are two of `{}`", tensor.name);
                return Err(Error::input(ErrorKind::DuplicateName, message).at(name_of(path)));
            }
        }
    }
    Ok(found)
}

/// A matrix and the product that is added to it.
struct Change<'a> {
    original: &'a Stored<'a>,
    /// `[rank, inputs]` and `[outputs, rank]`.
    factors: [&'a Stored<'a>; 2],
    scale: f64,
}

impl Change<'_> {
    fn spec(&self) -> TensorSpec<'_> {
        let shape = *self.original.values.shape();
        TensorSpec { name: &self.original.name, dtype: Dtype::F32, shape }
    }

    /// The values of the changed matrix, row by row.
    fn values(&self) -> Result<Vec<f32>> {
        let [inner, outer] = self.factors;
        let size = |of: &Stored<'_>| of.values.shape().cols().unwrap_or(0).max(1) as usize;
        let (rank, cols) = (size(outer), size(inner));
        let (inner, outer, mut values) = (inner.all()?, outer.all()?, self.original.all()?);
        let rows = values.chunks_mut(cols).zip(outer.chunks(rank));
        let added = parallel::try_each(rows, &|(row, outer)| {
            add_product(row, outer, &inner, self.scale);
            Ok(())
        });
        added.map_err(|error| Error::in_file(&self.original.name, error))?;
        Ok(values)
    }
}

/// An adapter and the tensors of the model that it is for.
struct Merging<'a> {
    path: &'a Path,
    settings: &'a Adapter,
    ranks: Vec<(Regex, f64)>,
    alphas: Vec<(Regex, f64)>,
    originals: HashMap<&'a str, &'a Stored<'a>>,
    prefix: &'a str,
}

impl<'a> Merging<'a> {
    fn new(
        settings: &'a Adapter,
        (originals, prefix): (&'a [Stored<'a>], &'a str),
        path: &'a Path,
    ) -> Result<Self> {
        let originals = hashed::map(originals.iter().map(|it| (it.name.as_str(), it)));
        Ok(Self {
            prefix,
            path,
            settings,
            ranks: patterns(&settings.ranks, path)?,
            alphas: patterns(&settings.alphas, path)?,
            originals: originals.map_err(|error| Error::in_file(name_of(path), error))?,
        })
    }

    fn failed(&self, error: CoreError) -> Error {
        Error::in_file(name_of(self.path), error)
    }

    fn refuse(&self, kind: ErrorKind, message: String) -> Error {
        Error::input(kind, message).at(name_of(self.path))
    }

    /// The change of a module's matrix by the product of the factors.
    fn change(&self, module: &str, factors: [&'a Stored<'a>; 2]) -> Result<Change<'a>> {
        let original = self.original(module)?;
        let [inner, outer] = factors;
        let sizes = |tensor: &Stored<'_>| <[u64; 2]>::try_from(tensor.values.shape().dims());
        let (Ok([rank, inputs]), Ok([outputs, same]), Ok([rows, cols])) =
            (sizes(inner), sizes(outer), sizes(original))
        else {
            let message = format!("`{module}` or one of its factors is no matrix");
            return Err(self.refuse(ErrorKind::WrongShape, message));
        };
        let (expected, scale) = self.scale(module);
        if rank as f64 != expected {
            let message =
                format!("`{module}` has a product of rank {rank}, and the settings say {expected}");
            return Err(self.refuse(ErrorKind::WrongShape, message));
        }
        if rank != same || [rows, cols] != [outputs, inputs] {
            let message = format!(
                "`{module}` is [{rows}, {cols}], and its factors are [{outputs}, {same}] and [{rank}, {inputs}]"
            );
            return Err(self.refuse(ErrorKind::WrongShape, message));
        }
        Ok(Change { original, factors, scale })
    }

    /// The weight of a module.
    fn original(&self, module: &str) -> Result<&'a Stored<'a>> {
        let name = limit::joined(&[module, WEIGHT]).map_err(|error| self.failed(error))?;
        let whole = limit::joined(&[self.prefix, &name]).map_err(|error| self.failed(error))?;
        // A model that lies alone in its file may have been a part of another one.
        let alone = name.split_once('.').and_then(|(_, rest)| self.originals.get(rest));
        let found = self.originals.get(whole.as_str()).or(alone).copied();
        found.ok_or_else(|| {
            let message = format!("the model that the adapter is for has no tensor `{name}`");
            self.refuse(ErrorKind::MissingTensor, message)
        })
    }

    /// The rank of the product for a module, and its factor.
    fn scale(&self, module: &str) -> (f64, f64) {
        let first = |patterns: &[(Regex, f64)]| {
            patterns.iter().find(|(pattern, _)| pattern.is_match(module)).map(|(_, value)| *value)
        };
        let Adapter { by_root, rank, alpha, .. } = *self.settings;
        let rank = first(&self.ranks).unwrap_or(rank);
        let alpha = first(&self.alphas).unwrap_or(alpha);
        (rank, alpha / if by_root { rank.sqrt() } else { rank })
    }
}

/// Adds `factor · outer · inner` to a row of a matrix.
fn add_product(row: &mut [f32], outer: &[f32], inner: &[f32], factor: f64) {
    const BLOCK: usize = 64;
    let cols = row.len();
    for (at, block) in row.chunks_mut(BLOCK).enumerate() {
        let mut sums = [0.0; BLOCK];
        for (&a, inner) in outer.iter().zip(inner.chunks_exact(cols)) {
            let inner = inner.get(at * BLOCK..).unwrap_or_default();
            for (sum, &b) in sums.iter_mut().zip(inner) {
                *sum += f64::from(a) * f64::from(b);
            }
        }
        for (value, sum) in block.iter_mut().zip(sums) {
            *value = (f64::from(*value) + factor * sum) as f32;
        }
    }
}

/// What stands in the model's file before the names of its modules, one of which is `module`: models
/// that are saved with a head have it, and an adapter's modules may be named without it.
fn prefix<'a>(originals: &'a [Stored<'a>], module: &str) -> &'a str {
    let before = |it: &'a Stored<'a>| it.name.strip_suffix(WEIGHT)?.strip_suffix(module);
    let mut found = originals.iter().filter_map(before).filter(|it| it.ends_with('.'));
    let is_exact = originals.iter().any(|it| before(it) == Some(""));
    match (found.next(), found.next()) {
        (Some(only), None) if !is_exact => only,
        _ => "",
    }
}

/// The most expressions of one kind, and the most bytes of what one of them becomes: memory for
/// them is not refused.
const MOST_PATTERNS: usize = 1 << 10;
const PATTERN_BYTES: usize = 1 << 16;

/// The expressions as peft applies them: to the end of a name after a dot, or all of it.
fn patterns(patterns: &[(String, f64)], path: &Path) -> Result<Vec<(Regex, f64)>> {
    let failed = |error| Error::in_file(name_of(path), error);
    let refused = |message| {
        Error::input(ErrorKind::UnsupportedSetting, message)
            .at(name_of(&path.with_file_name(ADAPTER)))
    };
    if patterns.len() > MOST_PATTERNS {
        let message = format!("{} expressions, where {MOST_PATTERNS} are taken", patterns.len());
        return Err(refused(message));
    }
    let mut known = limit::reserved(patterns.len()).map_err(failed)?;
    for (pattern, value) in patterns {
        let whole = limit::joined(&["^(?:.*\\.)?(?:", pattern, ")$"]).map_err(failed)?;
        let whole = RegexBuilder::new(&whole).size_limit(PATTERN_BYTES).build();
        let whole = whole.map_err(|error| {
            refused(format!("`{pattern}` is no regular expression that is understood: {error}"))
        })?;
        known.push((whole, *value));
    }
    Ok(known)
}

/// The bytes of a safetensors file with the changed matrices.
fn as_file(changes: &[Change<'_>], path: &Path) -> Result<Vec<u8>> {
    let failed = |error| Error::in_file(name_of(path), error);
    let specs = limit::exactly(changes.iter().map(Change::spec)).map_err(failed)?;
    let plan = SafetensorsPlan::new(&specs);
    let bytes = plan.file_bytes().map_err(failed)?;
    let room = limit::reserved(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(failed)?;
    let mut writer = SafetensorsWriter::new(&plan, room).map_err(failed)?;
    for change in changes {
        let bytes = le_bytes(&change.values()?).map_err(failed)?;
        writer.data(&bytes).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}
