//! Models that embed texts or compare two, whatever their files are.
//!
//! | file | role |
//! |---|---|
//! | `source` | what files say of a model, all but its weights |
//! | `fault` | what keeps a model from being opened |
//! | `prompt` | what stands before texts |
//! | `classes` | what a cross-encoder tells apart |

mod classes;
mod fault;
mod prompt;
mod source;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

pub use self::classes::Classes;
pub use self::fault::ModelFault;
pub use self::prompt::Prompt;
pub use self::source::TextSource;

use super::embedder::Parts;
#[cfg(feature = "safetensors")]
use super::folder::{FolderFault, Texts};
use super::folder::{FolderModel, Labels, Prompts};
use super::{Embedder, FileWeights, PipelineSession, Session, TextModel, Tokenized, TokenizedPair};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::filled;
use crate::model::{Batch, ModelSource, Parallel, Plan, Weights};
#[cfg(feature = "safetensors")]
use crate::text::json::Fault;

/// A model of any kind that embeds texts or compares two: BERT with WordPiece out of a file `B`, or
/// a model of any family, transformer or table, over the weights `W`.
///
/// Immutable: threads share one, each with a [`Session`] and a [`PipelineSession`] of its own.
///
/// ```
/// use nanoembed_core::model::InOrder;
/// use nanoembed_core::owned::folder::Prefix;
/// use nanoembed_core::owned::{AnyEncoder, PipelineSession};
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let model = AnyEncoder::open(std::fs::read(path)?)?;
/// let prompt = model.prompts().choose(&Prefix::Usual).unwrap_or_default();
/// let mut tokens = PipelineSession::default();
/// let prompt = model.prompt(prompt, &mut tokens)?;
/// let text = prompt.before("How do I reset my password?");
/// let ids = model.encode(&text, model.usual_tokens(), &mut tokens)?.ids;
/// let mut vector = vec![0.0; model.dimensions()];
/// let mut session = model.session_for(model.plan(ids.len()))?;
/// model.embed(&mut session, &InOrder, &ids, &[ids.len()], prompt.skipped, &mut vector)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyEncoder<B, W = FileWeights<B>> {
    kind: Kind<B, W>,
    prompts: Prompts,
    compares: bool,
    classes: Option<Classes>,
}

#[derive(Clone, Debug)]
enum Kind<B, W> {
    /// BERT with WordPiece.
    Bert(Box<Embedder<B>>),
    /// Any family.
    Text(TextModel<W>),
}

/// More tokens than any text has: what a model takes that has no positions.
const MOST_TOKENS: usize = 1 << 24;

impl<B: AsRef<[u8]> + Sync> AnyEncoder<B> {
    /// The model in a `.weights`, `.amb` or GGUF file. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::OtherModel`] if it continues
    /// texts; [`ErrorKind::UnknownFormat`] for files of other formats.
    pub fn open(file: B) -> core::result::Result<Self, ModelFault> {
        let source = ModelSource::parse(file.as_ref())?;
        let Some(text) = TextSource::read(source)? else {
            let (prompts, parts) =
                (Prompts::of_source(&source), Parts::of(file.as_ref(), &source)?);
            return Ok(Self::from_bert(Embedder::of(file, parts), prompts));
        };
        let (described, prompts) = (text.model().clone(), text.prompts()?);
        let (pipeline, labels) = (text.pipeline()?, text.labels()?);
        let mut weights = FileWeights::default();
        text.each_tensor(&mut |name, header| weights.add(name.into(), 0, header));
        weights.push(file);
        let model = TextModel::open(&described, weights, pipeline)?;
        Ok(Self::from_text(model, &described, prompts, labels))
    }
}

#[cfg(feature = "safetensors")]
impl<B: AsRef<[u8]> + Sync> AnyEncoder<B> {
    /// The model in a Hugging Face folder: its texts, and the files that
    /// [`FolderModel::weight_files`] names, in that order.
    ///
    /// # Errors
    ///
    /// What is wrong with the texts or the weights; [`ErrorKind::InvalidArgument`] if there are not
    /// as many files.
    pub fn open_folder(
        texts: Texts<'_, '_>,
        files: impl IntoIterator<Item = B>,
    ) -> core::result::Result<Self, ModelFault> {
        let model = FolderModel::read(texts)?;
        let prompts = model.prompts(texts)?;
        let (pipeline, labels) = (model.tokenizer(texts)?, model.labels(texts)?);
        let paths = model.weight_files(texts)?;
        let mut weights = FileWeights::default();
        let mut files = files.into_iter();
        for path in paths {
            let file = files.next().ok_or(Error::without_offset(ErrorKind::InvalidArgument))?;
            let pushed = weights.push_safetensors(model.tensor_prefix(&path), file);
            pushed.map_err(|error| FolderFault::new(&path, Fault::of(error)))?;
        }
        let opened = TextModel::open(&model, weights, pipeline)?;
        Ok(Self::from_text(opened, &model, prompts, labels))
    }
}

