//! A static model in lent memory through C: the ids and vectors that its folder expects, in exactly
//! the memory that was planned.

use std::borrow::Cow;
use std::ptr::null_mut;

use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenize::nanoembed_tokenize;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

/// Made by `nanoembed convert` of the folder that the rest is about.
const FILE: &[u8] = include_bytes!("data/small_table.weights");
const EXPECTED: &str = include_str!("../../tests/data/models/model2vec_int8_mapped/expected.json");
const VECTORS: &[u8] = include_bytes!("../../tests/data/models/model2vec_int8_mapped/expected.f32");
const DIMENSIONS: usize = 48;

/// Memory as `malloc` gives it.
fn memory(bytes: usize) -> Vec<u128> {
    vec![0; bytes.div_ceil(16)]
}

/// A model in memory of its exact size, that memory, and the file.
struct Opened {
    model: *mut nanoembed_model,
    workspace: *mut nanoembed_workspace,
    _memory: [Vec<u128>; 2],
    _file: Cow<'static, [u8]>,
}

fn open(
    file: impl Into<Cow<'static, [u8]>>,
    options: &nanoembed_model_options,
) -> Result<Opened, nanoembed_error> {
    let file = file.into();
    let (data, length) = (file.as_ptr(), file.len() as u64);
    let source = nanoembed_source { data, length, ..Default::default() };
    let mut error = nanoembed_error::default();
    let (mut plan, mut bytes) = (nanoembed_plan::default(), 0);
    let (mut model, mut workspace) = (null_mut(), null_mut());
    // SAFETY: everything is there, with its true sizes, and outlives the handles.
    unsafe {
        if nanoembed_plan_scratch(&source, &mut bytes, &mut error) != NANOEMBED_OK {
            return Err(error);
        }
        let mut scratch = memory(bytes);
        let at = scratch.as_mut_ptr().cast::<u8>();
        if nanoembed_plan_model(&source, options, at, bytes, &mut plan, &mut error) != NANOEMBED_OK
        {
            return Err(error);
        }
        let (mut first, mut second) = (memory(plan.model_bytes), memory(plan.workspace_bytes));
        let (place, size) = (first.as_mut_ptr().cast::<u8>(), plan.model_bytes);
        let opened =
            nanoembed_model_init(&source, options, place, size, at, bytes, &mut model, &mut error);
        if opened != NANOEMBED_OK {
            return Err(error);
        }
        let (place, size) = (second.as_mut_ptr().cast::<u8>(), plan.workspace_bytes);
        assert_eq!(nanoembed_workspace_init(model, place, size, &mut workspace), NANOEMBED_OK);
        Ok(Opened { model, workspace, _memory: [first, second], _file: file })
    }
}

impl Opened {
    fn embed(&self, text: &str) -> (Vec<f32>, Vec<u32>) {
        let (start, bytes) = (text.as_ptr().cast(), text.len());
        let (mut vector, mut ids) = (vec![0.0; DIMENSIONS], vec![0; 600]);
        let mut tokenized = nanoembed_tokenized::default();
        // SAFETY: handles are good, and the rest lies here.
        unsafe {
            let (out, room) = (vector.as_mut_ptr(), DIMENSIONS);
            let (model, workspace, none) = (self.model, self.workspace, null_mut());
            let status =
                nanoembed_embed_text(model, workspace, start, bytes, out, room, none, null_mut());
            assert_eq!(status, NANOEMBED_OK);
            let (out, room) = (ids.as_mut_ptr(), ids.len());
            let status =
                nanoembed_tokenize(model, start, bytes, out, room, &mut tokenized, null_mut());
            assert_eq!(status, NANOEMBED_OK);
        }
        ids.truncate(tokenized.tokens as usize);
        (vector, ids)
    }
}

#[test]
fn ids_and_vectors_are_those_that_the_folder_expects() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let rows = expected["rows"].as_array().expect("rows");
    let vectors: Vec<f32> =
        VECTORS.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
    for vocabulary in [NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_INDEXED] {
        let options = nanoembed_model_options { vocabulary, ..Default::default() };
        let model = open(FILE, &options).map_err(|error| error.status).expect("it opens");
        for (row, expected_vector) in rows.iter().zip(vectors.chunks_exact(DIMENSIONS)) {
            let text = row["text"].as_str().expect("a text");
            let (vector, ids) = model.embed(text);
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
        let error = open(file, &nanoembed_model_options::default()).err().expect("is refused");
        let bytes: Vec<u8> = error.name.iter().map(|c| c.cast_unsigned()).collect();
        let name = String::from_utf8_lossy(&bytes);
        (error.status, name.trim_end_matches('\0').to_owned())
    };
    let setting = 208;
    assert_eq!(
        refused(changed("BertPreTokenizer", "BertPreTokenizes")),
        (setting, "pre_tokenizer".into())
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
        refused(changed("[UNK]\",\"single", "[UNX]\",\"single")),
        (setting, "content".into())
    );
}
