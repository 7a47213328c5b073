//! Models of texts in one file, made wrong on purpose: an error says so, and nothing panics.

use std::path::Path;

use nanoembed::convert::{Conversion, ModelTarget};
use nanoembed::{Encoder, Prefix, Silent};
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::{self, TextSession};

/// The bytes of the model in `folder` as one file.
fn converted(folder: &str, target: ModelTarget) -> Vec<u8> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models");
    let out = tempfile::TempDir::new().unwrap();
    let file = out.path().join("model");
    Conversion::new(models.join(folder), &file).to(target).run(&Silent).unwrap();
    std::fs::read(&file).unwrap()
}

/// Models with merges, scores, a vocabulary alone and a mapping; dense layers and prompts.
const FOLDERS: [&str; 4] = ["embeddinggemma", "xlmr_bge_m3", "bert_cased", "model2vec_int8_mapped"];

fn files() -> impl Iterator<Item = Vec<u8>> {
    let targets = [ModelTarget::Weights, ModelTarget::Amb];
    FOLDERS.into_iter().flat_map(move |folder| targets.map(|target| converted(folder, target)))
}

/// Steps through a file that hit every part of it, and none too often.
fn places(file: &[u8], count: usize) -> impl Iterator<Item = usize> + use<> {
    (0..file.len()).step_by((file.len() / count) | 1)
}

#[test]
fn whole_files_embed_and_files_that_end_too_early_do_not_open() {
    for file in files() {
        let encoder = Encoder::from_bytes(file.clone()).unwrap();
        assert!(encoder.embed("How do I reset my password?").unwrap().iter().any(|x| *x != 0.0));
        for length in places(&file, 100) {
            assert!(
                Encoder::from_bytes(file[..length].to_vec()).is_err(),
                "{length} of {}",
                file.len()
            );
        }
    }
}

#[test]
fn core_alone_opens_them_and_says_the_same() {
    for file in files() {
        let text = "How do I reset my password?";
        let expected = Encoder::options().prompt(Prefix::Text(String::new()));
        let expected = expected.from_bytes(file.clone()).unwrap().embed(text).unwrap();
        let model = owned::Encoder::open(&file[..]).unwrap();
        let ids = model.encode(text, model.usual_tokens(), &mut TextSession::default());
        let ids = ids.unwrap().ids;
        let mut found = vec![0.0; model.dimensions()];
        let mut session = model.session_for(model.plan(ids.len())).unwrap();
        model.embed(&mut session, &InOrder, &ids, &[ids.len()], 0, &mut found).unwrap();
        let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-6, "{apart:e}");
    }
}

#[test]
fn changed_bytes_are_an_error_or_another_model() {
    for mut file in files() {
        for at in places(&file, 100) {
            for value in [b'"', 0xff] {
                let before = std::mem::replace(&mut file[at], value);
                if let Ok(encoder) = Encoder::from_bytes(file.clone()) {
                    let _ = encoder.embed("two words");
                }
                file[at] = before;
            }
        }
    }
}
