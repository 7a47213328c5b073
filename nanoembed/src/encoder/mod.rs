//! Texts in, embeddings out, on as many threads as there are.
//!
//! | file | role |
//! |---|---|
//! | `options` | options of an encoder |
//! | `embed` | the ways to embed |
//! | `fingerprint` | the identity of a model's vector space |
//! | `backend` | operations of a model |
//! | `text` | transformers and tables of a vector for each token |
//! | `causal` | the pooled states of a model that continues texts |
//! | `routes` | models of their own for queries and documents, in a model with a Router |
//! | `session` | one text at a time in memory that is reused |
//! | `vectors` | embeddings, and the nearest among them |
//! | `vector_kind` | the kinds of vectors that models make |
//! | `sparse`, `multi` | sparse vectors, and a vector for each token |
//! | `precision` | embeddings in fewer bytes |

mod backend;
mod causal;
mod embed;
mod fingerprint;
mod multi;
mod options;
pub mod precision;
mod routes;
mod session;
mod sparse;
pub(crate) mod text;
mod vector_kind;
mod vectors;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use nanoembed_core::owned::Prompt;
use nanoembed_core::{Error as CoreError, ErrorKind};
use rayon::ThreadPool;

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::folder::prompts::{Prefix, Prompts, Similarity};
use crate::open::described_model::DescribedModel;
use crate::open::loaded_model::LoadedModel;
use crate::open::source::Source;
use crate::role::Role;
use backend::Backend;
use causal::CausalEncoder;
use fingerprint::Computation;
use routes::{Network, Routes};
use text::TextEncoder;

pub use backend::Length;
pub use fingerprint::Fingerprint;
pub use multi::max_sim_all;
pub use nanoembed_core::owned::SparseVector;
pub use options::{EncoderOptions, Pooling};
pub use precision::Precision;
pub use session::Session;
pub use vector_kind::VectorKind;
pub use vectors::{Hit, Vectors, cosine, similarity};

/// A model that turns texts into embeddings: vectors that are alike where the texts' meanings are.
///
/// Clones share the model, and threads may share one: scratch memory comes from a pool.
///
/// ```
/// use nanoembed::Encoder;
///
/// let encoder = Encoder::open("../ffi/tests/data/small_bert.weights")?;
/// let lines = ["a cat on a mat", "the price of oil", "cats and dogs"];
/// let vectors = encoder.embed_documents(&lines)?;
/// let query = encoder.embed_query("a dog")?;
/// for hit in vectors.nearest(&query, 2)? {
///     println!("{:.3}  {}", hit.similarity, lines[hit.index]);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct Encoder(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    backend: Arc<dyn Backend>,
    source: Arc<Source>,
    /// Elements of the model's vectors that are kept.
    dimensions: usize,
    /// True if every vector is scaled to length 1 at the end.
    normalize: bool,
    prompts: Arc<Prompts>,
    prompt: Prefix,
    threads: Option<Arc<ThreadPool>>,
    /// The role of texts for which the model was opened.
    role: Role,
    /// The models for texts of other roles, if there is a Router.
    routes: Option<Arc<Routes>>,
    computation: Computation,
    /// Set when it was first asked for.
    fingerprint: OnceLock<Fingerprint>,
}

