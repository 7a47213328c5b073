//! Test models with a reduced vocabulary: every step of a reader in a tenth of the bytes, so that a
//! fuzzer runs ten times as many inputs.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};

/// The number of leading tokens that are kept; added tokens are all kept.
const TOKENS: u64 = 100;

/// A folder's files by their paths.
pub type Files = Vec<(String, Vec<u8>)>;

/// A model with its first tokens and its added ones, renumbered, and their rows of weights. A table
/// of characters as long as everything else becomes a table with one rule.
///
/// # Panics
///
/// If `files` have no tokenizer.
#[must_use]
pub fn small_model(mut files: Files) -> Files {
    files.retain(|(path, _)| !path.starts_with("expected."));
    let mut tokenizer = read(&files, "tokenizer.json").expect("a tokenizer");
    let mut config = read(&files, "config.json").unwrap_or_default();
    let (ids, tokens) = kept(&tokenizer);
    shorten(&mut tokenizer, &ids);
    let mut rows = tokens;
    for place in ["/vocab_size", "/text_config/vocab_size"] {
        if let Some(size) = config.pointer_mut(place) {
            rows = size.as_u64().expect("a number");
            *size = json!(ids.len());
        }
    }
    renumber(&mut config, &ids);
    for (path, bytes) in &mut files {
        match path.as_str() {
            "tokenizer.json" => *bytes = tokenizer.to_string().into_bytes(),
            "config.json" => *bytes = config.to_string().into_bytes(),
            "tokenizer_config.json" => {
                let mut json: Value = serde_json::from_slice(bytes).expect("JSON");
                if let Some(added) = json["added_tokens_decoder"].as_object_mut() {
                    *added = core::mem::take(added)
                        .into_iter()
                        .filter_map(|(id, it)| Some((ids.get(&id.parse().ok()?)?.to_string(), it)))
                        .collect();
                }
                *bytes = json.to_string().into_bytes();
            }
            "model.safetensors" => *bytes = with_rows(bytes, rows, &ids),
            // Its tokens are not among the first ones.
            "1_LogitScore/config.json" => {
                *bytes = br#"{"true_token_id": 1, "false_token_id": 0}"#.to_vec();
            }
            _ => {}
        }
    }
    files
}

/// A folder of UQFF shards with its first layer and the first of its tokens; its weights keep all
/// rows.
///
/// # Panics
///
/// If `files` have no tokenizer or no settings.
#[must_use]
pub fn small_uqff(mut files: Files) -> Files {
    files.retain(|(path, _)| !path.starts_with("expected."));
    let mut tokenizer = read(&files, "tokenizer.json").expect("a tokenizer");
    let mut config = read(&files, "config.json").expect("settings");
    let (ids, _) = kept(&tokenizer);
    shorten(&mut tokenizer, &ids);
    renumber(&mut config, &ids);
    config["num_hidden_layers"] = json!(1);
    if let Some(types) = config["layer_types"].as_array_mut() {
        types.truncate(1);
    }
    for (path, bytes) in &mut files {
        match path.as_str() {
            "tokenizer.json" => *bytes = tokenizer.to_string().into_bytes(),
            "config.json" => *bytes = config.to_string().into_bytes(),
            path if path.ends_with(".uqff") || path.ends_with(".safetensors") => {
                *bytes = with_tensors(bytes, |name, tensor| {
                    let layer =
                        name.strip_prefix("layers.").and_then(|rest| rest.split('.').next());
                    layer.is_none_or(|layer| layer == "0").then_some(tensor)
                });
            }
            _ => {}
        }
    }
    files
}

/// New ids by old ones.
type Ids = HashMap<u64, u64>;

fn read(files: &Files, path: &str) -> Option<Value> {
    let (_, bytes) = files.iter().find(|(name, _)| name == path)?;
    Some(serde_json::from_slice(bytes).expect("JSON"))
}

/// The kept ids, and the original number.
fn kept(tokenizer: &Value) -> (Ids, u64) {
    let vocabulary = &tokenizer["model"]["vocab"];
    let listed = match vocabulary {
        Value::Object(tokens) => tokens.len(),
        tokens => tokens.as_array().map_or(0, Vec::len),
    };
    let added = tokenizer["added_tokens"].as_array().into_iter().flatten();
    let added = added.filter_map(|token| token["id"].as_u64());
    let mut all: Vec<u64> = (0..TOKENS.min(listed as u64)).chain(added).collect();
    all.sort_unstable();
    all.dedup();
    let tokens = all.last().map_or(0, |last| last + 1).max(listed as u64);
    ((0..).zip(all).map(|(new, old)| (old, new)).collect(), tokens)
}

