//! Encoders of any family with what follows them, over weights that lie anywhere.

use alloc::vec::Vec;

use super::session::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{self, Kernels, RowSummary};
use crate::limit::{filled, joined, reserved};
use crate::model::{
    Batch, Classifier, ClassifierModel, Config, Dense, DenseActivation, FamilyModel, HeadLayer,
    HeadNorm, Layer, Matrix, Observer, Parallel, Plan, Prefixed, Run, TextEmbedding, Transformer,
    Ways, Weights, Workspace, as_said_at,
};
use crate::tensor::{Dtype, TensorHeader};

const MISSING: Error = Error::without_offset(ErrorKind::MissingTensor);
const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// What becomes of the hidden states of a text: see
/// [sentence-transformers' modules](https://sbert.net/docs/package_reference/sentence_transformer/models.html).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipe {
    /// How they are pooled.
    pub pooling: Ways,
    /// Layers after that, the first first.
    pub head: Vec<HeadPart>,
    /// Whether what comes out is scaled to length 1.
    pub normalize: bool,
    /// True if what comes out is the scores of classes: the model compares texts.
    pub gives_scores: bool,
}

/// A layer after the pooling, with memory of its own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HeadPart {
    /// A linear layer.
    Dense(DenseLayer),
    /// A layer norm.
    Norm(NormLayer),
    /// Scales the vector to length 1.
    Normalize,
}

/// A layer norm, with memory of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct NormLayer {
    /// The factor of each element.
    pub weight: Vec<f32>,
    /// What is added to each; zeros where there is none.
    pub bias: Vec<f32>,
    /// Added to the variance.
    pub epsilon: f32,
}

impl NormLayer {
    /// The norm called `name` of vectors of `elements` elements, with a bias or without.
    ///
    /// # Errors
    ///
    /// As [`DenseLayer::read`].
    pub fn read(
        weights: &(impl Weights + ?Sized),
        name: &str,
        elements: usize,
        (has_bias, epsilon): (bool, f32),
    ) -> Result<Self> {
        let weight = find(weights, name, ".weight")?.ok_or(MISSING)?;
        let bias = match find_bias(weights, name, has_bias)? {
            Some(bias) => vector(weights, &bias, elements)?,
            None => filled(elements, 0.0)?,
        };
        Ok(Self { weight: vector(weights, &weight, elements)?, bias, epsilon })
    }

    const fn borrowed(&self) -> HeadNorm<'_> {
        let Self { weight, bias, epsilon } = self;
        HeadNorm { weight: weight.as_slice(), bias: bias.as_slice(), epsilon: *epsilon }
    }
}

impl HeadPart {
    const fn borrowed(&self) -> HeadLayer<'_> {
        match self {
            Self::Dense(dense) => HeadLayer::Dense(dense.borrowed()),
            Self::Norm(norm) => HeadLayer::Norm(norm.borrowed()),
            Self::Normalize => HeadLayer::Normalize,
        }
    }

    /// Elements of the vector that it makes of one of `width` elements; `None` if it takes no such
    /// vectors.
    fn outputs(&self, width: usize) -> Option<usize> {
        let fits = match self {
            Self::Dense(layer) => {
                let elements = width.checked_mul(layer.outputs());
                layer.inputs == width && elements == Some(layer.weight.len())
            }
            Self::Norm(norm) => norm.weight.len() == width && norm.bias.len() == width,
            Self::Normalize => true,
        };
        fits.then(|| self.borrowed().outputs(width))
    }
}

/// A linear layer behind a model, with memory of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseLayer {
    /// Elements of what it takes.
    pub inputs: usize,
    /// `[out, in]`, row by row.
    pub weight: Vec<f32>,
    /// `[out]`; zeros where there is none.
    pub bias: Vec<f32>,
    /// What is done to its output.
    pub activation: DenseActivation,
}

impl DenseLayer {
    /// The layer called `name` (`linear` in a Dense module's own file), with a bias or without.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`], [`ErrorKind::WrongShape`], and what reading the weights may
    /// fail with; [`ErrorKind::UnsupportedSetting`] for a bias that the layer does not have.
    pub fn read(
        weights: &(impl Weights + ?Sized),
        name: &str,
        has_bias: bool,
        activation: DenseActivation,
    ) -> Result<Self> {
        let matrix = find(weights, name, ".weight")?.ok_or(MISSING)?;
        let (rows, inputs) = (matrix.rows, matrix.cols);
        let bias = match find_bias(weights, name, has_bias)? {
            Some(bias) => vector(weights, &bias, rows)?,
            None => filled(rows, 0.0)?,
        };
        Ok(Self { inputs, weight: values(weights, &matrix)?, bias, activation })
    }

