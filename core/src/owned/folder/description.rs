//! The description of a model by the texts of its folder.

use alloc::string::String;
use alloc::vec::Vec;

use super::text_loader::{no_memory, read, read_within};
use super::{
    CONFIG, EncoderSettings, FolderFault, FolderResult, LateTokens, Modules, PairTemplate, Prompts,
    TableSettings, Texts,
};
use crate::describe::folder as describe;
use crate::describe::folder::{ChatTemplate, Description, Kind};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::limit::{Boxed, copied, filled, formatted, joined, push, reserved, spelled};
use crate::model::{DenseActivation, FamilyModel, MaskedModel};
use crate::owned::Pipeline;
use crate::text::json::{Fault, Value, chars};

/// The layer of BGE-M3 that gives each token of a text its weight.
pub const SPARSE_LAYER: &str = "sparse_linear";

/// The layer of BGE-M3 that makes a vector for each token.
pub const MULTI_LAYER: &str = "colbert_linear";

/// The layers of BGE-M3 that are stored beside the model.
pub const LAYERS_BESIDE: [&str; 2] = [SPARSE_LAYER, MULTI_LAYER];

/// The family of BGE-M3.
const BGE_M3: &str = "xlm-roberta";

/// A model that embeds texts or compares them, as the texts of its folder describe it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FolderModel {
    /// The modules after the transformer, if a file lists them.
    pub modules: Option<Modules>,
    /// The model itself.
    pub described: Described,
    /// The settings of the encoder's module.
    pub settings: EncoderSettings,
    /// `model_max_length` of the tokenizer.
    pub tokenizer_limit: Option<u64>,
    /// True if the model compares two texts and embeds none.
    pub compares: bool,
    /// The activation on the scores of a model that compares texts by its modules.
    pub on_scores: Option<DenseActivation>,
    /// The head of a masked language model, whose scores become a sparse vector.
    pub masked: Option<MaskedModel>,
    /// The tokens of texts in a model whose modules take the vector of each token.
    pub late_tokens: Option<LateTokens>,
    /// The prompt of a model that compares texts, if it has one.
    pub template: Option<PairTemplate>,
}

/// The kind of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Described {
    /// An encoder.
    Transformer(Boxed<FamilyModel>),
    /// A table with a vector for each token.
    Table(TableSettings),
}

impl FolderModel {
    /// Reads `modules.json`, `config.json` and what says how many tokens are used.
    ///
    /// # Errors
    ///
    /// The fault of a file; [`ErrorKind::MissingMetadata`] without `config.json`;
    /// [`ErrorKind::UnsupportedSetting`] for a model that fills gaps in texts without
    /// `modules.json`, and for an adapter beside the weights.
    pub fn read(texts: Texts<'_, '_>) -> FolderResult<Self> {
        read(texts, &|texts| {
            let description = Description::read(texts)?;
            let template = description.template.map(|template| template.checked()).transpose()?;
            Self::from_description(description, template).map_err(no_memory)
        })
    }

    /// The model of a description, whose template is `template`.
    pub(in crate::owned) fn from_description(
        description: Description<'_>,
        template: Option<ChatTemplate<'_>>,
    ) -> Result<Self> {
        let compares = description.compares();
        let Description {
            modules,
            kind,
            settings,
            tokenizer_limit,
            on_scores,
            masked,
            late_interaction,
            ..
        } = description;
        let template = template.as_ref().map(PairTemplate::from_described).transpose()?;
        let late_tokens = late_interaction.as_ref().map(LateTokens::from_described).transpose()?;
        let modules = Modules::from_described(&modules)?;
        let (modules, described) = match kind {
            Kind::Transformer(family) => (modules, Described::Transformer(Boxed::new(family)?)),
            Kind::Table(table) => {
                let listed = modules.filter(|modules| !modules.are_assumed);
                (listed, Described::Table(table))
            }
        };
        Ok(Self {
            modules,
            described,
            settings,
            tokenizer_limit,
            compares,
            on_scores,
            masked,
            late_tokens,
            template,
        })
    }

