//! The tensors of an encoder under GGUF's names, and the values that GGUF has otherwise.
//!
//! | tensor | in GGUF |
//! |---|---|
//! | table of positions | without the rows before that of the first token |
//! | gate and up in one matrix, the gate last | apart |
//! | Gemma's norms | 1 is added already |
//! | Gemma's norm of queries | times what scores have beside 1 / √size, which llama.cpp has no key for |
//! | rows of tokens that stand for images, sounds and videos | that of padding, as llama.cpp looks them up |
//! | experts | three dimensions, and none of them transposed |
//! | vectors, tables of positions and types, routers of experts | f32, as llama.cpp computes with them as they are |

use std::collections::HashMap;

use nanoembed_core::describe::gguf::{GgufArchitecture, GgufDense};
use nanoembed_core::model::{
    Config, FamilyModel, Names, NormKind, Placeholders, Tensor, gguf_names,
};
use nanoembed_core::tensor::{Dtype, Shape, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::Family;
use super::halves::divided;
use crate::convert::experts;
use crate::convert::quantizer::encode::Encoded;
use crate::convert::quantizer::{QuantType, encode};
use crate::convert::targets::Item;
use crate::error::{Error, Result};
use crate::files::spool::Spool;
use crate::hashed;
use crate::layer_names::tensorflow::present_name;
use crate::layer_names::token_table;

/// Tensors on their way into a file.
pub(in crate::convert::writing) struct Prepared<'a> {
    pub(in crate::convert::writing) items: Vec<Item<'a>>,
    /// The values of those that have others, or other types, than the source.
    pub(in crate::convert::writing) encoded: Vec<Option<Encoded>>,
    /// The tensors that are not written.
    pub(in crate::convert::writing) left_out: Vec<String>,
    /// Dense layers by name.
    pub(in crate::convert::writing) dense: Vec<(String, Encoded)>,
    /// Rows of the table of tokens.
    pub(super) rows: usize,
    /// Rows of the table of token types, if there is one.
    pub(super) types: usize,
}

/// A tensor of the model, and what GGUF calls it.
struct Named {
    tensor: Tensor,
    name: String,
    is_bias: bool,
}

