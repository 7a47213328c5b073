//! An EMBD `.weights` file as a source, of either variant; transposed linear weights are turned
//! back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nanoembed_core::event::{Mode, SpecialRole};
use nanoembed_core::format::embd::{Embd, LinearLayout};
use nanoembed_core::limit::Limit;
use nanoembed_core::owned::ADDED_TOKENS;
use nanoembed_core::source::{ModelSource, embd_is_decoder};
use nanoembed_core::tensor::{Dtype, TensorView};
use nanoembed_core::{ErrorKind, limit};
use serde_json::Value;

use super::settings::Settings;
use super::tensor::{Elements, Tensor, sizes};
use super::vocabulary::{self, WordPieceVocabulary};
use super::{Checkpoint, tensor_names};
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::folder::prompts::Prompts;
use crate::hashed;
use crate::pairs;
use crate::signature::foreign;
use crate::sizes;

/// Suffix of a quantised tensor's name in the name of its scales.
const SCALE: &str = ".scale";
const COLUMN_SCALE: &str = ".column_scale";
const ZERO_POINT: &str = ".zero_point";
const COMPANIONS: [&str; 3] = [SCALE, COLUMN_SCALE, ZERO_POINT];

/// An open file.
pub struct WeightsFile {
    path: PathBuf,
    bytes: MappedFile,
}

/// Refuses a decoder in a file of one of our formats, which only encoders are read from for
/// conversion.
pub fn decoder_is_final(path: &Path, ending: &str) -> Error {
    let message = format!("a decoder in a `{ending}` file is not converted further");
    Error::input(ErrorKind::UnsupportedSetting, message)
        .at(name_of(path))
        .with_hint("convert the folder or GGUF file that it was made of")
}

/// The same of a model that is described by the texts of its folder.
pub fn text_model_is_final(path: &Path, ending: &str) -> Error {
    let message = format!("a model of this family in a `{ending}` file is not converted further");
    Error::input(ErrorKind::UnsupportedSetting, message)
        .at(name_of(path))
        .with_hint("convert the folder that it was made of")
}

/// Files with settings that a `.weights` file lacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'p> {
    /// A `config.json`.
    pub config: Option<&'p Path>,
    /// A `vocab.txt`.
    pub vocabulary: Option<&'p Path>,
}

