//! Runs transformers on weights in place, in caller-provided memory.
//!
//! From the bottom up; each part uses only those above it in this list:
//!
//! 1. [`config`] is the configuration of a model as data: a [`Config`] holds its sizes, positions,
//!    norms, masks and feed-forward layers.
//! 2. [`weights`] is the interface to files: a [`Weights`] locates tensors and provides their
//!    bytes.
//! 3. `linear` is one linear layer over any weights: floats, groups, codes.
//! 4. `block` has the components of a transformer block: attention and its mask, positions, norms,
//!    activations.
//! 5. `pass` runs tokens through all layers: many texts at once ([`Transformer`]), or one growing
//!    text ([`Llama`](llama::Llama)). Both use the same blocks. [`workspace`] is the scratch
//!    memory, whose size is known exactly in advance.
//! 6. `head` turns hidden states into one vector ([`TextEmbedding`]), or into the next token.
//! 7. `family` knows the names of each family: BERT ([`Transformer::open`], [`check()`]), Llama,
//!    and a table of [`Names`] for any other ([`Transformer::from_family`]).
//! 8. `table` is a static model: a table with a vector for each token.
//!
//! [`source`](crate::source) opens all of these from files. [`fixed`] runs BERT in integer arithmetic.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "sizes are checked when a model is opened"
)]

pub(crate) mod block;
pub mod config;
pub(crate) mod encoder;
pub(crate) mod family;
pub mod fixed;
pub(crate) mod head;
pub(crate) mod linear;
pub mod llama;
pub(crate) mod parallel;
pub(crate) mod pass;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod size;
pub(crate) mod table;
pub mod weights;

pub use block::layer::Layer;
pub use block::observation::{LayerInput, Observation, Observer};
pub use config::{
    Activation, Attention, Config, Disentangled, Embedding, FeedForward, Heads, LayerSet, Mask,
    Mixture, NormKind, Order, Placeholders, QueryKeyNorm, Relative, RelativeBuckets, Rotary,
    Window, WindowLayers,
};
pub use encoder::{CrossEncoder, Encoder};
pub use encoder::{EncoderMemory, EncoderNeeds, EncoderSpec};
pub use encoder::{MultiSpec, SparseKind, SparseSpec};
pub use family::bert::{Finding, NAMES as BERT_NAMES, check, plan, summaries};
pub use family::decoders::{DecoderFamily, DecoderModel, read_decoder_config};
pub use family::encoders::{
    ClassifierModel, ConfigJson, FamilyBiases, FamilyModel, MaskedModel, Prefixed, TokenScore,
    on_logits_of, read_config, read_scoring_config,
};
pub use family::gguf_names;
pub use family::llama::hugging_face as decoder_names;
pub use family::settings::{RotaryScaling, RotarySettings, irrelevant};
pub use family::tensors::{Names, Tensor, TensorName};
pub use fixed::{FixedMemory, FixedNeeds};
pub use head::classifier::NormPlace;
pub use head::classifier::{Classifier, ClassifierPlaces, HeadNorm};
pub use head::dense::{Dense, DenseActivation, DensePlace};
pub use head::embedding::{Head, HeadLayer, TextEmbedding};
pub use head::module::{DenseModule, DenseSettings, HeadModule, LayerNormModule};
pub use head::multi::MultiHead;
pub use head::pooling::{PoolingMode, PoolingModes};
pub use head::sparse::SparseHead;
pub use head::splade::{SpladePooling, SpladeSettings};
pub use parallel::{InOrder, Job, Parallel, Parts, WorkPart};
pub use pass::packed::workspace::Workspace;
pub use pass::packed::{Batch, Transformer, requantize, workspace};
#[cfg(feature = "alloc")]
pub(crate) use plan::ALIGNMENT;
pub use plan::{Needs, Plan};
pub use run::Run;
pub use table::TokenTable;
pub(crate) use table::cut;
pub use weights::{Matrix, MatrixEncoding, SliceWeights, Weights};
