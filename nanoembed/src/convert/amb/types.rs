//! The types of the tensors of an `.amb` file.

use nanoembed_core::tensor::{Arrangement, CodeBits, Dtype, ScaleType, ScaledCodes};

use crate::checkpoint::tensor::Tensor;
use crate::convert::naming::Naming;
use crate::convert::weights_file::WeightType;
use crate::error::{Error, Result};

/// Options of an `.amb` file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmbOptions {
    pub weight_type: WeightType,
    /// Elements of a block; `None` takes the type's default.
    pub block: Option<u16>,
    /// Bits a weight of adaptive precision, scales and mask included.
    pub bits: Option<f64>,
}

/// Elements of a block unless another size is asked for.
const USUAL_BLOCK: u16 = 32;
/// Those of adaptive precision: bits that scales would take are worth more as wider codes where it
/// matters.
const ADAPTIVE_BLOCK: u16 = 64;

impl AmbOptions {
    /// Refuses options that the format does not have.
    pub fn check(&self) -> Result<()> {
        let in_eights = matches!(
            self.weight_type,
            WeightType::Adaptive | WeightType::Int4block | WeightType::Int5block
        );
        match self.block {
            Some(0) => Err(Error::argument("block", "must be 1 or more")),
            Some(block) if in_eights && !block.is_multiple_of(8) => {
                Err(Error::argument("block", format!("{block} is not a multiple of 8")))
            }
            _ => Ok(()),
        }
    }

    /// The options for a model of whose inputs nothing is known. Then wider codes and larger blocks
    /// are no gain: the perplexity of SmolLM2 at 5 bits rises from 92 to 98 with them.
    pub(super) fn uncalibrated(self) -> Self {
        Self { block: self.block.or(Some(USUAL_BLOCK)), ..self }
    }

    /// The type that `tensor` is stored as; with adaptive precision the smallest, which the budget
    /// may widen. Biases and norms are a thousandth of a model and stay as they are; positions and
    /// token types are added to every token's vector and keep 8 bits, a scale for each row.
    pub(super) fn dtype(&self, tensor: &Tensor<'_>, naming: Naming) -> Dtype {
        let row = u16::try_from(tensor.cols()).unwrap_or(USUAL_BLOCK);
        let scaled = |arrangement, bits, block: u16| {
            Dtype::Scaled(ScaledCodes { bits, block, scales: ScaleType::F16, arrangement })
        };
        let block = self.block.unwrap_or(USUAL_BLOCK);
        match self.weight_type {
            _ if tensor.shape.len() < 2 => Dtype::F32,
            WeightType::F32 => Dtype::F32,
            WeightType::F16 => Dtype::F16,
            WeightType::Bf16 => Dtype::BF16,
            _ if naming.stays_float(&tensor.name) => Dtype::F32,
            _ if naming.is_small(&tensor.name) => {
                scaled(Arrangement::Separate, CodeBits::Eight, row)
            }
            WeightType::Int8 => {
                scaled(Arrangement::Separate, CodeBits::Eight, self.block.unwrap_or(row))
            }
            WeightType::Int4 => scaled(Arrangement::Separate, CodeBits::Four, block),
            WeightType::Int5 => scaled(Arrangement::Separate, CodeBits::Five, block),
            WeightType::Int4block => scaled(Arrangement::Interleaved, CodeBits::Four, block),
            WeightType::Int5block => scaled(Arrangement::Interleaved, CodeBits::Five, block),
            WeightType::Adaptive => {
                let block = self.block.unwrap_or(ADAPTIVE_BLOCK);
                scaled(Arrangement::Adaptive, CodeBits::Four, block)
            }
        }
    }
}