impl Family {
    /// The items of the model's file under GGUF's names.
    pub(in crate::convert::writing) fn prepared<'a>(
        &self,
        items: Vec<Item<'a>>,
        source: &str,
        spool: &mut Spool,
    ) -> Result<Prepared<'a>> {
        let refuse = |kind, message: String| Error::input(kind, message).at(source);
        let failed = |error| Error::in_file(source, error);
        let missing =
            |name: &str| refuse(ErrorKind::MissingTensor, format!("there is no tensor `{name}`"));
        let items = divided(self.model.names, items, source)?;
        let (words, prefix) = words(&self.model, &items).map_err(|name| missing(&name))?;
        let prefix = limit::copied(prefix).map_err(failed)?;
        let mut names = names(&self.model, words).map_err(failed)?;
        let mut prepared = Prepared {
            items: Vec::new(),
            encoded: Vec::new(),
            left_out: Vec::new(),
            dense: Vec::new(),
            rows: 0,
            types: 0,
        };
        for mut item in items {
            let own = item.name.strip_prefix(&prefix).unwrap_or(&item.name);
            let own = present_name(own).map_err(failed)?;
            self.check_experts_bias(&own, &item, source)?;
            let Some(named) = names.remove(&own) else {
                limit::push(&mut prepared.left_out, item.name).map_err(failed)?;
                continue;
            };
            if named.is_bias && !self.architecture.biases().has(named.tensor) {
                let message = format!(
                    "the model has the bias `{}`, and llama.cpp computes none there in models of the architecture `{}`",
                    item.name,
                    self.architecture.name()
                );
                return Err(refuse(ErrorKind::UnsupportedSetting, message));
            }
            let rows = usize::try_from(item.weight.shape().rows()).unwrap_or(usize::MAX);
            match named.tensor {
                Tensor::Embeddings => prepared.rows = rows,
                Tensor::TokenTypes => prepared.types = rows,
                _ => {}
            }
            let values = self.changed(&named, &item)?;
            let to = match (named.tensor, item.dtype()) {
                (Tensor::Embeddings | Tensor::ExpertsDownTransposed, Some(Dtype::BF16)) => {
                    QuantType::BF16
                }
                (Tensor::Embeddings | Tensor::ExpertsDownTransposed, Some(Dtype::F16)) => {
                    QuantType::F16
                }
                _ => QuantType::F32,
            };
            let encoded = match values {
                Some((values, shape)) => Some(encode(&values, shape, to, spool)?.0),
                None => None,
            };
            limit::push(&mut prepared.encoded, encoded).map_err(failed)?;
            if matches!(named.tensor, Tensor::ExpertsUp | Tensor::ExpertsDown) {
                item.weight = self.cube(&item)?;
            }
            item.name = named.name;
            limit::push(&mut prepared.items, item).map_err(failed)?;
        }
        let (rows, vocabulary) = (prepared.rows, self.model.config.vocabulary);
        if rows != vocabulary {
            let message =
                format!("the table of tokens has {rows} rows, and config.json says {vocabulary}");
            return Err(refuse(ErrorKind::WrongShape, message));
        }
        for (dense, layer) in GgufDense::layers().iter().zip(&self.recipe.dense) {
            let dims = [layer.outputs as u64, layer.inputs as u64];
            let shape = Shape::new(&dims).ok_or_else(|| missing(dense.tensor))?;
            let (encoded, _) = encode(&layer.weight, shape, QuantType::F32, spool)?;
            let layer = (dense.tensor.to_owned(), encoded);
            limit::push(&mut prepared.dense, layer).map_err(failed)?;
        }
        Ok(prepared)
    }

    /// The values of a tensor that is not written as it is.
    fn changed(&self, named: &Named, item: &Item<'_>) -> Result<Option<(Vec<f32>, Shape)>> {
        let shape = *item.weight.shape();
        let is_vector = shape.dims().len() == 1;
        let is_float_there =
            matches!(named.tensor, Tensor::Positions | Tensor::TokenTypes | Tensor::Router);
        let skipped = match named.tensor {
            Tensor::Positions => self.model.config.embedding.positions.unwrap_or(0),
            _ => 0,
        };
        if named.tensor == Tensor::ExpertsDownTransposed {
            return self.transposed(item).map(Some);
        }
        if named.tensor == Tensor::Embeddings
            && let Some(values) = self.without_placeholders(item)?
        {
            return Ok(Some((values, shape)));
        }
        let (added, factor) = self.norm_change(named.tensor);
        let is_changed = skipped > 0 || added != 0.0 || factor != 1.0;
        let is_plain = item.dtype() == Some(Dtype::F32);
        let wants_float = is_vector || is_float_there || item.dtype() == Some(Dtype::F64);
        if !is_changed && (is_plain || !wants_float) {
            return Ok(None);
        }
        let mut values = item.floats()?;
        for value in &mut values {
            *value = (*value + added) * factor;
        }
        if named.tensor != Tensor::Positions {
            return Ok(Some((values, shape)));
        }
        let config = &self.model.config;
        let cut = values.get(skipped * config.hidden..).unwrap_or_default();
        let cut = cut.get(..config.positions * config.hidden);
        let short = || {
            let message = format!("`{}` has not as many rows as config.json says", item.name);
            Error::input(ErrorKind::WrongShape, message)
        };
        let shape = Shape::new(&[config.positions as u64, config.hidden as u64]);
        let (cut, shape) = cut.zip(shape).ok_or_else(short)?;
        let cut = limit::exactly(cut.iter().copied());
        Ok(Some((cut.map_err(|error| Error::in_file(&item.name, error))?, shape)))
    }

    /// The second layers of experts, each transposed.
    fn transposed(&self, item: &Item<'_>) -> Result<(Vec<f32>, Shape)> {
        let failed = |error| Error::in_file(&item.name, error);
        let (count, hidden) = (experts::count(&self.model.config), self.model.config.hidden);
        let turned = experts::transposed(&item.floats()?, count, hidden);
        let (values, inner) = turned.map_err(failed)?;
        let shape = Shape::new(&[count as u64, hidden as u64, inner as u64]);
        let wrong = || failed(CoreError::without_offset(ErrorKind::WrongShape));
        Ok((values, shape.ok_or_else(wrong)?))
    }

    /// The matrices of all experts in three dimensions.
    fn cube<'a>(&self, item: &Item<'a>) -> Result<Weight<'a>> {
        let count = experts::count(&self.model.config) as u64;
        let shape = match *item.weight.shape().dims() {
            [rows, cols] => rows
                .checked_div(count)
                .filter(|each| each * count == rows)
                .and_then(|each| Shape::new(&[count, each, cols])),
            _ => Some(*item.weight.shape()),
        };
        let wrong = |kind| Error::in_file(&item.name, CoreError::without_offset(kind));
        let shape = shape.ok_or_else(|| wrong(ErrorKind::WrongShape))?;
        Weight::new(shape, *item.weight.encoding()).map_err(wrong)
    }

    /// Rejects a bias of the experts' sum, which llama.cpp does not add, unless it is zero.
    fn check_experts_bias(&self, own: &str, item: &Item<'_>, source: &str) -> Result<()> {
        let parts = self.model.names.parts(own);
        if parts.is_none_or(|parts| parts.tensor != Tensor::ExpertsBias)
            || item.floats()?.iter().all(|value| *value == 0.0)
        {
            return Ok(());
        }
        let message = format!(
            "the model has the bias `{}`, and llama.cpp adds none to experts in models of the architecture `{}`",
            item.name,
            self.architecture.name()
        );
        Err(Error::input(ErrorKind::UnsupportedSetting, message).at(source))
    }

    /// The table of tokens with the row of padding for tokens that stand for other kinds of input;
    /// `None` if there are no such tokens.
    fn without_placeholders(&self, item: &Item<'_>) -> Result<Option<Vec<f32>>> {
        let Config { hidden, vocabulary, embedding, .. } = self.model.config;
        let Placeholders { ids, padding, .. } = embedding.placeholders;
        let place = |id: u32| usize::try_from(id).ok().filter(|id| *id < vocabulary);
        let mut ids = ids.into_iter().filter_map(place).peekable();
        let Some(padding) = place(padding).filter(|_| ids.peek().is_some()) else {
            return Ok(None);
        };
        let mut values = item.floats()?;
        for id in ids {
            let row = padding * hidden..(padding + 1) * hidden;
            if row.end <= values.len() && (id + 1) * hidden <= values.len() {
                values.copy_within(row, id * hidden);
            }
        }
        Ok(Some(values))
    }

    /// The constant added to the weights of a norm, and the factor that they are multiplied with
    /// then.
    fn norm_change(&self, tensor: Tensor) -> (f32, f32) {
        let config = &self.model.config;
        let added = match config.norm {
            NormKind::Rms { one_plus: true } if tensor.is_norm() => 1.0,
            _ => 0.0,
        };
        #[expect(clippy::cast_precision_loss, reason = "heads are small")]
        let size = config.heads.size as f32;
        let factor = match (tensor, config.attention.scale) {
            // llama.cpp does not scale the scores of this architecture.
            (Tensor::QueryNorm, Some(scale))
                if self.architecture == GgufArchitecture::GemmaEmbedding2 =>
            {
                scale
            }
            (Tensor::QueryNorm, Some(scale)) => scale * size.sqrt(),
            _ => 1.0,
        };
        // What is as usual was computed in another way.
        let factor = if (factor - 1.0).abs() < 1e-6 { 1.0 } else { factor };
        (added, factor)
    }
}