impl Encoder {
    /// Opens a model: a `.weights`, `.amb`, GGUF or UQFF file, the first of several, or a folder as
    /// on Hugging Face. Models that continue texts embed by their pooled states.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid, or if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// A model in memory: the bytes of a `.weights`, `.amb` or GGUF file.
    ///
    /// # Errors
    ///
    /// Fails if the file or its model is invalid.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::options().from_bytes(bytes)
    }

    /// The model that is part of the program: all-MiniLM-L6-v2 with 8-bit weights.
    ///
    /// # Errors
    ///
    /// If the crate was built without the feature `default-model`, or from a registry's package, which
    /// has no room for a model.
    pub fn built_in() -> Result<Self> {
        Self::options().built_in()
    }

    /// Options to open a model with.
    #[must_use]
    pub fn options() -> EncoderOptions {
        EncoderOptions::default()
    }

    /// A model with other parts than the one whose fingerprint `inner` may have.
    fn from_inner(inner: Inner) -> Self {
        Self(Arc::new(Inner { fingerprint: OnceLock::new(), ..inner }))
    }

    pub(crate) fn from_opened(opened: &LoadedModel<'_>, options: &EncoderOptions) -> Result<Self> {
        let prompts = opened.prompts();
        let source = Arc::clone(opened.source());
        let backend = backend(opened, options)?;
        let dimensions = dimensions(&*backend, options.truncate_dim)?;
        let (prompts, prompt) = (Arc::new(prompts?), options.prompt.clone());
        let normalize = options.normalize;
        let pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map_err(|error| Error::argument("threads", format!("{threads}: {error}")))
        };
        let threads = options.threads.map(pool).transpose()?.map(Arc::new);
        let first = Network { backend: backend.into(), source, prompts };
        let (role, routes) = (first.source.role(), Routes::new(first.clone(), options));
        let Network { backend, source, prompts } = first;
        let inner = Inner {
            backend,
            source,
            dimensions,
            normalize,
            prompts,
            prompt,
            threads,
            role,
            routes,
            computation: Computation::new(options),
            fingerprint: OnceLock::new(),
        };
        let encoder =
            Self::from_inner(inner).in_role(Role::from_prompt(&options.prompt))?.into_owned();
        encoder.prompt(Role::Text)?;
        Ok(encoder)
    }

    /// A warning for each unknown setting that was passed over: see
    /// [`EncoderOptions::allow_unknown`].
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.0.source.warnings()
    }

    /// The same model with something else before every text: see [`EncoderOptions::prompt`].
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::Kind::NotFound) if the model has no such prompt.
    pub fn with_prompt(&self, prompt: Prefix) -> Result<Self> {
        let encoder = self.in_role(Role::from_prompt(&prompt))?;
        let encoder = Self::from_inner(Inner { prompt, ..Inner::clone(&encoder.0) });
        encoder.prompt(Role::Text)?;
        Ok(encoder)
    }

    /// The same model with so many numbers of every vector kept: see
    /// [`EncoderOptions::truncate_dim`].
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::Kind::Usage) if the model's vectors have not so many.
    pub fn with_truncate_dim(&self, dimensions: impl Into<Option<usize>>) -> Result<Self> {
        let dimensions = self::dimensions(&*self.0.backend, dimensions.into())?;
        Ok(Self::from_inner(Inner { dimensions, ..Inner::clone(&self.0) }))
    }

    /// The same model with vectors of length 1, or as the model has them: see
    /// [`EncoderOptions::normalize`].
    #[must_use]
    pub fn with_normalize(&self, normalize: bool) -> Self {
        Self::from_inner(Inner { normalize, ..Inner::clone(&self.0) })
    }

    /// The number of elements of an embedding; 0 if the model does not [make](Self::makes) dense
    /// vectors.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.dimensions
    }

    /// The name of the model for messages: its file, or a description of its origin.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.0.source.name()
    }

    /// True for the model that is part of the program: see [`built_in`](Self::built_in).
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.0.source.is_built_in()
    }

    /// The measure that the model's vectors are compared by: the cosine unless
    /// `config_sentence_transformers.json` names another `similarity_fn_name`.
    #[must_use]
    pub fn similarity(&self) -> Similarity {
        self.0.prompts.similarity()
    }

    /// The number of tokens of a text that are embedded.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.0.backend.max_tokens()
    }

    /// The most tokens of a text that the model can embed.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.0.backend.positions()
    }

    /// The prompt for texts of a role. Where they have a route, they need not have a prompt.
    fn prompt(&self, role: Role) -> Result<Prompt> {
        let Inner { prompts, prompt, backend, routes, .. } = &*self.0;
        let asked = Role::from_prompt(prompt);
        let text = match role {
            _ if (routes.is_some() || backend.tells_sides()) && asked != Role::Text => {
                prompts.choose_for(&asked.prompt(), &Prefix::Usual)
            }
            role => prompts.choose_for(&role.prompt(), prompt),
        }?;
        if text.is_empty() || prompts.are_pooled() {
            return Prompt::pooled(&text).map_err(|error| self.failure(error));
        }
        backend.prompt(&text).map_err(|error| match error.kind() {
            ErrorKind::UnsupportedSetting => prompts.refuse_left_out(),
            _ => self.failure(error),
        })
    }

    fn failure(&self, error: CoreError) -> Error {
        self.0.source.failure(error)
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("model", &self.0.source.name())
            .field("dimensions", &self.0.dimensions)
            .finish_non_exhaustive()
    }
}

/// The number of elements of the model's vectors that are kept.
fn dimensions(backend: &dyn Backend, asked: Option<usize>) -> Result<usize> {
    let full = backend.dimensions();
    if asked.is_some() && full == 0 {
        return Err(Error::argument(
            "truncate_dim",
            "is for dense vectors, which the model does not make",
        ));
    }
    let dimensions = asked.unwrap_or(full);
    if full == 0 || (1..=full).contains(&dimensions) {
        return Ok(dimensions);
    }
    Err(Error::argument("truncate_dim", format!("{dimensions} is out of range"))
        .with_hint(format!("this model's vectors have {full} numbers: 1 to {full}")))
}

/// The opened model, ready to run as `options` say.
fn backend(opened: &LoadedModel<'_>, options: &EncoderOptions) -> Result<Box<dyn Backend>> {
    if opened.is_causal() {
        return Ok(Box::new(CausalEncoder::new(opened.causal_to_embed()?, options)?));
    }
    if options.pooling.is_some() {
        let message = "is for decoders; an encoder's file says its own";
        return Err(Error::argument("pooling", message));
    }
    let name = opened.source().name();
    if let Some(described) = opened.described() {
        check(described, options)?;
    }
    let mut model = opened.encoder()?;
    if options.requantize {
        model.requantize().map_err(|error| opened.source().failure(error))?;
    }
    Ok(Box::new(TextEncoder::new(model, options, name)?))
}

/// Rejects a model that compares texts, and options that a model of its kind does not have.
fn check(model: &DescribedModel<'_>, options: &EncoderOptions) -> Result<()> {
    if model.model().compares() {
        let message = "the model compares two texts and embeds none";
        return Err(Error::input(ErrorKind::OtherModel, message)
            .at(model.name())
            .with_hint("`nanoembed rerank` runs it"));
    }
    if !options.requantize {
        return Ok(());
    }
    if model.model().is_table() {
        return Err(Error::argument("requantize", "is for transformers, and this is a table"));
    }
    let message = match model.is_folder() {
        true => "is for files of weights, and this is a folder",
        false => "is for files of BERT, and this model is described by its config.json",
    };
    Err(Error::argument("requantize", message)
        .with_hint("`nanoembed convert FOLDER OUT.weights --type int8` makes a file of bytes"))
}
