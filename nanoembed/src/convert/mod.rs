//! Models of one form become another: read, quantised, written.
//!
//! | part | role |
//! |---|---|
//! | `text_model` | models of any family with all that their folder says |
//! | `conversion` | models as `.weights` and `.amb` files |
//! | `checkpoint` | what is read: settings, vocabulary, tensors |
//! | `calibration`, `int8` | 8-bit weights tuned to texts |
//! | `amb`, `weights_file` | what is written |
//! | `quantizer` | weights in fewer bits, for formats of weights alone |
//! | `migration` | weights in another format as they are |
//! | `dequantization` | weights as floats |
//! | `naming` | what the tensors of encoders are for |
//! | `layer_names` | what layers are called where |
//! | `writing`, `targets` | tensors in files of another format |

pub mod amb;
pub mod calibration;
pub mod checkpoint;
pub mod conversion;
pub mod dequantization;
pub(crate) mod int8;
pub mod layer_names;
pub mod migration;
pub mod naming;
pub mod quantizer;
pub mod targets;
mod text_model;
pub mod weights_file;
pub mod writing;