impl<B: AsRef<[u8]> + Sync, W: Weights + Sync> AnyEncoder<B, W> {
    /// BERT with WordPiece, and the prompts that its file has.
    #[must_use]
    pub fn from_bert(bert: Embedder<B>, prompts: Prompts) -> Self {
        Self { kind: Kind::Bert(Box::new(bert)), prompts, compares: false, classes: None }
    }

    /// A model that `described` describes; `labels` are the names of its classes, as far as they
    /// have any, by their numbers.
    #[must_use]
    pub fn from_text(
        model: TextModel<W>,
        described: &FolderModel,
        prompts: Prompts,
        labels: Labels,
    ) -> Self {
        let classes = Classes::of(described, &model, labels);
        Self { kind: Kind::Text(model), prompts, compares: described.compares(), classes }
    }

    /// Elements of an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        match &self.kind {
            Kind::Bert(model) => model.config().hidden,
            Kind::Text(model) => model.dimensions(),
        }
    }

    /// How many tokens of a text the model was made for.
    #[must_use]
    pub fn usual_tokens(&self) -> usize {
        match &self.kind {
            Kind::Bert(model) => model.config().max_tokens,
            Kind::Text(model) => model.tokenizer().max_tokens().unwrap_or(self.positions()),
        }
    }

    /// The most tokens of a text that it can use.
    #[must_use]
    pub fn positions(&self) -> usize {
        match &self.kind {
            Kind::Bert(model) => model.config().positions,
            Kind::Text(model) => model.tokenizer().positions().unwrap_or(MOST_TOKENS),
        }
    }

    /// The fewest tokens that a text may be cut to: models with positions have tokens around every
    /// text.
    #[must_use]
    pub const fn least_tokens(&self) -> usize {
        if self.is_table() { 1 } else { 2 }
    }

    /// Whether it is a table with a vector for each token. Its sessions need no memory, and texts
    /// gain nothing from being taken together.
    #[must_use]
    pub const fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Text(TextModel::Static(_)))
    }

    /// Whether it compares two texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        self.compares
    }

    /// What it tells apart, if it classifies.
    #[must_use]
    pub const fn classes(&self) -> Option<&Classes> {
        self.classes.as_ref()
    }

    /// The prompts that the model has.
    #[must_use]
    pub const fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// `prompt`, ready to stand before texts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] if the tokens of a prompt are to be left out of pooling,
    /// which is not done for BERT in the layout that readers of BERT alone know; as
    /// [`encode`](Self::encode).
    pub fn prompt(&self, prompt: &str, session: &mut PipelineSession) -> Result<Prompt> {
        let skipped = match &self.kind {
            _ if prompt.is_empty() || self.prompts.are_pooled => 0,
            Kind::Bert(_) => return Err(Error::without_offset(ErrorKind::UnsupportedSetting)),
            // Tables have no pooling that a prompt could be left out of.
            Kind::Text(TextModel::Static(_)) => {
                return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
            }
            Kind::Text(model) => model.tokenizer().tokens_of_prompt(prompt, session)?,
        };
        Ok(Prompt { text: prompt.into(), skipped })
    }

    /// The first `limit` tokens of `text`, those around it included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the limit leaves no room for the tokens around a text;
    /// [`ErrorKind::BadVocabulary`] if the file has changed; as [`Pipeline::encode`].
    ///
    /// [`Pipeline::encode`]: super::Pipeline::encode
    pub fn encode(
        &self,
        text: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<Tokenized> {
        match &self.kind {
            Kind::Bert(model) => model.tokenize_alone(text, Some(limit)),
            Kind::Text(model) => model.tokenizer().encode(text, limit, session),
        }
    }

    /// The first `limit` tokens of `text` and whether it has more, which is cheaper for a long text
    /// than to [count](Self::encode) all.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_start(
        &self,
        text: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<(Vec<u32>, bool)> {
        match &self.kind {
            Kind::Bert(model) => model.tokenize_start(text, limit),
            Kind::Text(model) => {
                let found = model.tokenizer().encode(text, limit, session)?;
                Ok((found.ids, found.truncated))
            }
        }
    }

    /// Two texts, of which the longer one is cut first.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`ErrorKind::OtherModel`] for BERT in the layout that readers of
    /// BERT alone know, which compares nothing.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        limit: usize,
        session: &mut PipelineSession,
    ) -> Result<TokenizedPair> {
        match &self.kind {
            Kind::Bert(_) => Err(Error::without_offset(ErrorKind::OtherModel)),
            Kind::Text(model) => model.tokenizer().encode_pair(first, second, limit, session),
        }
    }

    /// A token as the vocabulary spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.kind {
            Kind::Bert(model) => model.token(id),
            Kind::Text(model) => {
                let token = model.tokenizer().pipeline().token(id)?;
                Some(String::from_utf8_lossy(token).into_owned())
            }
        }
    }

    /// Requantises weights to bytes: see [`Embedder::requantize`].
    ///
    /// # Errors
    ///
    /// As [`Embedder::requantize`]; [`ErrorKind::UnsupportedSetting`] for models of other layouts.
    pub fn requantize(&mut self) -> Result<()> {
        match &mut self.kind {
            Kind::Bert(model) => model.requantize(),
            Kind::Text(_) => Err(Error::without_offset(ErrorKind::UnsupportedSetting)),
        }
    }

    /// How the model was made to run: see [`Bert::plan`](crate::model::Bert::plan).
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        match &self.kind {
            Kind::Bert(model) => model.plan(tokens),
            Kind::Text(TextModel::Transformer(model)) => model.plan(tokens),
            Kind::Text(TextModel::Static(_)) => Plan::new(tokens),
        }
    }

    /// The scratch memory of one thread: see [`Embedder::session_for`].
    ///
    /// # Errors
    ///
    /// As [`Embedder::session_for`].
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        match &self.kind {
            Kind::Bert(model) => model.session_for(plan),
            Kind::Text(TextModel::Transformer(model)) => model.session_for(plan),
            Kind::Text(TextModel::Static(_)) => Ok(Session::empty(plan)),
        }
    }

    /// The embeddings of tokenised texts, [`dimensions`](Self::dimensions) elements each, into
    /// `out`. The first `skipped` tokens of each do not count in pooling. The vector of a text
    /// without tokens is zeros: it is similar to nothing.
    ///
    /// # Errors
    ///
    /// As [`Embedder::embed`]; [`ErrorKind::OtherModel`] if the model
    /// [compares](Self::compares) texts; [`ErrorKind::UnsupportedSetting`] as
    /// [`prompt`](Self::prompt).
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        if self.compares {
            return Err(Error::without_offset(ErrorKind::OtherModel));
        }
        if lengths.iter().all(|length| *length > 0) {
            return self.embed_some(session, parallel, ids, lengths, skipped, out);
        }
        let width = self.dimensions();
        let some: Vec<usize> = lengths.iter().copied().filter(|length| *length > 0).collect();
        let mut found = filled(some.len().saturating_mul(width), 0.0)?;
        if !some.is_empty() {
            self.embed_some(session, parallel, ids, &some, skipped, &mut found)?;
        }
        if lengths.len().checked_mul(width) != Some(out.len()) {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let mut found = found.chunks_exact(width);
        for (length, out) in lengths.iter().zip(out.chunks_exact_mut(width)) {
            let row = if *length > 0 { found.next() } else { None };
            match row {
                Some(row) => out.copy_from_slice(row),
                None => out.fill(0.0),
            }
        }
        Ok(())
    }

    /// The same of texts that all have tokens.
    fn embed_some<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.kind {
            Kind::Bert(_) | Kind::Text(TextModel::Static(_)) if skipped > 0 => {
                Err(Error::without_offset(ErrorKind::UnsupportedSetting))
            }
            Kind::Bert(model) => model.embed(session, parallel, ids, lengths, out),
            Kind::Text(TextModel::Transformer(model)) => {
                let texts = Batch { ids, types: &[], lengths };
                model.embed(session, parallel, &texts, skipped, out)
            }
            Kind::Text(TextModel::Static(table)) => table.embed_all(ids, lengths, out),
        }
    }

    /// The logits of tokenised pairs, one for each of the [classes](Self::classes), into `out`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model does not classify; as
    /// [`TransformerModel::classify`](super::TransformerModel::classify).
    pub fn classify<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        texts: &Batch<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        match &self.kind {
            Kind::Text(TextModel::Transformer(model)) if self.classes.is_some() => {
                model.classify(session, parallel, texts, out)
            }
            _ => Err(Error::without_offset(ErrorKind::OtherModel)),
        }
    }
}
