//! A static model in lent memory through C: the ids and vectors that its folder expects, in exactly
//! the memory that was planned.

mod support {
    pub(crate) mod embed;
    pub(crate) mod errors;
    pub(crate) mod lent;
    pub(crate) mod memory;
    pub(crate) mod source;
    pub(crate) mod tokenize;
}

use nanoembed_ffi::model::*;

use crate::support::embed::vector;
use crate::support::errors::name;
use crate::support::lent::Planned;
use crate::support::source::in_memory;
use crate::support::tokenize::ids;

/// Made by `nanoembed convert` of the folder that the rest is about.
const FILE: &[u8] = include_bytes!("data/small_table.weights");
const EXPECTED: &str = include_str!("../../tests/data/models/model2vec_int8_mapped/expected.json");
const VECTORS: &[u8] = include_bytes!("../../tests/data/models/model2vec_int8_mapped/expected.f32");
const DIMENSIONS: usize = 48;

#[test]
fn ids_and_vectors_are_those_that_the_folder_expects() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let rows = expected["rows"].as_array().expect("rows");
    let vectors: Vec<f32> =
        VECTORS.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
    for vocabulary in [NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_INDEXED] {
        let options = nanoembed_model_options { vocabulary, ..Default::default() };
        let lent = Planned::new(&in_memory(FILE), &options).and_then(Planned::open);
        let lent = lent.expect("it opens");
        let (model, workspace) = (lent.model, lent.workspace);
        assert_eq!(lent.plan.dimensions as usize, DIMENSIONS);
        for (row, expected_vector) in rows.iter().zip(vectors.chunks_exact(DIMENSIONS)) {
            let text = row["text"].as_str().expect("a text");
            let (vector, _) = vector(model, workspace, DIMENSIONS, text).expect("a vector");
            let (ids, _) = ids(model, text, 600).expect("ids");
            let expected_ids: Vec<u32> = row["ids"]
                .as_array()
                .expect("ids")
                .iter()
                .map(|id| id.as_u64().expect("an id") as u32)
                .collect();
            assert_eq!(ids, expected_ids, "{text}");
            let off = vector.iter().zip(expected_vector).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f32::max) < 1e-5, "{text}");
        }
    }
    assert_eq!(rows.len() * DIMENSIONS, vectors.len());
}

/// The file with `from` replaced by `to`, which is as long.
fn changed(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut file = FILE.to_vec();
    let at = file.windows(from.len()).position(|it| it == from.as_bytes()).expect(from);
    file[at..at + to.len()].copy_from_slice(to.as_bytes());
    file
}

#[test]
fn what_is_not_done_without_a_heap_is_refused_by_name() {
    let refused = |file: Vec<u8>| {
        let (source, options) = (in_memory(&file), nanoembed_model_options::default());
        let opened = Planned::new(&source, &options).and_then(Planned::open);
        let error = opened.err().expect("is refused");
        (error.status, name(&error))
    };
    let setting = 208;
    assert_eq!(
        refused(changed("BertPreTokenizer", "BertPreTokenizes")),
        (setting, "BertPreTokenizes".into())
    );
    assert_eq!(
        refused(changed("##\",\"max_input", "@@\",\"max_input")),
        (setting, "continuing_subword_prefix".into())
    );
    assert_eq!(refused(changed("models.Normalize", "models.Normalise")), (setting, "type".into()));
    assert_eq!(
        refused(changed("\"max_length\":512,\"embed", "\"max_lengtj\":512,\"embed")),
        (setting, "max_lengtj".into())
    );
    assert_eq!(
        refused(changed("[PAD]\",\"single", "[PAX]\",\"single")),
        (setting, "content".into())
    );
}

#[test]
fn what_planning_can_tell_of_added_tokens_is_refused_by_it() {
    let planned = |file: &[u8]| {
        let (source, options) = (in_memory(file), nanoembed_model_options::default());
        Planned::new(&source, &options).map(drop).map_err(|error| error.status)
    };
    assert_eq!(planned(FILE), Ok(()));
    // The unknown token is none of them, or one stands for its text in another way.
    assert_eq!(planned(&changed("[UNK]\",\"single", "[UNX]\",\"single")), Err(208));
    assert_eq!(planned(&changed("\"lstrip\":false", "\"lstrip\":true ")), Err(208));
}
