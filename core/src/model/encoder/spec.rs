//! Encoders as their files describe them: the memory that they take, and opening them there.

use super::classifier::ClassifierTensors;
use super::head_modules::{add_modules, fill_modules};
use super::head_tensors::{Filling, LayerTensors, Room};
use super::{CrossEncoder, Encoder};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Kernels;
use crate::model::block::layer::Layer;
use crate::model::family::encoders::{FamilyModel, Prefixed};
use crate::model::family::tensors::Tensor;
use crate::model::head::dense::DenseActivation;
use crate::model::head::embedding::{HeadLayer, TextEmbedding};
use crate::model::head::module::HeadModule;
use crate::model::head::pooling::PoolingModes;
use crate::model::pass::packed::Transformer;
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::weights::{Name, Weights};

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const WRONG_SHAPE: Error = Error::without_offset(ErrorKind::WrongShape);

/// An encoder as its files describe it: everything but its weights and its tokenizer.
#[derive(Clone, Copy, Debug)]
pub struct EncoderSpec<'a, S> {
    /// The transformer.
    pub family: &'a FamilyModel,
    /// How hidden states are pooled.
    pub pooling: PoolingModes,
    /// The modules after the pooling, in order.
    pub head: &'a [HeadModule<S>],
    /// True if the embedding is scaled to length 1.
    pub normalize: bool,
}

/// Elements of each kind of memory that an encoder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncoderNeeds {
    /// Layers of the transformer.
    pub layers: usize,
    /// Layers after the pooling.
    pub head: usize,
    /// Floats of these, or of a head that classifies.
    pub floats: usize,
    /// Bytes that stored weights pass through while the encoder is opened; 0 for weights in memory.
    pub tile: usize,
}

/// Memory for an encoder, with the elements of each kind that [`EncoderNeeds`] counts. Its content
/// is overwritten.
#[derive(Debug)]
pub struct EncoderMemory<'t, L, D, F> {
    /// Layers of the transformer.
    pub layers: L,
    /// Layers after the pooling.
    pub head: D,
    /// The weights of heads.
    pub floats: F,
    /// Memory that is free again when the encoder is open.
    pub tile: &'t mut [u8],
}