    const fn borrowed(&self) -> Dense<'_> {
        Dense {
            weight: self.weight.as_slice(),
            bias: self.bias.as_slice(),
            activation: self.activation,
        }
    }

    const fn outputs(&self) -> usize {
        self.bias.len()
    }
}

/// A tensor of a head: as models compute with it, or in doubles.
enum Found {
    Matrix(Matrix),
    Doubles(TensorHeader<'static>),
}

/// Where a tensor is, and its sizes.
struct Place {
    rows: usize,
    cols: usize,
    offset: u64,
    found: Found,
}

/// A tensor by the two parts of its name.
fn find(weights: &(impl Weights + ?Sized), name: &str, kind: &str) -> Result<Option<Place>> {
    let name = joined(&[name, kind])?;
    if let Some(header) = weights.header(&name).filter(|header| header.dtype == Dtype::F64) {
        let offset = header.offset;
        let sizes = (usize::try_from(header.shape.rows()).ok(), header.shape.cols());
        let (Some(rows), Some(cols)) = sizes else {
            return Err(Error::new(offset, ErrorKind::SizeOverflow));
        };
        let too_large = |_| Error::new(offset, ErrorKind::SizeOverflow);
        let cols = usize::try_from(cols).map_err(too_large)?;
        return Ok(Some(Place { rows, cols, offset, found: Found::Doubles(header) }));
    }
    let matrix = weights.matrix(&name)?;
    Ok(matrix.map(|matrix| {
        let Matrix { rows, cols, offset, .. } = matrix;
        Place { rows, cols, offset, found: Found::Matrix(matrix) }
    }))
}

/// The bias of a layer, which is there if its settings say so.
fn find_bias(
    weights: &(impl Weights + ?Sized),
    name: &str,
    is_said: bool,
) -> Result<Option<Place>> {
    as_said_at(find(weights, name, ".bias")?, is_said, |place| place.offset)
}

fn values(weights: &(impl Weights + ?Sized), place: &Place) -> Result<Vec<f32>> {
    let matrix = match &place.found {
        Found::Matrix(matrix) => matrix,
        Found::Doubles(header) => return doubles(weights, header),
    };
    let too_large = Error::new(matrix.offset, ErrorKind::SizeOverflow);
    let mut values = filled(matrix.rows.checked_mul(matrix.cols).ok_or(too_large)?, 0.0)?;
    let mut tile = match weights.borrows() {
        true => Vec::new(),
        false => filled(usize::try_from(matrix.bytes).map_err(|_| too_large)?, 0)?,
    };
    let kernels = kernel::detect();
    Run::new(weights, &kernels).read_converted(matrix, 0, &mut values, &mut tile)?;
    Ok(values)
}

/// Doubles, as programs of statistics write them, rounded.
fn doubles(weights: &(impl Weights + ?Sized), header: &TensorHeader<'static>) -> Result<Vec<f32>> {
    let too_large = Error::new(header.offset, ErrorKind::SizeOverflow);
    let bytes = usize::try_from(header.bytes).map_err(|_| too_large)?;
    let mut tile = if weights.borrows() { Vec::new() } else { filled(bytes, 0)? };
    let bytes = weights.bytes(header.offset, bytes, &mut tile)?;
    let (values, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(Error::new(header.offset, ErrorKind::SizeMismatch));
    }
    let mut rounded = reserved(values.len())?;
    #[allow(clippy::cast_possible_truncation)] // models compute in singles
    rounded.extend(values.iter().map(|value| f64::from_le_bytes(*value) as f32));
    Ok(rounded)
}

fn vector(weights: &(impl Weights + ?Sized), place: &Place, elements: usize) -> Result<Vec<f32>> {
    match (place.rows, place.cols) == (1, elements) {
        true => values(weights, place),
        false => Err(Error::new(place.offset, ErrorKind::WrongShape)),
    }
}

/// A head that classifies, with memory of its own.
#[derive(Clone, Debug)]
struct OwnedClassifier {
    model: ClassifierModel,
    hidden: DenseLayer,
    norm: Option<NormLayer>,
    output: DenseLayer,
}

impl OwnedClassifier {
    /// The head's tensors lie among the model's, or beside them.
    fn read<W: Weights + ?Sized>(
        weights: &Prefixed<'_, W>,
        beside: &W,
        model: ClassifierModel,
        Config { hidden: width, epsilon, .. }: Config,
    ) -> Result<Self> {
        let layer = |name, has_bias, activation| match find(weights, name, ".weight")? {
            Some(_) => DenseLayer::read(weights, name, has_bias, activation),
            None => DenseLayer::read(beside, name, has_bias, activation),
        };
        let hidden = layer(model.hidden, model.hidden_bias, model.activation)?;
        let output = layer(model.output, true, DenseActivation::Identity)?;
        if (hidden.inputs, hidden.outputs(), output.inputs) != (width, width, width) {
            return Err(Error::without_offset(ErrorKind::WrongShape));
        }
        let norm = match model.norm {
            // Its epsilon is the model's.
            Some(name) => Some(NormLayer::read(beside, name, width, (model.norm_bias, epsilon))?),
            None => None,
        };
        Ok(Self { model, hidden, norm, output })
    }

