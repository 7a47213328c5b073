//! Names of a model's tensors, and the purposes that these tell.

use nanoembed_core::model::{BERT_NAMES, LayerInput, Names, Observation, TensorName};
use nanoembed_core::{Error as CoreError, limit};

/// The names that a static model's table has.
const TABLES: [&str; 4] =
    ["embeddings", "embedding.weight", "embeddings.word_embeddings.weight", "emb_layer.weight"];

/// The name of a tensor in a family; `None` if the family has none.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(in crate::convert) fn spelled(
    names: &Names,
    tensor: &TensorName<'_>,
) -> Result<Option<String>, CoreError> {
    let (mut name, mut written) = (String::new(), Ok(()));
    let spelled = names.spell(tensor, &mut |part| {
        if written.is_ok() {
            written = limit::write(&mut name, part);
        }
    });
    written?;
    Ok(spelled.map(|()| name))
}

/// A place in the model where activations meet weights: the layer, and which of its inputs.
pub type Place = (usize, LayerInput);

/// The naming scheme of a model's tensors.
#[derive(Clone, Copy, Debug, Default)]
pub enum Naming {
    /// As files of BERT do; decoders, too, as none of their names means anything else.
    #[default]
    Bert,
    /// As a family does, with heads of any kind beside it.
    Family(&'static Names),
    /// A table of vectors.
    Table,
}

impl Naming {
    /// The inputs that the weights called `name` are multiplied with.
    pub fn place(self, name: &str) -> Option<Place> {
        match self {
            Self::Bert => BERT_NAMES.place(name),
            Self::Family(names) => names.place(name),
            Self::Table => None,
        }
    }

    /// The place of an observed input: all layers that share their weights are the first.
    pub(crate) fn observed(self, seen: &Observation<'_>) -> Place {
        match self {
            Self::Family(names) if names.shares_layers() => (0, seen.input),
            _ => (seen.layer, seen.input),
        }
    }

    /// True if the matrix called `name` is looked up and not multiplied.
    pub(crate) fn is_looked_up(self, name: &str) -> bool {
        match self {
            Self::Bert => name.starts_with("embeddings."),
            Self::Family(names) => names.is_embeddings(name),
            Self::Table => TABLES.contains(&name),
        }
    }

    /// True if the matrix called `name` is one of the small tables that are added to every token's
    /// vector.
    pub(crate) fn is_small(self, name: &str) -> bool {
        name.contains("position_embeddings") || name.contains("token_type_embeddings")
    }

    /// True if the matrix called `name` stays unquantised: heads are small, and read as floats.
    pub(crate) fn stays_float(self, name: &str) -> bool {
        match self {
            Self::Bert => false,
            _ => self.place(name).is_none() && !self.is_looked_up(name) && !self.is_small(name),
        }
    }
}