    /// The folder of the model itself: empty, or ending with `/`.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.modules.as_ref().map(|modules| &*modules.folder).unwrap_or_default()
    }

    /// The name of the model's family; empty for a table.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match &self.described {
            Described::Transformer(model) => model.family,
            Described::Table(_) => "",
        }
    }

    /// Returns true if the model compares two texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        self.compares
    }

    /// Returns true if the model compares two texts and has token types that tell them apart.
    #[must_use]
    pub fn compares_by_types(&self) -> bool {
        match &self.described {
            Described::Transformer(model) => self.compares() && model.config.embedding.token_types,
            Described::Table(_) => false,
        }
    }

    /// The linear layers that such a model may have beside its modules, for other vectors than its
    /// dense one: the names of their files without `.safetensors`. Their tensors are called `weight`
    /// and `bias` there, and those of this model as in a Dense module in a folder of that name, such
    /// as `sparse_linear/linear.weight`.
    #[must_use]
    pub fn layers_beside(&self) -> &'static [&'static str] {
        match self.family() {
            BGE_M3 if !self.compares() => &LAYERS_BESIDE,
            _ => &[],
        }
    }

    /// Rejects a tokenizer without the tokens that are put before texts and that queries are filled
    /// up with, in a model for late interaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] at the setting.
    pub fn check_late_tokens(&self, pipeline: &Pipeline) -> FolderResult<()> {
        self.late_tokens.as_ref().map_or(Ok(()), |late| late.check(pipeline))
    }

    /// The padding token, if it is cut off at the end of a text.
    #[must_use]
    pub fn padding(&self) -> Option<u32> {
        match &self.described {
            Described::Transformer(model) => model.classifier.and_then(|head| head.padding),
            Described::Table(_) => None,
        }
    }

    /// Returns true if files of the model name tokens that are not the tokenizer's own: those of a
    /// chat template, and those that are scored.
    #[must_use]
    pub fn names_tokens(&self) -> bool {
        let scores_tokens = match &self.described {
            Described::Transformer(model) => {
                model.classifier.is_some_and(|head| head.token_score.is_some())
            }
            Described::Table(_) => false,
        };
        scores_tokens || self.template.is_some()
    }

    /// The number of tokens of a text that the model uses, at most `positions`. Models for late
    /// interaction may state it for each side, whatever the settings of the encoder's module say.
    #[must_use]
    pub fn token_limit(&self, positions: usize) -> usize {
        let limit = self.settings.token_limit(self.tokenizer_limit, positions);
        match &self.late_tokens {
            Some(late) => late.most_tokens(limit).min(positions),
            None => limit,
        }
    }

    /// Returns true if the tokens of a prompt count in pooling.
    #[must_use]
    pub fn pools_prompt(&self) -> bool {
        let pooling = self.modules.as_ref().and_then(|modules| modules.pooling.as_ref());
        !pooling.is_some_and(|pooling| pooling.leaves_out_prompt)
    }

    /// Returns true for a table with a vector for each token.
    #[must_use]
    pub const fn is_table(&self) -> bool {
        matches!(self.described, Described::Table(_))
    }

    /// The prompts that the folder has.
    ///
    /// # Errors
    ///
    /// The fault of the text.
    pub fn prompts(&self, texts: Texts<'_, '_>) -> FolderResult<Prompts> {
        let prompts = Prompts::read(texts)?;
        Ok(Prompts { are_pooled: self.pools_prompt(), ..prompts })
    }

    /// The names of the classes of a model, from `id2label`.
    ///
    /// # Errors
    ///
    /// The fault of the file.
    pub fn labels(&self, texts: Texts<'_, '_>) -> FolderResult<Labels> {
        let path = joined(&[self.folder(), CONFIG])?;
        let fault = |error| FolderFault::new(&path, Fault::from_error(error));
        let Some(text) = texts(&path).map_err(fault)? else { return Ok(Labels::default()) };
        let config = Value::parse(&text, 0).map_err(fault)?;
        let mut labels = Vec::new();
        for (id, name) in describe::labels(config) {
            push(&mut labels, (id, spelled(chars(name))?))?;
        }
        Ok(Labels(labels))
    }
}

/// The names of classes by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<(u32, String)>);

impl Labels {
    /// The names of so many classes; `LABEL_0` and so on for those without one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn first(&self, count: usize) -> Result<Vec<String>> {
        let mut names = filled(count, None)?;
        for (id, name) in &self.0 {
            // Of several, the last counts.
            if let Some(place) = usize::try_from(*id).ok().and_then(|id| names.get_mut(id)) {
                *place = Some(name);
            }
        }
        let mut labels = reserved(count)?;
        for (id, name) in names.into_iter().enumerate() {
            labels.push(match name {
                Some(name) => copied(name)?,
                None => formatted(format_args!("LABEL_{id}"))?,
            });
        }
        Ok(labels)
    }
}

/// Rejects a transformer with an adapter in the same `folder`, which ends with `/` or is empty.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedSetting`] at the adapter's settings.
pub fn refuse_adapter(texts: Texts<'_, '_>, folder: &str) -> FolderResult<()> {
    read_within(texts, folder, &|texts| describe::refuse_adapter(texts))
}
