//! Encoders of all families in GGUF files, as llama.cpp's converter writes them.
//!
//! | file | role |
//! |---|---|
//! | `keys` | the metadata, and which of its keys were asked for |
//! | `architecture` | what the transformer is |
//! | `names` | what its tensors are called |
//! | `tokenizer` | the tokenizer |

mod architecture;
mod keys;
mod names;
mod tokenizer;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use self::keys::GgufFault;
use self::keys::{Keys, Outcome};
use super::Pipeline;
use super::folder::{DenseModule, Described, EncoderSettings, FolderModel, Modules, PoolingModule};
use crate::describe::gguf::{GgufRefusal, gguf_architecture, gguf_is_encoder};
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::limit::Limit;
use crate::model::{DenseActivation, Way};

/// An encoder in a GGUF file: all but its weights.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GgufEncoder {
    /// What the file says of the model, as if a folder did.
    pub model: FolderModel,
    /// Its tokenizer.
    pub tokenizer: Pipeline,
}

/// Dense layers behind the pooling, which stand in folders of their own elsewhere.
const DENSE: [Dense; 2] = [
    Dense {
        tensor: "dense_2.weight",
        folder: "2_Dense/",
        name: "2_Dense/linear.weight",
        inputs: "dense_2_feat_in",
        outputs: "dense_2_feat_out",
    },
    Dense {
        tensor: "dense_3.weight",
        folder: "3_Dense/",
        name: "3_Dense/linear.weight",
        inputs: "dense_3_feat_in",
        outputs: "dense_3_feat_out",
    },
];

/// What a dense layer is called.
struct Dense {
    tensor: &'static str,
    folder: &'static str,
    /// The name of the tensor behind its folder.
    name: &'static str,
    /// The keys of its sizes.
    inputs: &'static str,
    outputs: &'static str,
}

impl GgufEncoder {
    /// Whether a file has an encoder that is read here: not those that
    /// [`Embedder`](super::Embedder) reads, BERT with WordPiece.
    #[must_use]
    pub fn is_in(file: &Gguf<'_>) -> bool {
        gguf_is_encoder(file) && !is_plain_bert(file)
    }

    /// Reads the settings and the tokenizer.
    ///
    /// # Errors
    ///
    /// The key or tensor that is at fault; [`ErrorKind::SplitFile`] for one of several files that
    /// hold a model; [`ErrorKind::UnsupportedArchitecture`]; [`ErrorKind::MissingVocabulary`];
    /// [`ErrorKind::BadVocabulary`].
    pub fn read<'a>(file: &Gguf<'a>) -> Result<Self, GgufFault<'a>> {
        if file.split().is_some() {
            return Err(Error::without_offset(ErrorKind::SplitFile).into());
        }
        let unsupported = Error::without_offset(ErrorKind::UnsupportedArchitecture);
        let architecture = gguf_architecture(file).ok_or(unsupported)?;
        let keys = Keys::read(*file, architecture);
        let family = architecture::read(&keys).ok_or(unsupported)??;
        let modules = modules(&keys)?;
        let max_tokens = max_tokens(&keys, family.config.positions)?;
        names::check(file, family.names, &family.config)?;
        let tokenizer = tokenizer::read(&keys)?;
        keys.finish()?;
        if tokenizer.count() as usize > family.config.vocabulary {
            return Err(Error::without_offset(ErrorKind::BadVocabulary).into());
        }
        let model = FolderModel {
            modules: Some(modules),
            described: Described::Transformer(Box::new(family)),
            settings: EncoderSettings::default(),
            tokenizer_limit: Some(max_tokens as u64),
        };
        Ok(Self { model, tokenizer })
    }

    /// What the model calls the tensor that the file calls `name`.
    #[must_use]
    pub fn tensor_name(name: &str) -> &str {
        let dense = DENSE.iter().find(|dense| dense.tensor == name);
        dense.map_or(name, |dense| dense.name)
    }
}

