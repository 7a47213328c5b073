//! What a file says of its model, and opening it.

use super::classes::Head;
use super::linear::{Linear, Norm};
use super::{CrossEncoder, OTHER_MODEL, TOO_LARGE, TOO_SMALL, WRONG_SHAPE};
use crate::describe::folder::{
    CONFIG, CONFIG_SENTENCE_TRANSFORMERS, DenseModule, Description, FolderPrompts, HeadModule,
    Kind, LAYER_NORM_EPSILON, LayerNormModule, MODULES, Modules, TextFault, TextPath, Texts as _,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::Embd;
use crate::kernel::Kernels;
use crate::model::block::layer::Layer;
use crate::model::config::Config;
use crate::model::encoder::Encoder;
use crate::model::family::encoders::{FamilyModel, Prefixed};
use crate::model::folder_file::FolderFile;
use crate::model::folder_tokenizer::FolderTokenizerSource;
use crate::model::folder_tokenizer::pair_template::PairTemplate;
use crate::model::head::embedding::{Embedding, HeadLayer};
use crate::model::head::pooling::PoolingModes;
use crate::model::pass::packed::Transformer;
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::source::embd::embd_is_decoder;
use crate::model::table::TableSource;
use crate::model::weights::{Matrix, Name, SliceWeights, Weights};
use crate::text::character::utf8;
use crate::text::json::{Fault, Read, chars};
use crate::token::spec::TokenizerSpec;

/// A file in memory that keeps the texts of a folder, with a transformer that embeds.
///
/// ```
/// use nanoembed_core::event::Mode;
/// use nanoembed_core::format::embd::Embd;
/// use nanoembed_core::model::TransformerSource;
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
    modules: Modules<'a>,
    compares: bool,
    max_tokens: usize,
    prompts: FolderPrompts<'a>,
    /// The setting that asks for something to be done to texts which is not done here.
    asks_of_texts: Option<&'static str>,
}

/// How many elements of each kind [`TransformerSource::open`] needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransformerNeeds {
    /// Layers of the transformer.
    pub layers: usize,
    /// Layers after the pooling.
    pub head: usize,
    /// Floats of these.
    pub floats: usize,
}

/// Memory for a model: as many elements of each kind as [`TransformerNeeds`] says. What it holds is
/// lost.
#[derive(Debug)]
pub struct TransformerMemory<'m, L, D = &'m mut [HeadLayer<'m>]> {
    /// Layers of the transformer.
    pub layers: L,
    /// Layers after the pooling.
    pub head: D,
    /// Their weights.
    pub floats: &'m mut [f32],
}

impl<'a> TransformerSource<'a> {
    /// Whether a `.weights` file keeps the texts of a folder with a transformer.
    #[must_use]
    pub fn is_in(file: &Embd<'a>) -> bool {
        let has_texts = [CONFIG, MODULES].iter().any(|it| file.metadata_value(it).is_some());
        has_texts && !TableSource::is_in(file) && !embd_is_decoder(file)
    }

