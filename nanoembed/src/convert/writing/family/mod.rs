//! An encoder of any family, from a folder, as GGUF: keys, names and types as llama.cpp's
//! `convert_hf_to_gguf.py` writes them.
//!
//! | file | role |
//! |---|---|
//! | `architecture` | the family's name in GGUF, and its sizes |
//! | `halves` | gate and up that are apart in GGUF |
//! | `tensors` | names, and the values that GGUF has otherwise |
//! | `tokenizer` | the tokenizer's arrays and keys |
//!
//! Settings that llama.cpp has no key for and does not compute with stand under `nanoembed.`;
//! settings that it would compute otherwise are refused by name.

mod architecture;
mod halves;
mod tensors;
mod tokenizer;

use std::path::Path;

use nanoembed_core::describe::gguf::{
    GgufArchitecture, GgufDense, Key, gguf_encoder_keys, gguf_pooling_type,
};
use nanoembed_core::event::Format;
use nanoembed_core::limit::Limit;
use nanoembed_core::model::{DenseActivation, DenseSettings, FamilyModel, HeadModule};
use nanoembed_core::owned::Pipeline;
use nanoembed_core::owned::folder::{Described, MODULES};
use nanoembed_core::{ErrorKind, limit};

use super::encoder::model_type;
use super::metadata::{Metadata, OwnValue};
use super::{Job, Writing};
use crate::error::{Error, Result, name_of};
use crate::folder::prompts::Prompts;
use crate::open::folder::files::{EncoderFolder, layer_file};
use crate::role::Role;
use crate::stored::folder_weights::model_folder;

pub(super) use self::tensors::Prepared;

/// An encoder on its way into a GGUF file.
pub(super) struct Family {
    model: FamilyModel,
    architecture: GgufArchitecture,
    tokenizer: Pipeline,
    recipe: Recipe,
    max_tokens: usize,
    prompts: Prompts,
    name: String,
}

/// The steps after the transformer that GGUF has words for.
struct Recipe {
    pooling: u32,
    dense: Vec<DenseLayer>,
    normalize: bool,
}

/// A linear layer after the pooling, without a bias.
struct DenseLayer {
    inputs: usize,
    outputs: usize,
    /// `[outputs, inputs]`, row by row.
    weight: Vec<f32>,
}

impl Family {
    /// The encoder that the job is about; `None` for models that are no encoders, that llama.cpp
    /// does not know, and BERT with WordPiece alone, which is written from other sources too.
    pub(super) fn from_job(writing: &Writing, job: &Job<'_, '_>) -> Result<Option<Self>> {
        let is_folder = matches!(job.from, Format::Safetensors | Format::Uqff);
        if !is_folder || writing.config.is_some() {
            return Ok(None);
        }
        let folder = if job.folder.as_os_str().is_empty() { Path::new(".") } else { &job.folder };
        let Some(kind) = model_type(&folder.join("config.json"))? else { return Ok(None) };
        if !architecture::may_have(&kind, model_folder(folder)?.join(MODULES).exists()) {
            return Ok(None);
        }
        // It may be called as it likes.
        let Some(input) = job.inputs.first() else { return Ok(None) };
        Self::in_folder(
            &EncoderFolder::open_for(input, None, Role::Text, &writing.allowed)?,
            folder,
        )
    }

