//! Models of all families in few bits: their linear layers and attention run in integers, so that
//! every table of kernels makes the same bits, which sums of floats do not have.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::{Batch, InOrder, SliceWeights};
use nanoembed_core::owned::{DescribedFile, Encoder, TextSession};
use nanoembed_core::source::ModelSource;
use nanoembed_core::tensor::TensorHeader;

const TEXTS: [&str; 3] = [
    "How do I reset my password?",
    "naïve café, 東京で会いましょう",
    "The quick brown fox jumps over the lazy dog, again and again, until neither of them knows why.",
];

/// Folders with a transformer.
fn folders() -> Vec<PathBuf> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models");
    let folders = models.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let has = |folder: &PathBuf| {
        folder.join("model.safetensors").exists() && folder.join("expected.json").exists()
    };
    let mut folders: Vec<PathBuf> = folders.filter(has).collect();
    folders.sort();
    folders
}

/// The bytes of a folder's model as one file.
fn converted(folder: &Path, to: ModelTarget, weight_type: WeightType) -> Vec<u8> {
    let out = tempfile::TempDir::new().unwrap();
    let file = out.path().join("model");
    Conversion::new(folder, &file).to(to).weight_type(weight_type).run(&Silent).unwrap();
    std::fs::read(&file).unwrap()
}

/// The hidden states of all texts in one pack, by a table of kernels; `None` of a model that is no
/// transformer.
fn states(file: &[u8], kernels: Kernels) -> Option<Vec<u32>> {
    let source = DescribedFile::read(ModelSource::parse(file).unwrap()).unwrap().unwrap();
    let mut headers = HashMap::new();
    source.each_tensor(&mut |name, header| {
        headers.insert(name.to_owned(), TensorHeader { name: "", ..*header });
    });
    let weights = SliceWeights::new(file, |name: &str| headers.get(name).copied());
    let model = Encoder::new(source.model(), weights, source.pipeline().unwrap()).unwrap();
    if model.is_table() {
        return None;
    }
    let model = model.with_kernels(kernels).unwrap();
    let encode = |text: &&str| model.encode(text, 40, &mut TextSession::default()).unwrap().ids;
    let texts: Vec<Vec<u32>> = TEXTS.iter().map(encode).collect();
    let (ids, lengths) = (texts.concat(), texts.iter().map(Vec::len).collect::<Vec<_>>());
    let plan = model.plan(ids.len());
    let mut session = model.session_for(plan).unwrap();
    let mut bits = Vec::new();
    let texts = Batch::new(&ids, &lengths);
    let mut keep = |_, states: &[f32]| {
        assert!(states.iter().all(|x| x.is_finite()));
        bits.extend(states.iter().map(|x| x.to_bits()));
        Ok(())
    };
    model.states(&mut session, &InOrder, &texts, &mut keep, &|_| {}).unwrap();
    Some(bits)
}

/// Whether all tables of kernels make the same; `None` of a model that is no transformer.
fn are_alike(file: &[u8]) -> Option<bool> {
    let expected = states(file, Kernels::portable())?;
    Some(kernel::available().all(|kernels| states(file, kernels).as_ref() == Some(&expected)))
}

#[test]
fn every_table_of_kernels_makes_the_same_bits_of_every_family() {
    let mut families = 0;
    for folder in folders() {
        let file = converted(&folder, ModelTarget::Weights, WeightType::Int8);
        let Some(are_alike) = are_alike(&file) else { continue };
        assert!(are_alike, "{}", folder.display());
        families += 1;
    }
    assert_eq!(families, 29);
}

#[test]
fn so_it_does_of_blocks_and_not_of_floats() {
    // Its rows are whole blocks.
    let folder = folders().into_iter().find(|folder| folder.ends_with("bert_max_pool")).unwrap();
    let file = |weight_type| converted(&folder, ModelTarget::Amb, weight_type);
    assert_eq!(are_alike(&file(WeightType::Int8)), Some(true));
    assert_eq!(are_alike(&file(WeightType::Int5block)), Some(true));
    let tables = kernel::available().count();
    assert_eq!(are_alike(&file(WeightType::F32)), Some(tables == 1));
}
