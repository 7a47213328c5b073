//! The modules after the transformer of an encoder in a GGUF file.

use super::GgufArchitecture;
use super::key::Key;
use super::keys::Keys;
use super::refusal::{GgufRefusal, Outcome};
use crate::describe::folder::{HeadModules, ModuleList, Origin, PoolingSettings};
use crate::limit::Limit;
use crate::model::{
    DenseActivation, DenseModule, DenseSettings, FamilyModel, HeadModule, PoolingMode,
};

/// The pooling modes by `pooling_type`.
const POOLING: [(u32, PoolingMode); 3] =
    [(1, PoolingMode::Mean), (2, PoolingMode::First), (3, PoolingMode::Last)];

/// Dense layers after the pooling, which have separate folders in other formats.
const DENSE: [GgufDense; 2] = [
    GgufDense {
        tensor: "dense_2.weight",
        folder: "2_Dense",
        name: "2_Dense/linear.weight",
        inputs: Key::Dense2Inputs,
        outputs: Key::Dense2Outputs,
    },
    GgufDense {
        tensor: "dense_3.weight",
        folder: "3_Dense",
        name: "3_Dense/linear.weight",
        inputs: Key::Dense3Inputs,
        outputs: Key::Dense3Outputs,
    },
];

/// The names of a dense layer, and the keys of its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufDense {
    /// Its tensor.
    pub tensor: &'static str,
    /// Its folder in sentence-transformers models, without `/` at its end.
    pub folder: &'static str,
    /// Its tensor there.
    pub name: &'static str,
    /// The key of the number of inputs.
    pub inputs: Key,
    /// The key of the number of outputs.
    pub outputs: Key,
}

impl GgufDense {
    /// The dense layers that a file may have, in order.
    #[must_use]
    pub const fn layers() -> &'static [Self; 2] {
        &DENSE
    }
}

/// The modules after `model`.
pub(super) fn modules<'a>(
    keys: &Keys<'a>,
    model: &FamilyModel,
) -> Outcome<'a, ModuleList<'static>> {
    let leaves_out_prompt = keys.truth(Key::OwnIncludePrompt)? == Some(false);
    // A head that compares texts has its own pooling.
    let pooling = model.classifier.map_or_else(|| pooling(keys), |head| Ok(head.pooling))?;
    Ok(ModuleList {
        origin: Origin::List,
        pooling: Some(PoolingSettings { modes: pooling.into(), leaves_out_prompt }),
        head: dense(keys)?,
        normalize: keys.truth(Key::OwnNormalize)?.unwrap_or(true),
        ..ModuleList::NONE
    })
}

/// The name in other formats of the module's tensor that GGUF files call `name`; other names stay.
#[must_use]
pub fn gguf_module_tensor(name: &str) -> &str {
    let dense = DENSE.iter().find(|dense| dense.tensor == name);
    dense.map_or(name, |dense| dense.name)
}

/// The name in GGUF files of the tensor that other formats call `name`.
pub(crate) fn gguf_tensor_name(name: &str) -> &str {
    let dense = DENSE.iter().find(|dense| dense.name == name);
    dense.map_or(name, |dense| dense.tensor)
}

/// The `pooling_type` of a pooling mode; `None` if GGUF has none.
#[must_use]
pub fn gguf_pooling_type(pooling: PoolingMode) -> Option<u32> {
    POOLING.iter().find(|(_, known)| *known == pooling).map(|(number, _)| *number)
}

fn pooling<'a>(keys: &Keys<'a>) -> Outcome<'a, PoolingMode> {
    // Without pooling there is a vector for each token; their mean is used as embedding.
    let Some(number) = keys.size(Key::PoolingType, Limit::SIZE)?.filter(|number| *number > 0)
    else {
        return Ok(PoolingMode::Mean);
    };
    let found = POOLING.iter().find(|(known, _)| u32::try_from(number) == Ok(*known));
    found.map(|(_, mode)| *mode).ok_or_else(|| {
        let only = "only the mean (1), the first (2) and the last token (3) are honoured";
        keys.refuse(Key::PoolingType, only)
    })
}

pub(super) fn max_tokens<'a>(keys: &Keys<'a>, positions: usize) -> Outcome<'a, usize> {
    match keys.size(Key::OwnMaxTokens, Limit::SIZE)? {
        None => keys.needed(Key::ContextLength, Limit::SIZE),
        Some(tokens) if (1..=positions).contains(&tokens) => Ok(tokens),
        Some(_) => Err(keys.refuse(Key::OwnMaxTokens, "the model has not as many positions")),
    }
}

/// The dense layers in the file, which follow the pooling of EmbeddingGemma.
fn dense<'a>(keys: &Keys<'a>) -> Outcome<'a, HeadModules<'static>> {
    let mut layers = heapless::Vec::new();
    for GgufDense { tensor, folder, inputs, outputs, .. } in DENSE {
        let said = [keys.size(inputs, Limit::SIZE)?, keys.size(outputs, Limit::SIZE)?];
        let found = keys.file.tensor(tensor);
        let Some(header) = found.as_ref().map(|tensor| *tensor.header()) else {
            match said {
                [None | Some(0), None | Some(0)] => continue,
                _ => return Err(GgufRefusal::missing(tensor)),
            }
        };
        let refuse = |reason| Err(GgufRefusal::at(header.name, header.offset, reason));
        if keys.architecture != GgufArchitecture::GemmaEmbedding.name() {
            return refuse("dense layers are known after `gemma-embedding` alone");
        }
        let size = |size: Option<u64>| Limit::SIZE.check(size.unwrap_or(0)).unwrap_or(0);
        let sizes = [size(header.shape.cols()), size(Some(header.shape.rows()))];
        if said.iter().zip(sizes).any(|(said, size)| said.is_some_and(|said| said != size)) {
            return refuse("it has other sizes than the file says");
        }
        let [inputs, outputs] = sizes;
        let settings = DenseSettings {
            inputs,
            outputs,
            bias: false,
            activation: DenseActivation::Identity,
            gives_scores: false,
        };
        // There are no more than in the table.
        let _ = layers.push(HeadModule::Dense(DenseModule { folder, settings }));
    }
    Ok(layers)
}