fn shorten(json: &mut Value, ids: &Ids) {
    let model = &mut json["model"];
    match &mut model["vocab"] {
        Value::Object(tokens) => {
            *tokens = core::mem::take(tokens)
                .into_iter()
                .filter_map(|(token, id)| Some((token, json!(ids.get(&id.as_u64()?)?))))
                .collect();
        }
        Value::Array(tokens) => {
            let mut id = 0..;
            tokens.retain(|_| id.next().is_some_and(|id| ids.contains_key(&id)));
        }
        _ => {}
    }
    if let (Some(merges), Some(known)) = (model["merges"].as_array(), model["vocab"].as_object()) {
        model["merges"] = merges.iter().filter(|merge| is_within(merge, known)).cloned().collect();
    }
    renumber(json, ids);
    replace_charsmaps(json);
}

/// Returns true if both parts of a merge and its result are kept.
fn is_within(merge: &Value, known: &Map<String, Value>) -> bool {
    let parts: Vec<&str> = match merge {
        Value::String(merge) => merge.split(' ').collect(),
        other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    known.contains_key(&parts.concat()) && parts.iter().all(|part| known.contains_key(*part))
}

/// Renumbers all ids in settings.
fn renumber(json: &mut Value, ids: &Ids) {
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                let is_id = name.ends_with("_token_id") || name.ends_with("unk_id");
                match name.as_str() {
                    "vocab" => {}
                    // An added token's; in a template, a string under this name is a token.
                    "id" | "pad_id" => to_new(value, ids),
                    "ids" | "sep" | "cls" => {
                        value.as_array_mut().into_iter().flatten().for_each(|id| to_new(id, ids));
                    }
                    _ if is_id => to_new(value, ids),
                    _ => renumber(value, ids),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| renumber(item, ids)),
        _ => {}
    }
}

fn to_new(id: &mut Value, ids: &Ids) {
    if let Some(new) = id.as_u64().and_then(|old| ids.get(&old)) {
        *id = json!(new);
    }
}

/// Units of the trie of compiled rules.
const CHARSMAP_UNITS: usize = 512;

fn replace_charsmaps(json: &mut Value) {
    match json {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| {
            if name == "precompiled_charsmap" {
                *value = Value::from(base64(&charsmap()));
            } else if name != "model" {
                replace_charsmaps(value);
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(replace_charsmaps),
        _ => {}
    }
}

/// Compiled rules of a SentencePiece tokenizer that map `x` to `y`: the size of the trie in bytes,
/// its units, and the replacement texts.
fn charsmap() -> Vec<u8> {
    let (children, key) = (256, b'x');
    let mut units = [0_u32; CHARSMAP_UNITS];
    units[0] = children << 10;
    let at = (children ^ u32::from(key)) as usize;
    // Has a value, whose index differs in the lowest bit.
    units[at] = u32::from(key) | 1 << 8 | 1 << 10;
    units[at ^ 1] = 1 << 31;
    let size = u32::try_from(4 * CHARSMAP_UNITS).unwrap_or(0);
    let units = units.iter().flat_map(|unit| unit.to_le_bytes());
    size.to_le_bytes().into_iter().chain(units).chain(*b"y\0").collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits = (0..3).fold(0_u32, |bits, i| bits << 8 | u32::from(*three.get(i).unwrap_or(&0)));
        (0..4)
            .map(|digit| match digit <= three.len() {
                true => char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]),
                false => '=',
            })
            .collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// Keeps the rows of the kept tokens in every tensor with a row per token.
fn with_rows(file: &[u8], rows: u64, ids: &Ids) -> Vec<u8> {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut kept: Vec<usize> = ids.keys().filter_map(|id| usize::try_from(*id).ok()).collect();
    kept.retain(|row| *row < rows);
    kept.sort_unstable();
    with_tensors(file, |_, mut tensor| {
        if tensor.shape.first() == Some(&rows) {
            let row_bytes = tensor.data.len() / rows;
            tensor.shape[0] = kept.len();
            let row = |row: &usize| tensor.data[row * row_bytes..][..row_bytes].to_vec();
            tensor.data = kept.iter().flat_map(row).collect();
        }
        Some(tensor)
    })
}

struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

/// The file with `change` applied to each tensor and its name.
fn with_tensors(file: &[u8], change: impl Fn(&str, Tensor) -> Option<Tensor>) -> Vec<u8> {
    let tensors = SafeTensors::deserialize(file).expect("safetensors");
    let (_, header) = SafeTensors::read_metadata(file).expect("safetensors");
    let changed = tensors.iter().filter_map(|(name, tensor)| {
        let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
        let tensor = change(name, Tensor { dtype, shape, data: tensor.data().to_vec() })?;
        Some((name.to_owned(), tensor))
    });
    let changed: Vec<(String, Tensor)> = changed.collect();
    let views = changed.iter().map(|(name, Tensor { dtype, shape, data })| {
        (name, TensorView::new(*dtype, shape.clone(), data).expect("as many bytes as elements"))
    });
    safetensors::serialize(views, header.metadata().clone()).expect("safetensors")
}
