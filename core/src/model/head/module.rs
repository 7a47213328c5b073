//! The modules after the pooling, as the files of a model describe them.

use core::convert::Infallible;

use super::dense::DenseActivation;

/// A module after the pooling. Its folder, if it has tensors, is a `S`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeadModule<S> {
    /// A linear layer.
    Dense(DenseModule<S>),
    /// A layer norm.
    LayerNorm(LayerNormModule<S>),
    /// Scales vectors to length 1.
    Normalize,
    /// Keeps so many of the first elements of a vector, or all if there are no more.
    First(usize),
}

/// A linear layer, whose weights are `linear.weight` and `linear.bias` in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenseModule<S> {
    /// The folder, without `/` at its end.
    pub folder: S,
    /// The settings.
    pub settings: DenseSettings,
}

/// The settings of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenseSettings {
    /// Elements of its input.
    pub inputs: usize,
    /// Elements of its output.
    pub outputs: usize,
    /// True if it has a bias.
    pub bias: bool,
    /// The function applied to its output.
    pub activation: DenseActivation,
    /// True if its output is the scores of classes, which ends the model.
    pub gives_scores: bool,
}

/// A layer norm, whose weights are `norm.weight` and `norm.bias` in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerNormModule<S> {
    /// The folder, without `/` at its end.
    pub folder: S,
    /// Elements of a vector.
    pub elements: usize,
}

impl<S> HeadModule<S> {
    /// Elements of the vector that it makes of one of `width` elements; `None` if it takes vectors
    /// of another width.
    #[must_use]
    pub fn outputs(&self, width: usize) -> Option<usize> {
        let (inputs, outputs) = match self {
            Self::Dense(DenseModule { settings, .. }) => (settings.inputs, settings.outputs),
            Self::LayerNorm(LayerNormModule { elements, .. }) => (*elements, *elements),
            Self::Normalize => (width, width),
            Self::First(kept) => (width, width.min(*kept)),
        };
        (inputs == width).then_some(outputs)
    }

    /// The folder of its weights; `None` for a module without weights.
    pub const fn folder(&self) -> Option<&S> {
        match self {
            Self::Dense(DenseModule { folder, .. })
            | Self::LayerNorm(LayerNormModule { folder, .. }) => Some(folder),
            Self::Normalize | Self::First(_) => None,
        }
    }

    /// The same module with its folder given by `convert`, unless that fails.
    ///
    /// # Errors
    ///
    /// Any error of `convert`.
    pub fn try_map_folder<'s, T, E>(
        &'s self,
        convert: impl FnOnce(&'s S) -> Result<T, E>,
    ) -> Result<HeadModule<T>, E> {
        let folder = self.folder().map(convert).transpose()?;
        Ok(match (self, folder) {
            (Self::Dense(DenseModule { settings, .. }), Some(folder)) => {
                HeadModule::Dense(DenseModule { folder, settings: *settings })
            }
            (Self::LayerNorm(LayerNormModule { elements, .. }), Some(folder)) => {
                HeadModule::LayerNorm(LayerNormModule { folder, elements: *elements })
            }
            (Self::First(kept), _) => HeadModule::First(*kept),
            _ => HeadModule::Normalize,
        })
    }

    /// The same module with its folder given by `convert`.
    pub fn map_folder<'s, T>(&'s self, convert: impl FnOnce(&'s S) -> T) -> HeadModule<T> {
        let Ok(module) = self.try_map_folder(|folder| Ok::<_, Infallible>(convert(folder)));
        module
    }
}