/// Whether a file has a BERT whose tokenizer is WordPiece, with the tensors that BERT has: DistilBERT
/// has no token types, and queries, keys and values may lie in one.
fn is_plain_bert(file: &Gguf<'_>) -> bool {
    let is = |key, text| file.value(key) == Some(Value::Text(text));
    let is_bert = is("general.architecture", "bert");
    let own = file.value("nanoembed.tokenizer").is_some();
    let tokenizer = file.value("tokenizer.ggml.model");
    let has = |name| file.tensor(name).is_some();
    let is_distilled = has("position_embd.weight") && !has("token_types.weight");
    let is_other = own || is_distilled || has("blk.0.attn_qkv.weight");
    is_bert && !is_other && !matches!(tokenizer, Some(Value::Text("t5" | "gpt2" | "llama")))
}

/// What stands behind the transformer.
fn modules<'a>(keys: &Keys<'a>) -> Outcome<'a, Modules> {
    let leaves_out_prompt = keys.truth("nanoembed.include_prompt")? == Some(false);
    let ways = Vec::from([pooling(keys)?]);
    Ok(Modules {
        pooling: Some(PoolingModule { ways, leaves_out_prompt }),
        dense: dense(keys)?,
        normalize: keys.truth("nanoembed.normalize")?.unwrap_or(true),
        ..Modules::default()
    })
}

fn pooling<'a>(keys: &Keys<'a>) -> Outcome<'a, Way> {
    const KEY: &str = "pooling_type";
    match keys.size(KEY, Limit::SIZE)? {
        // Without pooling there is a vector for each token, of which the mean is an embedding.
        None | Some(0 | 1) => Ok(Way::Mean),
        Some(2) => Ok(Way::First),
        Some(3) => Ok(Way::Last),
        Some(_) => {
            let only = "only the mean (1), the first (2) and the last token (3) are honoured";
            Err(keys.refuse(KEY, only))
        }
    }
}

fn max_tokens<'a>(keys: &Keys<'a>, positions: usize) -> Outcome<'a, usize> {
    const KEY: &str = "nanoembed.max_tokens";
    match keys.size(KEY, Limit::SIZE)? {
        None => Ok(positions),
        Some(tokens) if (1..=positions).contains(&tokens) => Ok(tokens),
        Some(_) => Err(keys.refuse(KEY, "the model has not as many positions")),
    }
}

/// The dense layers that the file has, which stand behind the pooling of EmbeddingGemma.
fn dense<'a>(keys: &Keys<'a>) -> Outcome<'a, Vec<DenseModule>> {
    let mut modules = Vec::new();
    for Dense { tensor, folder, inputs, outputs, .. } in DENSE {
        let said = [keys.size(inputs, Limit::SIZE)?, keys.size(outputs, Limit::SIZE)?];
        let found = keys.file.tensor(tensor);
        let Some(header) = found.as_ref().map(|tensor| *tensor.header()) else {
            match said {
                [None | Some(0), None | Some(0)] => continue,
                _ => return Err(GgufRefusal::missing(tensor)),
            }
        };
        let refuse = |reason| Err(GgufRefusal::at(header.name, header.offset, reason));
        if keys.architecture != "gemma-embedding" {
            return refuse("dense layers are known behind `gemma-embedding` alone");
        }
        let size = |size: Option<u64>| Limit::SIZE.check(size.unwrap_or(0)).unwrap_or(0);
        let sizes = [size(header.shape.cols()), size(Some(header.shape.rows()))];
        if said.iter().zip(sizes).any(|(said, size)| said.is_some_and(|said| said != size)) {
            return refuse("it has other sizes than the file says");
        }
        let [inputs, outputs] = sizes;
        modules.push(DenseModule {
            folder: folder.into(),
            inputs,
            outputs,
            bias: false,
            activation: DenseActivation::Identity,
        });
    }
    Ok(modules)
}
