//! Encoders without their tokenizers, over weights that every call lends.

use alloc::vec::Vec;

use super::session::Session;
use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{self, Kernels, RowSummary};
use crate::leaf;
use crate::limit::filled;
use crate::model::TokenTable;
use crate::model::{
    Batch, Config, CrossEncoder, DenseActivation, Encoder, HeadLayer, Layer, Observer, Parallel,
    Plan, PoolingMode, Run, Transformer, Weights,
};
use crate::model::{EncoderMemory, EncoderNeeds, EncoderSpec};

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

/// An encoder that makes vectors, or the logits of classes, of token ids.
///
/// Immutable: threads share one, each with a [`Session`]. Every call lends the weights that it was
/// opened with.
#[derive(Clone, Debug)]
pub struct TokenEncoder {
    network: Network,
    kernels: Kernels,
    summaries: Vec<RowSummary>,
}

/// An encoder in memory from the heap.
pub(super) type Embeds = Encoder<Vec<Layer>, Vec<HeadLayer>, Vec<f32>>;

/// The computation of a model.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a model has one of it")]
enum Network {
    /// A transformer that embeds.
    Encoder(Embeds),
    /// A transformer that classifies.
    CrossEncoder(CrossEncoder<Vec<Layer>, Vec<f32>>, leaf::Pipeline),
    /// The vectors of tokens, and whether their mean is scaled to length 1.
    Table { table: TokenTable, normalize: bool, _built_in: leaf::Pipeline },
}

impl TokenEncoder {
    /// The BERT encoder that `config` describes, before its [summaries](Self::summarize).
    ///
    /// # Errors
    ///
    /// As [`Transformer::open`].
    pub(super) fn locate_bert(
        weights: &(impl Weights + ?Sized),
        config: &BertConfig,
    ) -> Result<Self> {
        let layers = filled(config.layers, Layer::EMPTY)?;
        let transformer = Transformer::open(weights, config.transformer, layers)?;
        let embedding = config.embedding();
        let encoder = Encoder { transformer, embedding, head: Vec::new(), floats: Vec::new() };
        let (network, kernels) = (Network::Encoder(encoder), kernel::detect());
        Ok(Self { network, kernels, summaries: Vec::new() })
    }

    /// The encoder that `spec` describes.
    ///
    /// # Errors
    ///
    /// As [`EncoderSpec::open`]; [`ErrorKind::NoMemory`].
    pub fn from_spec<S: AsRef<str>>(
        weights: &impl Weights,
        spec: &EncoderSpec<'_, S>,
    ) -> Result<Self> {
        let needs = spec.needs(weights)?;
        let mut tile = filled(needs.tile, 0)?;
        let memory = memory(&needs, &mut tile)?;
        let encoder = spec.open(weights, weights, &kernel::detect(), memory)?;
        Self::new(Network::Encoder(encoder), weights)
    }

    /// The cross-encoder that `spec` describes.
    ///
    /// # Errors
    ///
    /// As [`EncoderSpec::open_cross_encoder`]; [`ErrorKind::NoMemory`].
    pub fn cross_encoder<S: AsRef<str>>(
        weights: &impl Weights,
        spec: &EncoderSpec<'_, S>,
    ) -> Result<Self> {
        let needs = spec.cross_encoder_needs(weights)?;
        let mut tile = filled(needs.tile, 0)?;
        let memory = memory(&needs, &mut tile)?;
        let encoder = spec.open_cross_encoder(weights, weights, &kernel::detect(), memory)?;
        Self::new(Network::CrossEncoder(encoder, leaf::Pipeline::built_in()?), weights)
    }

    /// A static model: the mean of its tokens' vectors, scaled to length 1 if `normalize`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedTokenizer`] in a build without the feature `pipeline`.
    pub fn from_table(table: TokenTable, normalize: bool) -> Result<Self> {
        let _built_in = leaf::Pipeline::built_in()?;
        let network = Network::Table { table, normalize, _built_in };
        Ok(Self { network, kernels: kernel::detect(), summaries: Vec::new() })
    }

    fn new(network: Network, weights: &(impl Weights + ?Sized)) -> Result<Self> {
        let mut opened = Self { network, kernels: kernel::detect(), summaries: Vec::new() };
        opened.summarize(weights)?;
        Ok(opened)
    }

    /// Prepares the row sums that the kernels use.
    pub(super) fn summarize(&mut self, weights: &(impl Weights + ?Sized)) -> Result<()> {
        let Some(transformer) = self.transformer() else { return Ok(()) };
        self.summaries = summaries(transformer, weights, &self.kernels)?;
        Ok(())
    }

