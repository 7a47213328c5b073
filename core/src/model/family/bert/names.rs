//! The tensors of a BERT model: their names and shapes, and checks of both.

use crate::error::{Error, ErrorKind, Result};
use crate::model::config::Config;
use crate::model::family::tensors::{Names, Tensor};
use crate::model::weights::{Matrix, MatrixEncoding, Name, Weights};

/// The names of the tensors that BERT and Jina's models of version 2 have, and those of one of them.
macro_rules! bert_names {
    ($($further:expr),* $(,)?) => {
        Names {
            layers: "encoder.layer.",
            tensors: &[
                (Tensor::Embeddings, "embeddings.word_embeddings"),
                (Tensor::TokenTypes, "embeddings.token_type_embeddings"),
                (Tensor::EmbeddingNorm, "embeddings.LayerNorm"),
                (Tensor::Query, ".attention.self.query"),
                (Tensor::Key, ".attention.self.key"),
                (Tensor::Value, ".attention.self.value"),
                (Tensor::AttentionOutput, ".attention.output.dense"),
                (Tensor::AttentionNorm, ".attention.output.LayerNorm"),
                $($further,)*
            ],
        }
    };
}
pub(in crate::model::family) use bert_names;

/// The names of BERT's tensors, which some other families share.
pub const NAMES: Names = bert_names!(
    (Tensor::Positions, "embeddings.position_embeddings"),
    (Tensor::Up, ".intermediate.dense"),
    (Tensor::Down, ".output.dense"),
    (Tensor::FeedForwardNorm, ".output.LayerNorm"),
);

/// A fault of one tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding<'a> {
    /// The tensor's name.
    pub name: &'a str,
    /// The error, at the tensor's offset.
    pub error: Error,
}

/// Reports everything that keeps `weights` from being a BERT model of the sizes in `config`;
/// returns the number of findings.
///
/// Further tensors (a pooler, a sorted vocabulary) are ignored.
pub fn check(
    weights: &(impl Weights + ?Sized),
    config: &Config,
    report: &mut dyn FnMut(Finding<'_>),
) -> usize {
    let mut findings = 0;
    let mut visit = |name: &str, result: Result<Matrix>| {
        if let Err(error) = result {
            findings += 1;
            report(Finding { name, error });
        }
    };
    for tensor in EmbeddingTensor::ALL {
        let name = tensor.name();
        visit(name, locate(weights, config, name, tensor.shape()));
    }
    for layer in 0..config.layers {
        for tensor in LayerTensor::ALL {
            let name = tensor.name(layer);
            visit(name.as_str(), locate(weights, config, name.as_str(), tensor.shape()));
        }
    }
    findings
}

/// A dimension, as one of the model's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Size {
    One,
    Hidden,
    Intermediate,
    Vocabulary,
    Positions,
    /// At least one row: the token type table, of which only the first row is used.
    AtLeastOne,
}

impl Size {
    fn fits(self, actual: usize, config: &Config) -> bool {
        match self {
            Self::One => actual == 1,
            Self::Hidden => actual == config.hidden,
            Self::Intermediate => actual == config.intermediate,
            Self::Vocabulary => actual == config.vocabulary,
            Self::Positions => actual == config.positions,
            Self::AtLeastOne => actual >= 1,
        }
    }
}

macro_rules! tensors {
    ($(#[$doc:meta])* $type:ident { $($variant:ident $name:literal ($rows:ident, $cols:ident),)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::model) enum $type { $($variant),+ }

        impl $type {
            pub(in crate::model) const ALL: &'static [Self] = &[$(Self::$variant),+];

            const fn suffix(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The numbers of rows and columns.
            pub(in crate::model) const fn shape(self) -> (Size, Size) {
                match self { $(Self::$variant => (Size::$rows, Size::$cols)),+ }
            }
        }
    };
}

tensors! {
    /// The tensors outside layers.
    EmbeddingTensor {
        Word "embeddings.word_embeddings.weight" (Vocabulary, Hidden),
        Position "embeddings.position_embeddings.weight" (Positions, Hidden),
        TokenType "embeddings.token_type_embeddings.weight" (AtLeastOne, Hidden),
        NormWeight "embeddings.LayerNorm.weight" (One, Hidden),
        NormBias "embeddings.LayerNorm.bias" (One, Hidden),
    }
}

tensors! {
    /// The tensors of each layer, in the order of the EMBD specification.
    LayerTensor {
        QueryWeight "attention.self.query.weight" (Hidden, Hidden),
        QueryBias "attention.self.query.bias" (One, Hidden),
        KeyWeight "attention.self.key.weight" (Hidden, Hidden),
        KeyBias "attention.self.key.bias" (One, Hidden),
        ValueWeight "attention.self.value.weight" (Hidden, Hidden),
        ValueBias "attention.self.value.bias" (One, Hidden),
        AttentionOutputWeight "attention.output.dense.weight" (Hidden, Hidden),
        AttentionOutputBias "attention.output.dense.bias" (One, Hidden),
        AttentionNormWeight "attention.output.LayerNorm.weight" (One, Hidden),
        AttentionNormBias "attention.output.LayerNorm.bias" (One, Hidden),
        IntermediateWeight "intermediate.dense.weight" (Intermediate, Hidden),
        IntermediateBias "intermediate.dense.bias" (One, Intermediate),
        OutputWeight "output.dense.weight" (Hidden, Intermediate),
        OutputBias "output.dense.bias" (One, Hidden),
        OutputNormWeight "output.LayerNorm.weight" (One, Hidden),
        OutputNormBias "output.LayerNorm.bias" (One, Hidden),
    }
}

impl EmbeddingTensor {
    pub(in crate::model) const fn name(self) -> &'static str {
        self.suffix()
    }
}

impl LayerTensor {
    pub(in crate::model) fn name(self, layer: usize) -> Name {
        let mut name = Name::new("encoder.layer.");
        name.push_number(layer);
        name.push(".");
        name.push(self.suffix());
        name
    }
}

/// The tensor `name`, if it has the expected shape and a supported encoding.
pub(in crate::model) fn locate(
    weights: &(impl Weights + ?Sized),
    config: &Config,
    name: &str,
    (rows, cols): (Size, Size),
) -> Result<Matrix> {
    let matrix = weights.matrix(name)?;
    let matrix = matrix.ok_or(Error::without_offset(ErrorKind::MissingTensor))?;
    let error = |kind| Err(Error::new(matrix.offset, kind));
    if !rows.fits(matrix.rows, config) || !cols.fits(matrix.cols, config) {
        let linear = rows != Size::One && rows != Size::Vocabulary && rows != Size::Positions;
        let transposed = rows.fits(matrix.cols, config) && cols.fits(matrix.rows, config);
        let swapped = linear && rows != Size::AtLeastOne && transposed;
        return error(if swapped { ErrorKind::TransposedWeights } else { ErrorKind::WrongShape });
    }
    let float =
        matches!(matrix.encoding, MatrixEncoding::F32 | MatrixEncoding::F16 | MatrixEncoding::BF16);
    if rows == Size::One && !float {
        return error(ErrorKind::UnsupportedDtype);
    }
    Ok(matrix)
}
