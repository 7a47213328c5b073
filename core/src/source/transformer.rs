//! Transformers of all families that embed or compare texts, from `.weights` and `.amb` files that
//! keep the texts of a folder and from GGUF files, in lent memory.
//!
//! `docs/models.md` has the layout of these files. Nothing here allocates.

use crate::describe::folder::{
    CHAT_TEMPLATE, CONFIG, CONFIG_SENTENCE_TRANSFORMERS, Description, FolderPrompts, Kind, MODULES,
    ModuleList, TextFault, TextPath, Texts as _,
};
use crate::describe::gguf::{GgufFault, describe_without_tokenizer};
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::Embd;
use crate::kernel::Kernels;
use crate::model::Layer;
use crate::model::config::Config;
use crate::model::encoder::{CrossEncoder, Encoder, EncoderMemory, EncoderNeeds, EncoderSpec};
use crate::model::family::encoders::FamilyModel;
use crate::model::head::embedding::HeadLayer;
use crate::model::head::pooling::{PoolingMode, PoolingModes};
use crate::model::plan::Plan;
use crate::model::weights::{SliceWeights, Weights};
use crate::source::embd::embd_is_decoder;
use crate::source::folder_file::FolderFile;
use crate::source::folder_tokenizer::FolderTokenizerSource;
use crate::source::folder_tokenizer::pair::pair_template;
use crate::source::table::TableSource;
use crate::text::json::{Fault, Read};
use crate::token::spec::TokenizerSpec;

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

/// A file in memory that describes a transformer that embeds or compares texts.
///
/// ```
/// use nanoembed_core::event::Mode;
/// use nanoembed_core::format::embd::Embd;
/// use nanoembed_core::source::TransformerSource;
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// # let file = std::fs::read(path)?;
/// let embd = Embd::parse(&file, Mode::Lenient)?;
/// assert!(!TransformerSource::is_in(&embd)); // BERT without the texts of its folder
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransformerSource<'a> {
    file: FolderFile<'a>,
    bytes: &'a [u8],
    family: FamilyModel,
    modules: ModuleList<'a>,
    compares: bool,
    max_tokens: usize,
    prompts: FolderPrompts<'a>,
    /// The setting that asks for something to be done to texts which is not done here.
    asks_of_texts: Option<&'static str>,
}

impl<'a> TransformerSource<'a> {
    /// Returns true if a `.weights` file keeps the texts of a folder with a transformer.
    #[must_use]
    pub fn is_in(file: &Embd<'a>) -> bool {
        let has_texts = [CONFIG, MODULES].iter().any(|it| file.metadata_value(it).is_some());
        has_texts && !TableSource::is_in(file) && !embd_is_decoder(file)
    }