    fn in_folder(folder: &EncoderFolder, path: &Path) -> Result<Option<Self>> {
        let described = folder.model();
        let Described::Transformer(model) = &described.described else { return Ok(None) };
        let refuse = |message: String| {
            Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(path))
        };
        if described.compares() {
            return Err(refuse("a model that compares two texts is not written to GGUF".into()));
        }
        if described.masked.is_some() {
            let message = "GGUF has no words for the head of a masked language model, which makes sparse vectors";
            return Err(refuse(message.into()));
        }
        if described.late_tokens.is_some() {
            return Err(refuse("GGUF has no words for the tokens of late interaction".into()));
        }
        if let Some(layer) = folder.layers_beside().next() {
            let failure = refuse(format!(
                "GGUF has no words for `{layer}`, by which the model makes other vectors than dense ones"
            ));
            let file = layer_file(layer);
            return Err(failure.with_hint(format!(
                "without `{file}` in the folder, the model that makes dense vectors is written alone"
            )));
        }
        if described.settings.lower_case {
            let message = "GGUF has no word for `do_lower_case` of the encoder's module";
            return Err(refuse(message.into()));
        }
        let tokenizer = folder.pipeline()?;
        let recipe = Recipe::from_folder(folder, model, &refuse)?;
        let is_plain = model.family == "bert" && tokenizer::is_word_piece(&tokenizer);
        if is_plain && recipe.dense.is_empty() && architecture::is_plain_bert(&model.config) {
            return Ok(None);
        }
        let architecture = architecture::find(model, &refuse)?;
        let whole = path.canonicalize().ok();
        let name = whole.as_deref().and_then(Path::file_name);
        let mut model = **model;
        let positions = &mut model.config.positions;
        let max_tokens = described.settings.token_limit(described.tokenizer_limit, *positions);
        // llama.cpp would make room for all positions of a model without a limit.
        if *positions == Limit::SIZE.most {
            *positions = max_tokens;
        }
        Ok(Some(Self {
            max_tokens,
            model,
            architecture,
            tokenizer,
            recipe,
            prompts: folder.prompts()?,
            name: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        }))
    }

    /// The metadata of the model, whose tensors are `tensors`.
    pub(super) fn metadata(&self, tensors: &Prepared<'_>) -> Result<Metadata> {
        let Self { architecture, model, recipe, .. } = self;
        let mut metadata = Metadata::new(*architecture);
        metadata.text(Key::Type, "model");
        metadata.text(Key::Name, &self.name);
        metadata.put_all(|put| gguf_encoder_keys(*architecture, &model.config, put))?;
        metadata.add(Key::PoolingType, OwnValue::U32(recipe.pooling));
        for (dense, layer) in GgufDense::layers().iter().zip(&recipe.dense) {
            metadata.size(dense.inputs, layer.inputs)?;
            metadata.size(dense.outputs, layer.outputs)?;
        }
        if !recipe.normalize {
            metadata.add(Key::OwnNormalize, OwnValue::Bool(false));
        }
        if self.max_tokens != model.config.positions {
            metadata.size(Key::OwnMaxTokens, self.max_tokens)?;
        }
        let prompts = self.prompts.metadata();
        for (key, value) in prompts.map_err(|error| Error::in_file(&self.name, error))? {
            metadata.further(format_args!("nanoembed.{key}"), &value);
        }
        tokenizer::add(&mut metadata, self, tensors)?;
        Ok(metadata)
    }
}

impl Recipe {
    fn from_folder(
        folder: &EncoderFolder,
        model: &FamilyModel,
        refuse: &dyn Fn(String) -> Error,
    ) -> Result<Self> {
        let Some(modules) = &folder.model().modules else {
            return Ok(Self { pooling: 1, dense: Vec::new(), normalize: true });
        };
        let mut ways = modules.pooling.iter().flat_map(|pooling| &pooling.modes);
        let pooling = match (ways.next(), ways.next()) {
            (Some(way), None) => gguf_pooling_type(*way),
            _ => None,
        };
        let pooling = pooling.ok_or_else(|| {
            let message = "GGUF has no word for the model's pooling; it has some for the mean, the first and the last token";
            refuse(message.into())
        })?;
        let mut dense = Vec::new();
        for module in &modules.head {
            let HeadModule::Dense(module) = module else {
                let message = "GGUF has no words for a LayerNorm, for a Normalize before other modules, nor for `truncate_dim`";
                return Err(refuse(message.into()));
            };
            let DenseSettings { inputs, outputs, bias, activation, .. } = module.settings;
            if activation != DenseActivation::Identity || bias {
                let message = "GGUF has no words for a Dense module with a bias or an activation";
                return Err(refuse(message.into()));
            }
            let weight = folder.values(&format!("{}/linear.weight", module.folder))?;
            limit::push(&mut dense, DenseLayer { inputs, outputs, weight })
                .map_err(|error| Error::in_file(folder.name(), error))?;
        }
        let fits = match dense.as_slice() {
            [] => true,
            [first, second] if model.family == "gemma3_text" => {
                let hidden = model.config.hidden;
                first.inputs == hidden && second.outputs == hidden
            }
            _ => false,
        };
        if !fits {
            let message = "GGUF has words for two Dense modules after EmbeddingGemma, from and to as many elements as its vectors have, and for no others";
            return Err(refuse(message.into()));
        }
        Ok(Self { pooling, dense, normalize: modules.normalize })
    }
}
