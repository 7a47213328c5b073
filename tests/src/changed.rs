//! Test files with changed keys and tensors.

use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};
use safetensors::tensor::{SafeTensors, TensorView, serialize};

/// A vector of ones added to a file: its name and length.
pub type Ones<'a> = (&'a str, usize);

fn ones(count: usize) -> Vec<u8> {
    [1.0_f32.to_le_bytes()].repeat(count).concat()
}

/// A GGUF file without the keys and tensors of `gone`, with these keys replaced and these vectors
/// appended.
///
/// # Panics
///
/// If it is not a GGUF file.
#[must_use]
pub fn gguf(
    bytes: &[u8],
    gone: &[&str],
    keys: &[(&str, WriteValue<'_>)],
    vectors: &[Ones<'_>],
) -> Vec<u8> {
    let file = Gguf::parse(bytes, Mode::Strict).expect("a GGUF file");
    let stays = |key: &&str| !gone.contains(key) && keys.iter().all(|(changed, _)| changed != key);
    let own = file.metadata().map(|(key, _)| key).filter(stays);
    let stored = |key| (key, WriteValue::Stored(file.stored_value(key).expect("a value")));
    let metadata: Vec<(&str, WriteValue<'_>)> =
        own.map(stored).chain(keys.iter().copied()).collect();
    let own = file.tensors().filter(|tensor| !gone.contains(&tensor.header().name));
    let own = own.map(|tensor| {
        let header = tensor.header();
        let spec = TensorSpec { name: header.name, dtype: header.dtype, shape: header.shape };
        (spec, tensor.data().to_vec())
    });
    let more = vectors.iter().map(|(name, count)| {
        let shape = Shape::new(&[*count as u64]).expect("a shape");
        (TensorSpec { name, dtype: Dtype::F32, shape }, ones(*count))
    });
    let (specs, contents): (Vec<_>, Vec<_>) = own.chain(more).unzip();
    let plan = GgufPlan { metadata: &metadata, ..GgufPlan::new(&specs) };
    let mut writer = GgufWriter::new(plan, Vec::new()).expect("a plan");
    contents.iter().for_each(|content| writer.data(content).expect("a tensor"));
    writer.finish().expect("a file")
}

/// A safetensors file without the tensors of `gone`, and with these vectors.
///
/// # Panics
///
/// If it is not a safetensors file.
#[must_use]
pub fn safetensors(bytes: &[u8], gone: &[&str], vectors: &[Ones<'_>]) -> Vec<u8> {
    let file = SafeTensors::deserialize(bytes).expect("a safetensors file");
    let mut tensors = file.tensors();
    tensors.retain(|(name, _)| !gone.contains(&name.as_str()));
    let contents: Vec<Vec<u8>> = vectors.iter().map(|(_, count)| ones(*count)).collect();
    for ((name, count), content) in vectors.iter().zip(&contents) {
        let view = TensorView::new(safetensors::Dtype::F32, vec![*count], content);
        tensors.push(((*name).to_owned(), view.expect("a tensor")));
    }
    serialize(tensors, None).expect("a file")
}

/// A safetensors file in which `change` maps the shape and the bytes of each tensor, and drops
/// tensors for which it returns `None`.
///
/// # Panics
///
/// If it is not a safetensors file.
#[must_use]
pub fn each_tensor(
    bytes: &[u8],
    change: impl Fn(&str, Vec<usize>, Vec<u8>) -> Option<(Vec<usize>, Vec<u8>)>,
) -> Vec<u8> {
    let file = SafeTensors::deserialize(bytes).expect("a safetensors file");
    let changed = file.iter().filter_map(|(name, view)| {
        let (shape, data) = change(name, view.shape().to_vec(), view.data().to_vec())?;
        Some((name, view.dtype(), shape, data))
    });
    let changed: Vec<_> = changed.collect();
    let views = changed.iter().map(|(name, dtype, shape, data)| {
        (*name, TensorView::new(*dtype, shape.clone(), data).expect("a tensor"))
    });
    serialize(views, None).expect("a file")
}