    /// Reads the description of the model in `file`, whose bytes are `bytes`.
    ///
    /// # Errors
    ///
    /// The text, key or tensor at fault.
    pub fn read(file: impl Into<FolderFile<'a>>, bytes: &'a [u8]) -> Read<'a, Self> {
        let file = file.into();
        let described = match &file {
            FolderFile::Gguf(file) => describe_without_tokenizer(file).map_err(gguf_fault)?,
            file => Description::read(file).map_err(TextFault::setting_fault)?,
        };
        let compares = described.compares();
        let Description { modules, kind, settings, tokenizer_limit, template, .. } = described;
        let Kind::Transformer(family) = kind else {
            let error = Error::new(0, ErrorKind::UnsupportedArchitecture);
            return Err(fault(error, "model_type"));
        };
        let unsupported = Error::without_offset(ErrorKind::UnsupportedSetting);
        if modules.late.is_some() {
            return Err(fault(unsupported, "query_prefix"));
        }
        if modules.splade.is_some() {
            return Err(fault(unsupported, "SpladePooling"));
        }
        if modules.give_scores {
            return Err(fault(unsupported, "module_output_name"));
        }
        if template.is_some() {
            return Err(fault(unsupported, CHAT_TEMPLATE));
        }
        // The padding at a text's end would have to be cut off.
        if family.classifier.is_some_and(|head| head.pooling == PoolingMode::Last) {
            return Err(fault(unsupported, "architectures"));
        }
        let max_tokens = settings.token_limit(tokenizer_limit, family.config.positions);
        let prompts = FolderPrompts::read(&file, modules.pool_prompt());
        let prompts = prompts.map_err(TextFault::setting_fault)?;
        let asks_of_texts = settings.lower_case.then_some("do_lower_case");
        Ok(Self { file, bytes, family, modules, compares, max_tokens, prompts, asks_of_texts })
    }

    /// The configuration of the transformer.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.family.config
    }

    /// The text of the prompts, if it does not lie in the file: they are to be read from a copy of
    /// it that lives as long as the model.
    #[must_use]
    pub fn text_to_keep(&self) -> Option<&'a str> {
        match &self.file {
            FolderFile::Embd(_) | FolderFile::Gguf(_) => None,
            FolderFile::Amb(file) => {
                file.text(TextPath::own(CONFIG_SENTENCE_TRANSFORMERS)).unwrap_or_default()
            }
        }
    }

    /// The prompts in a copy of [`text_to_keep`](Self::text_to_keep).
    ///
    /// # Errors
    ///
    /// The fault of the text.
    pub fn prompts_in<'t>(&self, text: &'t str) -> Read<'t, FolderPrompts<'t>> {
        let prompts = FolderPrompts::read_text(text, self.modules.pool_prompt());
        prompts.map_err(TextFault::setting_fault)
    }

    /// The prompts of the model.
    #[must_use]
    pub const fn prompts(&self) -> &FolderPrompts<'a> {
        &self.prompts
    }

    /// How many tokens of a text the model uses.
    #[must_use]
    pub const fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Returns true if the model compares texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        self.compares
    }

    /// Elements of an embedding; 0 for a model that compares texts.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        if self.compares { 0 } else { self.spec().dimensions().unwrap_or(0) }
    }

    /// Floats of scratch memory that [`Encoder::embed`] or [`CrossEncoder::classify`] takes.
    #[must_use]
    pub fn scratch(&self) -> usize {
        match self.compares {
            true => self.family.config.hidden.saturating_mul(2),
            false => self.spec().scratch(),
        }
    }

    /// The model without its file.
    pub(crate) fn spec(&self) -> EncoderSpec<'_, &'a str> {
        let ModuleList { pooling, head, normalize, .. } = &self.modules;
        let pooling = pooling.map_or(PoolingModes::NONE, |pooling| pooling.modes);
        EncoderSpec { family: &self.family, pooling, head, normalize: *normalize }
    }

    /// How the model was made to run, for texts of so many tokens. Reports missing tensors, too.
    ///
    /// # Errors
    ///
    /// As [`Transformer::from_family`](crate::model::Transformer::from_family).
    pub fn plan(&self, tokens: usize) -> Result<Plan> {
        self.spec().plan(&self.weights(), tokens)
    }

    /// The number of summaries of its weights that `kernels` want.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn summaries(&self, kernels: &Kernels) -> Result<usize> {
        self.spec().summaries(&self.weights(), kernels)
    }

    /// The memory that the model takes.
    ///
    /// # Errors
    ///
    /// As [`EncoderSpec::needs`] or [`EncoderSpec::cross_encoder_needs`].
    pub fn needs(&self) -> Result<EncoderNeeds> {
        match self.compares {
            true => self.spec().cross_encoder_needs(&self.weights()),
            false => self.embedding_needs(),
        }
    }

    /// The memory that a model takes which embeds texts.
    pub(crate) fn embedding_needs(&self) -> Result<EncoderNeeds> {
        self.spec().needs(&self.weights())
    }

    /// The model in the memory lent, if it embeds texts; `weights` are the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if it [compares](Self::compares) texts; as [`EncoderSpec::open`].
    pub fn open<L, D, F>(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        memory: EncoderMemory<'_, L, D, F>,
    ) -> Result<Encoder<L, D, F>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
        D: AsMut<[HeadLayer]>,
        F: AsMut<[f32]>,
    {
        match self.compares {
            true => Err(OTHER_MODEL),
            false => self.spec().open(&self.weights(), weights, kernels, memory),
        }
    }

    /// As [`open`](Self::open), if it [compares](Self::compares) texts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if it embeds texts; as [`EncoderSpec::open_cross_encoder`].
    pub fn open_cross_encoder<L, D, F>(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        memory: EncoderMemory<'_, L, D, F>,
    ) -> Result<CrossEncoder<L, F>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
        F: AsMut<[f32]>,
    {
        match self.compares {
            true => self.spec().open_cross_encoder(&self.weights(), weights, kernels, memory),
            false => Err(OTHER_MODEL),
        }
    }

    /// The tokenizer, if it is one that is done without a heap.
    ///
    /// # Errors
    ///
    /// The setting that is not done here; [`ErrorKind::MissingVocabulary`] without a tokenizer.
    pub fn tokenizer(&self) -> Read<'a, FolderTokenizerSource<'a>> {
        let vocabulary = self.family.config.vocabulary;
        self.with_tokenizer(|tokenizer, spec| {
            if !self.compares {
                return Ok(tokenizer);
            }
            let pair = pair_template(spec)?;
            if !pair.ids().all(|id| (id as usize) < vocabulary) {
                let bad = Error::without_offset(ErrorKind::BadVocabulary);
                return Err(spec.place.met("post_processor", bad));
            }
            Ok(tokenizer.with_pair(pair))
        })
    }

    /// The same without what is put between two texts.
    #[cfg(feature = "alloc")]
    pub(crate) fn tokenizer_of_texts(&self) -> Read<'a, FolderTokenizerSource<'a>> {
        self.with_tokenizer(|tokenizer, _| Ok(tokenizer))
    }

    fn with_tokenizer(
        &self,
        then: impl FnOnce(
            FolderTokenizerSource<'a>,
            &TokenizerSpec<'a>,
        ) -> Read<'a, FolderTokenizerSource<'a>>,
    ) -> Read<'a, FolderTokenizerSource<'a>> {
        if let Some(setting) = self.asks_of_texts {
            return Err(fault(Error::without_offset(ErrorKind::UnsupportedSetting), setting));
        }
        FolderTokenizerSource::with_file(&self.file, self.family.config.vocabulary, then)
    }

    /// The tensors of the file by their names.
    pub(crate) fn weights(&self) -> impl Weights {
        SliceWeights::new(self.bytes, |name: &str| Some(*self.file.tensor(name)?.header()))
    }
}

/// A fault of a key or a tensor of a GGUF file.
const fn gguf_fault(found: GgufFault<'_>) -> Fault<'_> {
    match found {
        GgufFault::Error(error) => Fault::from_error(error),
        GgufFault::Refusal(refusal) => {
            Fault { error: refusal.error(), key: refusal.name, only: refusal.reason }
        }
    }
}

/// A fault of the setting called `key`.
const fn fault(error: Error, key: &'static str) -> Fault<'static> {
    let mut fault = Fault::from_error(error);
    fault.key = key;
    fault
}
