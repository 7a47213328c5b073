//! The kinds of vectors that models make.

use nanoembed_core::owned::folder::{MULTI_LAYER, SPARSE_LAYER};

use super::Encoder;
use crate::choice::{Choice as _, choices};
use crate::error::{Error, Result};

choices! {
    /// A kind of vectors that a model makes of texts.
    #[non_exhaustive]
    pub enum VectorKind {
        /// One vector for a text
        Dense = "dense",
        /// Weights for some tokens of the vocabulary
        Sparse = "sparse",
        /// A vector for each token, for late interaction
        Multi = "multi",
    }
}

impl VectorKind {
    /// The layer beside a model's modules that makes such vectors in some models.
    const fn layer(self) -> Option<&'static str> {
        match self {
            Self::Dense => None,
            Self::Sparse => Some(SPARSE_LAYER),
            Self::Multi => Some(MULTI_LAYER),
        }
    }
}

impl Encoder {
    /// Returns true if the model makes vectors of this kind.
    #[must_use]
    pub fn makes(&self, kind: VectorKind) -> bool {
        self.0.backend.makes(kind)
    }

    /// The kind of vectors that the model is made for.
    #[must_use]
    pub fn vector_kind(&self) -> VectorKind {
        let made = VectorKind::ALL.iter().copied().find(|kind| self.makes(*kind));
        made.unwrap_or(VectorKind::Dense)
    }

    /// Rejects a model that does not make vectors of this kind, and options that are for others.
    pub(super) fn check_kind(&self, kind: VectorKind) -> Result<()> {
        if !self.makes(kind) {
            return Err(self.no_vectors(kind));
        }
        if kind == VectorKind::Dense {
            return Ok(());
        }
        let message = format!("is for dense vectors, not for {} ones", kind.name());
        if self.0.dimensions != self.0.backend.dimensions() {
            return Err(Error::argument("truncate_dim", message));
        }
        match self.0.normalize {
            true => Err(Error::argument("normalize", message)),
            false => Ok(()),
        }
    }

    /// The error for vectors of a kind that the model does not make.
    fn no_vectors(&self, kind: VectorKind) -> Error {
        let name = kind.name();
        let failure = Error::input(
            nanoembed_core::ErrorKind::OtherModel,
            format!("the model makes no {name} vectors"),
        );
        let failure = failure.at(self.model_name());
        let pickled = kind.layer().and_then(|layer| Some((layer, self.0.source.pickled(layer)?)));
        if let Some((layer, file)) = pickled {
            return failure.with_hint(format!(
                "the layer that would make them is in `{file}`, a pickle, which is not read; save it again: \
                 `safetensors.torch.save_file(torch.load(\"{file}\"), \"{layer}.safetensors\")`"
            ));
        }
        let made: Vec<&str> = VectorKind::ALL
            .iter()
            .filter(|kind| self.makes(**kind))
            .map(|kind| kind.name())
            .collect();
        failure.with_hint(format!("it makes {} vectors", made.join(" and ")))
    }
}