impl WeightsFile {
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), bytes: MappedFile::open(path)? })
    }

    /// Reads settings and vocabulary, from the files `beside` where this one has none, and finds
    /// the encoder's tensors.
    pub fn checkpoint(&self, beside: Beside<'_>, pooler: bool) -> Result<Checkpoint<'_>> {
        let file = Embd::parse(&self.bytes, Mode::Lenient)
            .map_err(|error| foreign::failure(self.name(), &self.bytes, error))?;
        if embd_is_decoder(&file) {
            return Err(decoder_is_final(&self.path, ".weights"));
        }
        if ModelSource::Embd(file).has_folder_texts() {
            return Err(text_model_is_final(&self.path, ".weights"));
        }
        let settings = match beside.config {
            Some(config) => Settings::from_config(config, &Arc::default())?,
            None => self.settings(&file)?,
        };
        let transposed = self.is_transposed(&file, &settings)?;
        let mut tensors = Vec::new();
        let failed = |error| Error::in_file(self.name(), error);
        for name in tensor_names(settings.layers, pooler).map_err(failed)? {
            let tensor = self.tensor(&file, name, transposed)?;
            limit::push(&mut tensors, tensor).map_err(failed)?;
        }
        let names = hashed::set(tensors.iter().map(|tensor| tensor.name.as_str()));
        let names = names.map_err(failed)?;
        let is_used = |name: &str| {
            let owner = COMPANIONS.iter().find_map(|suffix| name.strip_suffix(suffix));
            let owner = owner.unwrap_or(name);
            owner.starts_with("vocab.") || names.contains(owner)
        };
        let others = file.tensors().map(|tensor| tensor.header().name);
        let left_out = others.filter(|name| !is_used(name)).map(limit::copied);
        let left_out = limit::gathered(left_out).map_err(failed)?;
        Ok(Checkpoint {
            name: self.name(),
            settings,
            vocabulary: self.vocabulary(&file, beside.vocabulary)?,
            tensors,
            left_out,
            modified: self.path.metadata().ok().and_then(|metadata| metadata.modified().ok()),
        })
    }

    /// `model_name` and `model_version` as the file has them.
    pub fn name_and_version(&self) -> (Option<String>, Option<String>) {
        let file = Embd::parse(&self.bytes, Mode::Lenient).ok();
        let value = |key| file.and_then(|file| file.metadata_value(key).map(str::to_owned));
        (value("model_name"), value("model_version"))
    }

    fn name(&self) -> String {
        name_of(&self.path)
    }

    fn settings(&self, file: &Embd<'_>) -> Result<Settings> {
        let missing = |key: &str| {
            Error::input(ErrorKind::MissingMetadata, format!("the file does not say its `{key}`"))
                .at(self.name())
                .with_hint("name the model's config.json with `--config`")
        };
        let value = |key: &str| file.metadata_value(key);
        let within = |key: &str, limit: Limit| {
            let size = value(key).and_then(|text| text.trim().parse::<u64>().ok());
            let size = size.filter(|&size| size > 0).ok_or_else(|| missing(key))?;
            sizes::size(limit, key, size).map_err(|failure| failure.at(self.name()))
        };
        let size = |key: &str| within(key, Limit::SIZE);
        let truth = |key: &str| match value(key) {
            Some("true" | "True" | "1") => Some(true),
            Some("false" | "False" | "0") => Some(false),
            _ => None,
        };
        let positions = size("max_position_emb")?;
        let known = [
            "model_name",
            "model_version",
            "embedding_dim",
            "vocab_size",
            "num_layers",
            "num_attention_heads",
            "hidden_size",
            "intermediate_size",
            "max_position_emb",
            "max_tokens",
            "layer_norm_eps",
            "pooling",
            "normalize",
            "do_lower_case",
            "strip_accents",
            "split_ideographs",
            "license",
            "created_at",
            "weight_type",
            ADDED_TOKENS,
        ];
        let (mut prompts, mut further) = (Prompts::default(), Vec::new());
        for (key, value) in file.metadata() {
            let failed = |error| Error::in_file(self.name(), error);
            let is_prompt = prompts.take(key, value).map_err(failed)?;
            if !is_prompt && !known.contains(&key) {
                pairs::add(&mut further, key, value).map_err(failed)?;
            }
        }
        Ok(Settings {
            hidden: size("hidden_size")?,
            layers: within("num_layers", Limit::LAYERS)?,
            heads: size("num_attention_heads")?,
            intermediate: size("intermediate_size")?,
            positions,
            vocabulary: size("vocab_size")?,
            layer_norm_eps: value("layer_norm_eps").and_then(|e| e.parse().ok()).unwrap_or(1e-12),
            pooling: value("pooling").unwrap_or("mean").to_owned(),
            normalize: truth("normalize").unwrap_or(true),
            do_lower_case: truth("do_lower_case").unwrap_or(true),
            strip_accents: truth("strip_accents"),
            split_ideographs: truth("split_ideographs").unwrap_or(true),
            max_tokens: match value("max_tokens") {
                None => 256,
                Some(_) => size("max_tokens")?,
            }
            .min(positions),
            license: value("license").map(str::to_owned),
            prompts,
            further,
        })
    }

    /// Square feed-forward layers give no hint in the file.
    fn is_transposed(&self, file: &Embd<'_>, settings: &Settings) -> Result<bool> {
        match file.linear_layout() {
            LinearLayout::OutIn => Ok(false),
            LinearLayout::InOut => Ok(true),
            LinearLayout::Unknown if settings.intermediate != settings.hidden => Ok(false),
            LinearLayout::Unknown => Err(Error::input(
                ErrorKind::WrongShape,
                "all linear weights are square, so the file does not tell whether they are transposed",
            )
            .at(self.name())),
        }
    }

    fn tensor<'a>(&'a self, file: &Embd<'a>, name: String, transposed: bool) -> Result<Tensor<'a>> {
        let refuse = |kind: ErrorKind, name: &str, offset: u64| {
            let failure = Error::input(kind, format!("{}: `{name}`", kind.message()));
            failure.at(self.name()).at_byte(offset)
        };
        let view = file.tensor(&name).ok_or_else(|| {
            Error::input(ErrorKind::MissingTensor, format!("there is no tensor `{name}`"))
                .at(self.name())
        })?;
        let header = view.header();
        let mut shape = sizes(&header.shape).map_err(|kind| refuse(kind, &name, header.offset))?;
        let elements = match header.dtype {
            Dtype::F32 => Elements::F32,
            Dtype::F16 => Elements::F16,
            Dtype::BF16 => Elements::BF16,
            Dtype::I8 => Elements::I8,
            Dtype::U8 => Elements::U8,
            _ => return Err(refuse(ErrorKind::UnsupportedDtype, &name, header.offset)),
        };
        let companion = |suffix: &str, dtype: Dtype| {
            let found: Option<TensorView<'a>> = file.tensor(&format!("{name}{suffix}"));
            found.filter(|companion| companion.header().dtype == dtype)
        };
        let has = |companion: &TensorView<'a>, count: u64| {
            companion.header().shape.elements() == Some(count)
        };
        let bad = || refuse(ErrorKind::BadScale, &name, header.offset);
        let (rows, cols) = (header.shape.rows(), header.shape.cols().unwrap_or(0));
        let (mut scales, mut columns, mut zeros): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
        if matches!(elements, Elements::I8 | Elements::U8) {
            let scale = companion(SCALE, Dtype::F32).ok_or_else(bad)?;
            let count = scale.header().shape.elements().unwrap_or(0);
            let groups = count.checked_div(rows).filter(|groups| groups * rows == count);
            let whole = groups.is_some_and(|groups| cols.checked_rem(groups) == Some(0));
            if !whole || (elements == Elements::U8 && count != rows) {
                return Err(bad());
            }
            scales = scale.data();
        }
        if elements == Elements::U8 {
            let zero = companion(ZERO_POINT, Dtype::U8).filter(|zero| has(zero, rows));
            zeros = zero.ok_or_else(bad)?.data();
        }
        if elements == Elements::I8
            && let Some(column) = companion(COLUMN_SCALE, Dtype::F32)
        {
            columns = Some(column).filter(|column| has(column, cols)).ok_or_else(bad)?.data();
        }
        let is_linear = shape.len() == 2 && !name.starts_with("embeddings.");
        let transposed = transposed && is_linear;
        if transposed {
            shape.reverse();
        }
        Ok(Tensor { name, shape, elements, data: view.data(), scales, columns, zeros, transposed })
    }

    fn vocabulary(
        &self,
        file: &Embd<'_>,
        beside: Option<&Path>,
    ) -> Result<Option<WordPieceVocabulary>> {
        let tokens = vocabulary::tokens(file.tokens());
        let tokens = tokens.map_err(|error| Error::in_file(self.name(), error))?;
        if let Some(beside) = beside {
            if !tokens.is_empty() {
                return Err(
                    Error::argument("vocab", "is for files without a vocabulary").at(self.name())
                );
            }
            return WordPieceVocabulary::from_text(beside)?
                .with_added(file.metadata_value(ADDED_TOKENS))
                .map(Some)
                .map_err(|failure| failure.at(self.name()));
        }
        if tokens.is_empty() {
            return Ok(None);
        }
        match file.special() {
            Some(special) => {
                let special = SpecialRole::ALL.map(|role| special.id(role));
                let vocabulary = WordPieceVocabulary { tokens, special, added: Vec::new() };
                let vocabulary = vocabulary.with_added(file.metadata_value(ADDED_TOKENS));
                vocabulary.map(Some).map_err(|failure| failure.at(self.name()))
            }
            None => WordPieceVocabulary::with_special(tokens, &Value::Null)
                .and_then(|it| it.with_added(file.metadata_value(ADDED_TOKENS)))
                .map(Some)
                .map_err(|failure| failure.at(self.name())),
        }
    }
}