    /// Runs on this table of kernels instead of the fastest one.
    ///
    /// # Errors
    ///
    /// Any error of reading the weights.
    pub fn with_kernels(
        mut self,
        weights: &(impl Weights + ?Sized),
        kernels: Kernels,
    ) -> Result<Self> {
        self.kernels = kernels;
        self.summarize(weights)?;
        Ok(self)
    }

    /// The kernels that the model runs on.
    #[must_use]
    pub const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// The transformer that embeds, if it is one.
    pub(super) const fn embeds(&self) -> Option<&Embeds> {
        match &self.network {
            Network::Encoder(encoder) => Some(encoder),
            _ => None,
        }
    }

    /// Replaces the transformer of an encoder that embeds by one with other weights. The encoder
    /// stays as it was if reading them fails.
    pub(super) fn replace_transformer(
        &mut self,
        transformer: Transformer<Vec<Layer>>,
        weights: &(impl Weights + ?Sized),
    ) -> Result<()> {
        match &mut self.network {
            Network::Encoder(encoder) => {
                self.summaries = summaries(&transformer, weights, &self.kernels)?;
                encoder.transformer = transformer;
                Ok(())
            }
            _ => Err(OTHER_MODEL),
        }
    }

    /// The transformer; `None` for a table.
    pub(super) const fn transformer(&self) -> Option<&Transformer<Vec<Layer>>> {
        match &self.network {
            Network::Encoder(model) => Some(&model.transformer),
            Network::CrossEncoder(model, _) => Some(&model.transformer),
            Network::Table { .. } => None,
        }
    }

    /// The sizes and settings of the transformer; `None` for a table.
    #[must_use]
    pub const fn config(&self) -> Option<&Config> {
        match self.transformer() {
            Some(transformer) => Some(transformer.config()),
            None => None,
        }
    }

    /// Returns true for a table with a vector for each token. Its sessions take no memory.
    #[must_use]
    pub const fn is_table(&self) -> bool {
        self.transformer().is_none()
    }