    fn borrowed(&self) -> Classifier<'_> {
        Classifier {
            pooling: self.model.pooling,
            hidden: self.hidden.borrowed(),
            norm: self.norm.as_ref().map(NormLayer::borrowed),
            output: self.output.borrowed(),
        }
    }
}

/// An encoder of any family, and what follows it: it embeds token ids, classifies them, or shows
/// their hidden states, over the weights that it was opened with.
///
/// Immutable: several threads may use one, each with a [`Session`] of its own.
#[derive(Clone, Debug)]
pub struct TextEncoder {
    encoder: Transformer<Vec<Layer>>,
    kernels: Kernels,
    summaries: Vec<RowSummary>,
    recipe: Recipe,
    classifier: Option<OwnedClassifier>,
}

impl TextEncoder {
    /// Finds the tensors of a model in `weights`, and reads those of its head.
    ///
    /// # Errors
    ///
    /// As [`Transformer::from_family`]; [`ErrorKind::WrongShape`] if layers of the recipe or the head do
    /// not fit; what reading the weights may fail with.
    pub fn open<W: Weights + ?Sized>(
        weights: &W,
        model: &FamilyModel,
        recipe: Recipe,
    ) -> Result<Self> {
        let FamilyModel { config, names, .. } = *model;
        let mut width = recipe.pooling.count().max(1).saturating_mul(config.hidden);
        for layer in &recipe.head {
            let unfit = Error::without_offset(ErrorKind::WrongShape);
            width = layer.outputs(width).ok_or(unfit)?;
        }
        let named = Prefixed::new(weights, names)?;
        model.check_biases(&named)?;
        let layers = filled(config.layers, Layer::EMPTY)?;
        let encoder = Transformer::from_family(&named, config, names, layers)?;
        let classifier = model
            .classifier
            .map(|classifier| OwnedClassifier::read(&named, weights, classifier, config));
        let kernels = kernel::detect();
        let mut opened = Self {
            encoder,
            kernels,
            summaries: Vec::new(),
            recipe,
            classifier: classifier.transpose()?,
        };
        opened.summarize(weights)?;
        Ok(opened)
    }

    fn summarize(&mut self, weights: &(impl Weights + ?Sized)) -> Result<()> {
        let Self { encoder, kernels, .. } = self;
        let mut summaries = filled(encoder.summaries(kernels), RowSummary::EMPTY)?;
        let mut tile = match weights.borrows() {
            true => Vec::new(),
            false => filled(encoder.config().widest(), 0)?,
        };
        encoder.summarize(weights, kernels, &mut tile, &mut summaries)?;
        self.summaries = summaries;
        Ok(())
    }

    /// Runs on this table of kernels instead of the fastest one.
    ///
    /// # Errors
    ///
    /// What reading the weights may fail with.
    pub fn with_kernels(
        mut self,
        weights: &(impl Weights + ?Sized),
        kernels: Kernels,
    ) -> Result<Self> {
        self.kernels = kernels;
        self.summarize(weights)?;
        Ok(self)
    }

    /// What the transformer is.
    #[must_use]
    pub const fn config(&self) -> &Config {
        self.encoder.config()
    }