/// The name of the table of tokens among `items`, without `.weight`, and the prefix of all names; or
/// the name of the missing tensor.
fn words<'i>(
    model: &FamilyModel,
    items: &'i [Item<'_>],
) -> std::result::Result<(&'static str, &'i str), String> {
    let found = token_table(model.names, || items.iter().map(|item| &*item.name));
    let usual = || model.names.name_of(Tensor::Embeddings).unwrap_or_default();
    found.ok_or_else(|| format!("{}.weight", usual()))
}

/// All tensors that the model may have, by the family's names; `words` is that of the table of
/// tokens.
fn names(model: &FamilyModel, words: &str) -> Result<HashMap<String, Named>, CoreError> {
    let mut names: HashMap<String, Named> = HashMap::new();
    let in_gguf = gguf_names::encoder(&model.config);
    for (tensor, own) in model.names.tensors {
        let Some(name) = gguf_name(*tensor, in_gguf) else { continue };
        let layers = match tensor {
            Tensor::Embeddings if *own != words => 0,
            // All layers use the first one's.
            Tensor::RelativeBias => 1,
            _ if own.starts_with('.') => model.config.layers,
            _ => 1,
        };
        // A factor is a parameter without a module in checkpoints.
        let kinds: &[_] = match tensor {
            Tensor::LayerScale => &[("", ".weight", false)],
            // So are experts, which have a module in files that were converted.
            Tensor::ExpertsUp | Tensor::ExpertsDown | Tensor::ExpertsDownTransposed => {
                &[("", ".weight", false), (".weight", ".weight", false)]
            }
            _ => &[(".weight", ".weight", false), (".bias", ".bias", true)],
        };
        for &(own_kind, kind, is_bias) in kinds {
            for layer in 0..layers {
                let (before, after) = match own.starts_with('.') {
                    true => (
                        format!("{}{layer}", model.names.layers),
                        format!("{}{layer}", in_gguf.layers),
                    ),
                    false => Default::default(),
                };
                let name = limit::joined(&[&after, name, kind])?;
                let own = limit::joined(&[&before, own, own_kind])?;
                hashed::insert(&mut names, own, Named { tensor: *tensor, name, is_bias })?;
            }
        }
    }
    Ok(names)
}

/// The name of a tensor in GGUF; one that begins with a point follows the number of its layer.
fn gguf_name(tensor: Tensor, names: &Names) -> Option<&'static str> {
    names.name_of(match tensor {
        // Of gate and up in one, the gate is the first.
        Tensor::GateUp => Tensor::Up,
        Tensor::ExpertsDownTransposed => Tensor::ExpertsDown,
        tensor => tensor,
    })
}