impl<S: AsRef<str>> EncoderSpec<'_, S> {
    fn embedding(&self) -> TextEmbedding {
        let Self { family, pooling, normalize, .. } = *self;
        TextEmbedding { width: family.config.hidden, pooling, normalize }
    }

    /// Elements of the vector that the modules after the pooling take.
    fn projected(&self) -> usize {
        self.family.config.final_projection().unwrap_or(self.embedding().pooled())
    }

    /// Layers after the pooling: that of the model itself, and the modules.
    fn layers_after_pooling(&self) -> usize {
        self.head.len().saturating_add(self.family.config.final_projection().is_some().into())
    }

    /// The model's layer after its final norm, which is applied to the pooled vector.
    fn find_projection(&self, weights: &dyn Weights) -> Result<Option<LayerTensors>> {
        let FamilyModel { config, names, .. } = self.family;
        let Some(outputs) = config.final_projection() else { return Ok(None) };
        if !self.pooling.is_linear() {
            return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
        }
        let named = Prefixed::new(weights, names)?;
        let name = Name::new(names.name_of(Tensor::FinalProjection).unwrap_or_default());
        LayerTensors::linear(&named, &name, false, [config.hidden, outputs]).map(Some)
    }

    /// Elements of an embedding.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WrongShape`] if a module does not take the vectors of the one before.
    pub fn dimensions(&self) -> Result<usize> {
        let mut modules = self.head.iter();
        let first = self.projected();
        modules.try_fold(first, |width, module| module.outputs(width)).ok_or(WRONG_SHAPE)
    }

    /// Floats of scratch memory that [`Encoder::embed`] takes.
    #[must_use]
    pub fn scratch(&self) -> usize {
        let modules = self.head.iter().scan(self.projected(), |width, module| {
            *width = module.outputs(*width).unwrap_or(*width);
            Some(*width)
        });
        self.embedding().scratch(self.family.config.final_projection().into_iter().chain(modules))
    }

    /// How the model was made to run, for texts of so many tokens. Reports missing tensors, too.
    ///
    /// # Errors
    ///
    /// As [`Transformer::from_family`].
    pub fn plan(&self, weights: &dyn Weights, tokens: usize) -> Result<Plan> {
        let named = Prefixed::new(weights, self.family.names)?;
        self.family.check_biases(&named)?;
        self.family.plan(&named, tokens)
    }

    /// The number of summaries of its weights that `kernels` want.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn summaries(&self, weights: &dyn Weights, kernels: &Kernels) -> Result<usize> {
        self.family.summaries(&Prefixed::new(weights, self.family.names)?, kernels)
    }

    /// The memory that [`open`](Self::open) takes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`] or [`ErrorKind::WrongShape`] if the weights of a module after
    /// the pooling are not there or do not fit.
    pub fn needs(&self, weights: &dyn Weights) -> Result<EncoderNeeds> {
        let mut room = Room::default();
        let width = self.projected();
        if let Some(tensors) = self.find_projection(weights)? {
            tensors.add(width, &mut room)?;
        }
        add_modules(weights, self.head, width, &mut room)?;
        Ok(self.needs_of(weights, self.layers_after_pooling(), room))
    }

    /// The memory that [`open_cross_encoder`](Self::open_cross_encoder) takes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model has no head that classifies; [`ErrorKind::MissingTensor`]
    /// or [`ErrorKind::WrongShape`] if its weights are not there or do not fit.
    pub fn cross_encoder_needs(&self, weights: &dyn Weights) -> Result<EncoderNeeds> {
        let room = self.classifier(weights)?.room(self.family.config.hidden)?;
        Ok(self.needs_of(weights, 0, room))
    }

    fn needs_of(&self, weights: &dyn Weights, head: usize, room: Room) -> EncoderNeeds {
        let tile = if weights.borrows() { 0 } else { room.tile };
        EncoderNeeds { layers: self.family.config.layers, head, floats: room.floats, tile }
    }

    /// The encoder in this memory. `named` has the tensors by their names, `weights` their bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if there is less memory than [`needs`](Self::needs) says; as
    /// [`Transformer::from_family`] and [`needs`](Self::needs); any error of reading the weights.
    pub fn open<L, D, F>(
        &self,
        named: &dyn Weights,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        memory: EncoderMemory<'_, L, D, F>,
    ) -> Result<Encoder<L, D, F>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
        D: AsMut<[HeadLayer]>,
        F: AsMut<[f32]>,
    {
        let run = Run::new(weights, kernels);
        let EncoderMemory { layers, mut head, mut floats, tile } = memory;
        let transformer = self.transformer(named, layers)?;
        let mut slots = head.as_mut();
        if slots.len() != self.layers_after_pooling() {
            return Err(TOO_SMALL);
        }
        let mut filling = Filling::new(floats.as_mut(), tile);
        if let Some(tensors) = self.find_projection(named)? {
            let projection = filling.linear(&run, &tensors, DenseActivation::Identity)?;
            let slot = slots.split_off_first_mut().ok_or(TOO_SMALL)?;
            *slot = HeadLayer::Dense(projection);
        }
        fill_modules(&run, named, self.head, slots, &mut filling)?;
        Ok(Encoder { transformer, embedding: self.embedding(), head, floats })
    }

    /// As [`open`](Self::open), of a model with a head that classifies.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open) and [`cross_encoder_needs`](Self::cross_encoder_needs).
    pub fn open_cross_encoder<L, D, F>(
        &self,
        named: &dyn Weights,
        weights: &(impl Weights + ?Sized),
        kernels: &Kernels,
        memory: EncoderMemory<'_, L, D, F>,
    ) -> Result<CrossEncoder<L, F>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
        F: AsMut<[f32]>,
    {
        let run = Run::new(weights, kernels);
        let EncoderMemory { layers, mut floats, tile, .. } = memory;
        let transformer = self.transformer(named, layers)?;
        let mut filling = Filling::new(floats.as_mut(), tile);
        let epsilon = self.family.config.epsilon;
        let classifier = self.classifier(named)?.read(&run, epsilon, &mut filling)?;
        let on_logits = self.on_logits(classifier.output.outputs);
        Ok(CrossEncoder { transformer, classifier, floats, on_logits })
    }

    fn on_logits(&self, labels: usize) -> DenseActivation {
        let classifier = self.family.classifier.as_ref();
        classifier.map_or(DenseActivation::Identity, |head| head.on_logits_of(labels))
    }

    fn transformer<L>(&self, named: &dyn Weights, layers: L) -> Result<Transformer<L>>
    where
        L: AsRef<[Layer]> + AsMut<[Layer]> + Sync,
    {
        let FamilyModel { config, names, .. } = *self.family;
        let named = Prefixed::new(named, names)?;
        self.family.check_biases(&named)?;
        Transformer::from_family(&named, config, names, layers)
    }

    fn classifier(&self, named: &dyn Weights) -> Result<ClassifierTensors> {
        let FamilyModel { config, names, .. } = *self.family;
        let classifier = self.family.classifier.as_ref().ok_or(OTHER_MODEL)?;
        let among = Prefixed::new(named, names)?;
        let embeddings = names.name_of(Tensor::Embeddings);
        ClassifierTensors::find(classifier, &config, embeddings, &among, named)
    }
}