    /// What follows it.
    #[must_use]
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The kernels that the model runs on.
    #[must_use]
    pub const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Elements of an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        let head = self.recipe.head.iter().map(HeadPart::borrowed);
        head.fold(self.pooled(), |width, layer| layer.outputs(width))
    }

    /// Elements of what pooling makes.
    fn pooled(&self) -> usize {
        self.recipe.pooling.count() * self.config().hidden
    }

    /// Classes that [`classify`](Self::classify) tells apart; 0 for models without such a head.
    #[must_use]
    pub fn labels(&self) -> usize {
        if self.recipe.gives_scores {
            return self.dimensions();
        }
        self.classifier.as_ref().map_or(0, |classifier| classifier.output.outputs())
    }

    /// How the model was made to run: see [`Transformer::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.encoder.plan(tokens)
    }

    /// The scratch memory of one thread, for texts (or packs of short texts) of up to `tokens`
    /// tokens, in up to `jobs` parts at a time; weights must lie in memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if either is 0 or the memory would be larger than addresses
    /// are; [`ErrorKind::NoMemory`] if there is not as much.
    pub fn session(&self, tokens: usize, jobs: usize) -> Result<Session> {
        let jobs = Session::jobs(self.config(), tokens, jobs);
        self.session_for(Plan { jobs, ..self.plan(tokens) })
    }

    /// The bytes that [`session_for`](Self::session_for) takes.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session), but for memory that is refused.
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        Session::bytes_of(self.config(), plan)
    }

    /// As [`session`](Self::session), for a plan that says more.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        Session::new(self.config(), plan)
    }

    /// Shows `each` the number of each text and the hidden states of its tokens: see
    /// [`Transformer::states`].
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`].
    pub fn states<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        self.states_observed(weights, session, parallel, texts, each, &|_| {})
    }

    /// As [`states`](Self::states), and shows `observe` the inputs of every linear layer.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`].
    pub fn states_observed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
        observe: &Observer<'_>,
    ) -> Result<()> {
        let Session { plan, floats, bytes } = session;
        let mut workspace = Workspace::new(self.config(), plan, floats, bytes)?;
        let Self { kernels, summaries, .. } = self;
        let run = Run { weights, kernels, summaries, parallel };
        self.encoder.states(&run, texts, &mut workspace, each, observe)
    }

    /// The embeddings of texts, [`dimensions`](Self::dimensions) elements each, into `out`.
    ///
    /// `skipped` says how many of each text's first tokens do not count in pooling, those of a
    /// prompt that the recipe leaves out; it is empty if all do.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::InvalidArgument`] if the recipe does not pool, or
    /// `skipped` or `out` have not the right length.
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        skipped: &[usize],
        out: &mut [f32],
    ) -> Result<()> {
        let (dimensions, pooled) = (self.dimensions(), self.pooled());
        let count = texts.lengths.len();
        let fits = dimensions > 0
            && count.checked_mul(dimensions) == Some(out.len())
            && (skipped.is_empty() || skipped.len() == count);
        if !fits {
            return Err(INVALID);
        }
        let (mut width, mut widest) = (pooled, pooled);
        let mut layers = reserved(self.recipe.head.len())?;
        for layer in self.recipe.head.iter().map(HeadPart::borrowed) {
            width = layer.outputs(width);
            widest = widest.max(width);
            layers.push(layer);
        }
        let mut scratch = filled(widest.saturating_mul(2), 0.0)?;
        let Recipe { pooling, normalize, .. } = self.recipe;
        let embedding = TextEmbedding { width: self.config().hidden, pooling, normalize };
        let mut rows = out.chunks_exact_mut(dimensions);
        self.states(weights, session, parallel, texts, &mut |text, states| {
            let skipped = skipped.get(text).copied().unwrap_or(0);
            let row = rows.next().ok_or(TOO_SMALL)?;
            embedding.write(&self.kernels, &layers, (states, skipped), &mut scratch, row)
        })
    }

    /// The logits of texts, or of pairs of texts, [`labels`](Self::labels) each, into `out`.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::InvalidArgument`] if the model does not classify or
    /// `out` has not the right length.
    pub fn classify<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        if self.recipe.gives_scores {
            return self.embed(weights, session, parallel, texts, &[], out);
        }
        let Some(classifier) = &self.classifier else { return Err(INVALID) };
        let labels = self.labels();
        if labels == 0 || texts.lengths.len().checked_mul(labels) != Some(out.len()) {
            return Err(INVALID);
        }
        let head = classifier.borrowed();
        let mut scratch = filled(self.config().hidden.saturating_mul(2), 0.0)?;
        let mut rows = out.chunks_exact_mut(labels);
        self.states(weights, session, parallel, texts, &mut |_, states| {
            let row = rows.next().ok_or(TOO_SMALL)?;
            head.logits(&self.kernels, states, &mut scratch, row)
        })
    }
}