    /// Elements of an embedding; 0 for a model that classifies.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        match &self.network {
            Network::Encoder(model) => model.dimensions(),
            Network::CrossEncoder(..) => 0,
            Network::Table { table, .. } => table.dimensions(),
        }
    }

    /// Returns true if [shared](Batch::shared) tokens of texts that are classified are computed once.
    pub(super) fn shares_first_tokens(&self) -> bool {
        let takes_last = match &self.network {
            Network::Encoder(model) => model.embedding.pooling == PoolingMode::Last.into(),
            Network::CrossEncoder(model, _) => model.classifier.pooling == PoolingMode::Last,
            Network::Table { .. } => false,
        };
        takes_last && self.config().is_some_and(Config::is_causal)
    }

    /// The number of classes that [`logits`](Self::logits) tells apart; 0 for a model that embeds.
    #[must_use]
    pub const fn labels(&self) -> usize {
        match &self.network {
            Network::CrossEncoder(model, _) => model.labels(),
            _ => 0,
        }
    }

    /// The function that makes scores of logits; `None` for a model that embeds.
    #[must_use]
    pub const fn on_logits(&self) -> Option<DenseActivation> {
        match &self.network {
            Network::CrossEncoder(model, _) => Some(model.on_logits),
            _ => None,
        }
    }

    /// How the model was made to run: see [`Transformer::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        match self.transformer() {
            Some(transformer) => transformer.plan(tokens),
            None => Plan::new(tokens),
        }
    }

    /// The scratch memory of one thread, for texts (or packs of short texts) of up to `tokens`
    /// tokens, in `jobs` parts at a time: 1 without threads, else the number that
    /// [`Parallel::jobs`] returns. None for a table.
    ///
    /// Memory grows with `tokens` times `jobs`. There are never more jobs than the model has
    /// attention heads, or than there are eights of tokens, whichever is more: smaller parts would
    /// not be worth a thread.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if either is 0 or the memory would be larger than addresses
    /// are; [`ErrorKind::NoMemory`].
    pub fn session(&self, tokens: usize, jobs: usize) -> Result<Session> {
        let jobs = self.config().map_or(1, |config| Session::jobs(config, tokens, jobs));
        self.session_for(Plan { jobs, ..self.plan(tokens) })
    }

    /// The bytes that [`session_for`](Self::session_for) takes.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session), but for [`ErrorKind::NoMemory`].
    pub fn session_bytes(&self, plan: Plan) -> Result<usize> {
        self.config().map_or(Ok(0), |config| Session::bytes_of(config, plan))
    }

    /// As [`session`](Self::session), for a plan that says more, with its number of jobs. Weights
    /// are in memory, whatever the plan says.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        match self.config() {
            Some(config) => Session::new(config, plan),
            None => Ok(Session::empty(plan)),
        }
    }

    /// The embeddings of texts, all of which have tokens, [`dimensions`](Self::dimensions) elements
    /// each, into `out`.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::InvalidArgument`] if `out` has another length;
    /// [`ErrorKind::OtherModel`] if the model classifies; [`ErrorKind::UnsupportedSetting`] if a
    /// table is to leave out the tokens of a prompt.
    pub fn embed<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.network {
            Network::Encoder(model) => {
                let mut scratch = filled(model.scratch(), 0.0)?;
                let mut workspace = session.workspace(model.config())?;
                let run = self.run(weights, parallel);
                model.embed(&run, texts, &mut workspace, &mut scratch, out)
            }
            Network::CrossEncoder(..) => Err(OTHER_MODEL),
            Network::Table { .. } if texts.skipped > 0 => {
                Err(Error::without_offset(ErrorKind::UnsupportedSetting))
            }
            Network::Table { table, normalize, .. } => {
                let mut row = filled(table.dimensions(), 0.0)?;
                let tile = if weights.borrows() { 0 } else { table.tile_bytes() };
                let (mut tile, lists) = (filled(tile, 0)?, (texts.ids, texts.lengths));
                let room = (&mut row[..], &mut tile[..]);
                table.embed_texts(weights, &self.kernels, lists, *normalize, room, out)
            }
        }
    }

    /// The logits of texts, or of pairs of texts, [`labels`](Self::labels) each, into `out`.
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::InvalidArgument`] if `out` has another length;
    /// [`ErrorKind::OtherModel`] if the model embeds.
    pub fn logits<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.network {
            Network::CrossEncoder(model, _) => {
                let mut scratch = filled(model.scratch(), 0.0)?;
                let mut workspace = session.workspace(model.config())?;
                let run = self.run(weights, parallel);
                model.logits(&run, texts, &mut workspace, &mut scratch, out)
            }
            _ => Err(OTHER_MODEL),
        }
    }

    /// Shows `each` the number of each text and the hidden states of its tokens, and `observe` the
    /// input of every linear layer: see [`Transformer::states`].
    ///
    /// # Errors
    ///
    /// As [`Transformer::states`]; [`ErrorKind::OtherModel`] for a table.
    pub fn states<W: Weights + Sync + ?Sized, P: Parallel + ?Sized>(
        &self,
        weights: &W,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        each: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
        observe: &Observer<'_>,
    ) -> Result<()> {
        let transformer = self.transformer().ok_or(OTHER_MODEL)?;
        let mut workspace = session.workspace(transformer.config())?;
        let run = self.run(weights, parallel);
        transformer.states(&run, texts, &mut workspace, each, observe)
    }

    const fn run<'r, W: ?Sized, P: ?Sized>(
        &'r self,
        weights: &'r W,
        parallel: &'r P,
    ) -> Run<'r, W, P> {
        Run { weights, kernels: &self.kernels, summaries: self.summaries.as_slice(), parallel }
    }
}

/// The row sums of the weights that these kernels use.
fn summaries(
    transformer: &Transformer<Vec<Layer>>,
    weights: &(impl Weights + ?Sized),
    kernels: &Kernels,
) -> Result<Vec<RowSummary>> {
    let mut summaries = filled(transformer.summaries(kernels), RowSummary::EMPTY)?;
    let tile = if weights.borrows() { 0 } else { transformer.config().widest() };
    let mut tile = filled(tile, 0)?;
    transformer.summarize(weights, kernels, &mut tile, &mut summaries)?;
    Ok(summaries)
}

/// Memory for an encoder that needs so much.
fn memory<'t>(
    needs: &EncoderNeeds,
    tile: &'t mut [u8],
) -> Result<EncoderMemory<'t, Vec<Layer>, Vec<HeadLayer>, Vec<f32>>> {
    Ok(EncoderMemory {
        layers: filled(needs.layers, Layer::EMPTY)?,
        head: filled(needs.head, HeadLayer::EMPTY)?,
        floats: filled(needs.floats, 0.0)?,
        tile,
    })
}