    /// Reads what `file`, which `bytes` are, says of its model.
    ///
    /// # Errors
    ///
    /// What is wrong with a text.
    pub fn read(file: impl Into<FolderFile<'a>>, bytes: &'a [u8]) -> Read<'a, Self> {
        let file = file.into();
        let described = Description::read(&file).map_err(TextFault::setting_fault)?;
        let compares = described.compares();
        let Description { modules, kind, settings, tokenizer_limit, .. } = described;
        let Kind::Transformer(family) = kind else {
            let error = Error::new(0, ErrorKind::UnsupportedArchitecture);
            return Err(fault(error, "model_type"));
        };
        if modules.give_scores {
            let error = Error::without_offset(ErrorKind::UnsupportedSetting);
            return Err(fault(error, "module_output_name"));
        }
        let max_tokens = settings.token_limit(tokenizer_limit, family.config.positions);
        let prompts = FolderPrompts::read(&file, modules.pool_prompt());
        let prompts = prompts.map_err(TextFault::setting_fault)?;
        let asks_of_texts = settings.lower_case.then_some("do_lower_case");
        Ok(Self { file, bytes, family, modules, compares, max_tokens, prompts, asks_of_texts })
    }

    /// What the transformer is.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.family.config
    }

    /// The text of the prompts, if it does not lie in the file: they are to be read from a copy of it
    /// that lives as long as the model.
    #[must_use]
    pub fn text_to_keep(&self) -> Option<&'a str> {
        match &self.file {
            FolderFile::Embd(_) => None,
            #[cfg(feature = "amb")]
            FolderFile::Amb(file) => {
                file.text(TextPath::own(CONFIG_SENTENCE_TRANSFORMERS)).unwrap_or_default()
            }
        }
    }

    /// The prompts in a copy of [`text_to_keep`](Self::text_to_keep).
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn prompts_in<'t>(&self, text: &'t str) -> Read<'t, FolderPrompts<'t>> {
        let prompts = FolderPrompts::read_text(text, self.modules.pool_prompt());
        prompts.map_err(TextFault::setting_fault)
    }

    /// What may stand before texts.
    #[must_use]
    pub const fn prompts(&self) -> &FolderPrompts<'a> {
        &self.prompts
    }

    /// How many tokens of a text the model uses.
    #[must_use]
    pub const fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Whether the model compares texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        self.compares
    }

    /// Elements of an embedding; 0 for a model that compares texts.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        if self.compares { 0 } else { self.widths().last().unwrap_or(0) }
    }

    /// Floats of scratch memory that [`Encoder::embed`] or [`CrossEncoder::classify`] takes.
    #[must_use]
    pub fn scratch(&self) -> usize {
        if !self.compares && self.modules.head.is_empty() {
            return 0;
        }
        self.widths().fold(0, usize::max).saturating_mul(2)
    }

    /// Elements of the vectors that pooling and each layer after it make.
    fn widths(&self) -> impl Iterator<Item = usize> {
        let pooled = self.embedding().pooled();
        let outputs = self.modules.head.iter().scan(pooled, |width, module| {
            if let HeadModule::Dense(layer) = module {
                *width = layer.settings.outputs;
            }
            Some(*width)
        });
        core::iter::once(pooled).chain(outputs)
    }

    fn embedding(&self) -> Embedding {
        let Modules { pooling, normalize, .. } = &self.modules;
        let pooling = pooling.map_or(PoolingModes::NONE, |pooling| pooling.modes);
        Embedding { width: self.family.config.hidden, pooling, normalize: *normalize }
    }

    /// How the model was made to run, for texts of so many tokens. Says also what is missing.
    ///
    /// # Errors
    ///
    /// As [`Transformer::from_family`].
    pub fn plan(&self, tokens: usize) -> Result<Plan> {
        self.named(|named| {
            self.family.check_biases(named)?;
            self.family.plan(named, tokens)
        })
    }

    /// How many summaries of its weights a table of kernels wants.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn summaries(&self, kernels: &Kernels) -> Result<usize> {
        self.named(|named| self.family.summaries(named, kernels))
    }

    /// The memory that the model takes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`] or [`ErrorKind::WrongShape`] if the linear layers behind the
    /// pooling, or of the head of a model that compares texts, do not lie in the file, or do not fit.
    pub fn needs(&self) -> Result<TransformerNeeds> {
        let mut needs = self.embedding_needs()?;
        if let Some(head) = self.head()? {
            needs.floats = needs.floats.checked_add(head.floats()?).ok_or(TOO_LARGE)?;
        }
        Ok(needs)
    }

    /// The same without a head that compares texts.
    pub(crate) fn embedding_needs(&self) -> Result<TransformerNeeds> {
        let mut floats = 0_usize;
        for (module, width) in self.modules.head.iter().zip(self.widths()) {
            let part = match module {
                HeadModule::Dense(layer) if layer.settings.inputs == width => {
                    self.linear(layer)?.floats()
                }
                HeadModule::LayerNorm(layer) if layer.elements == width => {
                    self.norm(layer)?.floats()
                }
                HeadModule::Normalize => Some(0),
                _ => return Err(WRONG_SHAPE),
            };
            floats = part.and_then(|it| it.checked_add(floats)).ok_or(TOO_LARGE)?;
        }
        let (layers, head) = (self.family.config.layers, self.modules.head.len());
        Ok(TransformerNeeds { layers, head, floats })
    }

    /// The model in the memory lent, if it embeds texts; `weights` are the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if it [compares](Self::compares) texts;
    /// [`ErrorKind::BufferTooSmall`] if the memory is less than [`needs`](Self::needs) says; as
    /// [`Transformer::from_family`] and [`needs`](Self::needs); what reading the weights may fail
    /// with.
    pub fn open<'m, L, D>(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        memory: TransformerMemory<'m, L, D>,
    ) -> Result<Encoder<L, D>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
        D: AsRef<[HeadLayer<'m>]> + AsMut<[HeadLayer<'m>]>,
    {
        if self.compares {
            return Err(OTHER_MODEL);
        }
        let run = Run::new(weights, kernels);
        let TransformerMemory { layers, mut head, mut floats } = memory;
        let transformer = self.transformer(layers)?;
        let slots = head.as_mut();
        if slots.len() != self.modules.head.len() {
            return Err(TOO_SMALL);
        }
        for (slot, module) in slots.iter_mut().zip(&self.modules.head) {
            *slot = match module {
                HeadModule::Dense(layer) => {
                    let activation = layer.settings.activation;
                    HeadLayer::Dense(self.linear(layer)?.read(&run, activation, &mut floats)?)
                }
                HeadModule::LayerNorm(layer) => HeadLayer::Norm(self.norm(layer)?.read(
                    &run,
                    LAYER_NORM_EPSILON,
                    &mut floats,
                )?),
                _ => HeadLayer::Normalize,
            };
        }
        Ok(Encoder { transformer, embedding: self.embedding(), head })
    }

    /// As [`open`](Self::open), if it [compares](Self::compares) texts.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); [`ErrorKind::OtherModel`] if it embeds texts.
    pub fn open_cross_encoder<'m, L, D>(
        &self,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        memory: TransformerMemory<'m, L, D>,
    ) -> Result<CrossEncoder<'m, L>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
    {
        let run = Run::new(weights, kernels);
        let TransformerMemory { layers, mut floats, .. } = memory;
        let head = self.head()?.ok_or(OTHER_MODEL)?;
        let classes = head.read(&run, self.family.config.epsilon, &mut floats)?;
        Ok(CrossEncoder { transformer: self.transformer(layers)?, classes })
    }

    fn transformer<L>(&self, layers: L) -> Result<Transformer<L>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
    {
        let FamilyModel { config, names, .. } = self.family;
        self.named(|named| {
            self.family.check_biases(named)?;
            Transformer::from_family(named, config, names, layers)
        })
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
            let pair = PairTemplate::from_spec(spec)?;
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

    fn weights(&self) -> impl Weights {
        SliceWeights::new(self.bytes, |name: &str| Some(*self.file.tensor(name)?.header()))
    }

    /// What `find` makes of the weights under the names of their family.
    fn named<R>(
        &self,
        find: impl FnOnce(&Prefixed<'_, dyn Weights + '_>) -> Result<R>,
    ) -> Result<R> {
        let weights = self.weights();
        find(&Prefixed::new(&weights as &dyn Weights, self.family.names)?)
    }

    /// Where the weight and the bias of a layer behind the pooling lie.
    fn linear(&self, layer: &DenseModule<'_>) -> Result<Linear> {
        let DenseModule { folder, settings, .. } = layer;
        let found = Linear::find(settings.bias, |kind| self.in_folder(folder, "linear", kind))?;
        let fits = found.fits(settings.outputs, settings.inputs);
        if fits { Ok(found) } else { Err(WRONG_SHAPE) }
    }

    /// Where the weight and the bias of a layer norm after the pooling lie.
    fn norm(&self, layer: &LayerNormModule<'_>) -> Result<Norm> {
        let LayerNormModule { folder, elements, .. } = layer;
        let found = Norm::find(true, |kind| self.in_folder(folder, "norm", kind))?;
        if found.fits(*elements) { Ok(found) } else { Err(WRONG_SHAPE) }
    }

    /// A tensor of the module in `folder`, by the two parts of its name.
    fn in_folder(&self, folder: &str, layer: &str, kind: &str) -> Result<Option<Matrix>> {
        let mut name = Name::new("");
        let mut room = [0; 4];
        chars(folder).for_each(|c| name.push(utf8(c, &mut room)));
        name.push(if folder.is_empty() { "" } else { "/" });
        name.push(layer);
        name.push(kind);
        self.weights().matrix(name.as_str())
    }

    /// The head of a model that compares texts.
    fn head(&self) -> Result<Option<Head>> {
        let Some(model) = self.family.classifier.filter(|_| self.compares) else {
            return Ok(None);
        };
        let width = self.family.config.hidden;
        self.named(|named| Head::find(&model, width, named, &self.weights())).map(Some)
    }
}

/// A fault of the setting called `key`.
const fn fault(error: Error, key: &'static str) -> Fault<'static> {
    let mut fault = Fault::from_error(error);
    fault.key = key;
    fault
}
