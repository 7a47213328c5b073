//! Models of one form become another: read, quantised, written.
//!
//! | I want | type |
//! |---|---|
//! | a whole model as a `.weights`, `.amb` or GGUF file | [`Conversion`] |
//! | weights in fewer bits in a GGUF, UQFF or safetensors file | [`Quantization`] |
//! | weights in another of these formats as they are | [`Migration`] |
//! | weights as floats | [`Dequantization`] |
//! | a model with only the pieces that some languages need | [`Pruning`] |
//!
//! Each job is made with its input and output, takes options, and then `run`s, which blocks: an
//! [`Observer`](crate::Observer) receives its progress, [`Silent`](crate::Silent) ignores it.
//! Outputs appear when they are complete, not before.

// The parts, of which the program `nanoembed` uses some by themselves:
//
// | part | role |
// |---|---|
// | `text_model` | models of any family with all that their folder says |
// | `conversion` | models as `.weights` and `.amb` files |
// | `decoder_model` | a decoder on its way into another file |
// | `activations`, `calibration`, `int8` | 8-bit weights tuned to texts |
// | `amb`, `weights_file` | the files that are written |
// | `quantizer`, `quantization` | weights in fewer bits, for formats of weights alone |
// | `migration` | weights in another format as they are |
// | `dequantization` | weights as floats |
// | `pruning` | vocabularies cut to the pieces of some texts |
// | `naming` | purposes of the tensors of encoders |
// | `experts` | matrices that checkpoints store transposed |
// | `writing`, `targets` | tensors in files of another format |

mod activations;
#[doc(hidden)]
pub mod amb;
#[doc(hidden)]
pub mod calibration;
#[doc(hidden)]
pub mod conversion;
mod decoder_model;
#[doc(hidden)]
pub mod dequantization;
mod experts;
pub(crate) mod int8;
#[doc(hidden)]
pub mod migration;
#[doc(hidden)]
pub mod naming;
mod pruning;
mod quantization;
#[doc(hidden)]
pub mod quantizer;
#[doc(hidden)]
pub mod targets;
mod text_model;
#[doc(hidden)]
pub mod weights_file;
#[doc(hidden)]
pub mod writing;

pub use conversion::{Conversion, Converted, ModelForm, ModelTarget};
pub use dequantization::{Dequantization, Float};
pub use migration::Migration;
pub use pruning::{Pruned, Pruning};
pub use quantization::{Outcome, Quantization, Quantized};
pub use quantizer::QuantType;
pub use weights_file::{ByType, Tally, TensorLoss, WeightType};
pub use writing::{Target, Writing, WrittenFile};

pub use crate::glob::Glob;
