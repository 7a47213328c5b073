//! Models of every family through C, from their folders: the ids and vectors that these expect,
//! with their prompts, and the scores of pairs.

mod support {
    pub(crate) mod errors;
    pub(crate) mod handles;
}

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::limits::nanoembed_limits;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::score::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::source_file::nanoembed_source_from_file;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

use crate::support::errors::name;
use crate::support::handles::Handles;

/// Folders whose weights are there, with what they expect: those of models that compare texts, or
/// those of models that embed them.
fn folders(compare: bool) -> Vec<(PathBuf, serde_json::Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models");
    let entries = std::fs::read_dir(root).expect("models").map(|entry| entry.expect("one").path());
    let has = |folder: &Path, file: &str| folder.join(file).exists();
    let whole = |it: &PathBuf| has(it, "model.safetensors") && has(it, "expected.json");
    let expected = entries.filter(whole).map(|folder| {
        let text = std::fs::read_to_string(folder.join("expected.json")).expect("it is there");
        (folder, serde_json::from_str(&text).expect("JSON"))
    });
    let is_one = |(_, expected): &(PathBuf, serde_json::Value)| {
        expected["rows"][0].get("query").is_some() == compare
    };
    expected.filter(is_one).collect()
}

fn open(path: &Path, tokens: u32) -> Result<Handles, (nanoembed_status, String)> {
    Handles::at(path, &nanoembed_model_options { tokens, ..Default::default() })
}

#[test]
fn a_folder_that_lacks_a_file_is_told_its_name() {
    let folder = std::env::temp_dir().join(format!("nanoembed-empty-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let why = open(&folder, 0).err();
    std::fs::remove_dir(&folder).expect("it is empty");
    assert_eq!(why, Some((NANOEMBED_CANNOT_OPEN, "config.json".to_owned())));
}

#[test]
fn every_family_embeds_as_its_folder_expects_with_its_prompts() {
    let folders = folders(false);
    assert!(folders.len() >= 15, "{}", folders.len());
    for (folder, expected) in folders {
        let rows = expected["rows"].as_array().expect("rows");
        let bytes = std::fs::read(folder.join("expected.f32")).expect("vectors");
        let vectors: Vec<f32> =
            bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
        let width = vectors.len() / rows.len();
        let handles =
            open(&folder, 0).unwrap_or_else(|why| panic!("{}: {why:?}", folder.display()));
        let mut tokenized = nanoembed_tokenized::default();
        for (row, expected) in rows.iter().zip(vectors.chunks_exact(width)) {
            let (text, prompt) = (row["text"].as_str().expect("text"), row["prompt_name"].as_str());
            let mut vector = vec![0.0; width];
            // SAFETY: handles are good, and the rest lies here.
            unsafe {
                let kind =
                    if prompt.is_some() { NANOEMBED_PROMPT_NAMED } else { NANOEMBED_PROMPT_NONE };
                let prompt = prompt.unwrap_or_default();
                let set = nanoembed_workspace_set_prompt(
                    handles.model,
                    handles.workspace,
                    kind,
                    prompt.as_ptr().cast(),
                    prompt.len(),
                    null_mut(),
                );
                assert_eq!(set, NANOEMBED_OK, "{}", folder.display());
                let status = nanoembed_embed_text(
                    handles.model,
                    handles.workspace,
                    text.as_ptr().cast(),
                    text.len(),
                    vector.as_mut_ptr(),
                    width,
                    &mut tokenized,
                    null_mut(),
                );
                assert_eq!(status, NANOEMBED_OK, "{}: {text}", folder.display());
            }
            let ids = row["ids"].as_array().expect("ids").len();
            assert_eq!(tokenized.tokens as usize, ids, "{}: {text}", folder.display());
            let off = vector.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-5, "{}: {text}: {off}", folder.display());
        }
    }
}

#[test]
fn cross_encoders_score_pairs_and_embed_nothing() {
    let folders = folders(true);
    assert!(folders.len() >= 2, "{}", folders.len());
    for (folder, expected) in folders {
        let rows = expected["rows"].as_array().expect("rows");
        let tokens = expected["max_length"].as_u64().expect("a limit") as u32;
        let handles =
            open(&folder, tokens).unwrap_or_else(|why| panic!("{}: {why:?}", folder.display()));
        // Sentence-transformers makes a score of the logit by a sigmoid unless this says otherwise.
        let texts = ["config.json", "config_sentence_transformers.json"];
        let texts = texts.map(|name| std::fs::read_to_string(folder.join(name)));
        let has_no_sigmoid = texts.iter().flatten().any(|text| text.contains("Identity"));
        let key = if has_no_sigmoid { "logit" } else { "sigmoid" };
        for row in rows {
            let text = |key: &str| row[key].as_str().expect("a text");
            let (query, document) = (text("query"), text("document"));
            let mut score = 0.0;
            // SAFETY: handles are good, and the rest lies here.
            let (scored, embedded) = unsafe {
                let (model, workspace) = (handles.model, handles.workspace);
                let mut one = [0.0; 64];
                (
                    nanoembed_score(
                        model,
                        workspace,
                        query.as_ptr().cast(),
                        query.len(),
                        document.as_ptr().cast(),
                        document.len(),
                        &mut score,
                        null_mut(),
                    ),
                    nanoembed_embed_text(
                        model,
                        workspace,
                        query.as_ptr().cast(),
                        query.len(),
                        one.as_mut_ptr(),
                        one.len(),
                        null_mut(),
                        null_mut(),
                    ),
                )
            };
            assert_eq!((scored, embedded), (NANOEMBED_OK, 217), "{}", folder.display());
            let wanted = row[key].as_f64().expect("a score");
            assert!((f64::from(score) - wanted).abs() < 1e-5, "{}: {score}", folder.display());
        }
    }
}

#[test]
fn files_in_memory_open_as_whatever_they_are_and_refusals_have_a_name() {
    // A prompt before every text is no matter for a model with memory of its own.
    static FILE: &[u8] = include_bytes!("data/default_prompt.weights");
    let source =
        nanoembed_source { data: FILE.as_ptr(), length: FILE.len() as u64, ..Default::default() };
    let (mut model, mut error) = (null_mut(), nanoembed_error::default());
    // SAFETY: everything is there; the file is static.
    unsafe {
        let options = std::ptr::null();
        assert_eq!(nanoembed_model_new(&source, options, &mut model, &mut error), NANOEMBED_OK);
        let mut workspace = null_mut();
        assert_eq!(nanoembed_workspace_new(model, &mut workspace), NANOEMBED_OK);
        let unknown = nanoembed_workspace_set_prompt(
            model,
            workspace,
            NANOEMBED_PROMPT_NAMED,
            "odd".as_ptr().cast(),
            3,
            &mut error,
        );
        assert_eq!((unknown, name(&error)), (402, "prompt".to_owned()));
        drop(Handles { model, workspace });
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(open(&root.join("no such"), 0).err().map(|it| it.0), Some(NANOEMBED_CANNOT_OPEN));
    let folder = std::env::temp_dir().join(format!("nanoembed-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.json"), r#"{"model_type": "electra"}"#).expect("written");
    let refused = open(&folder, 0).err();
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(refused, Some((213, "model_type".to_owned())));
}

/// A pipe that nobody writes to.
fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

#[test]
fn pipes_are_no_files_of_a_model() {
    let folder = std::env::temp_dir().join(format!("nanoembed-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let model = folder.join("model.weights");
    pipe(&model);
    pipe(&folder.join("config.json"));
    assert_eq!(open(&model, 0).err().map(|why| why.0), Some(NANOEMBED_CANNOT_OPEN));
    let read_failed = ErrorKind::ReadFailed.code().into();
    assert_eq!(open(&folder, 0).err().map(|why| why.0), Some(read_failed));
    let mut source = nanoembed_source::default();
    let path = CString::new(model.to_str().expect("UTF-8")).expect("no zeros");
    // SAFETY: everything is there.
    let status = unsafe { nanoembed_source_from_file(path.as_ptr(), &mut source) };
    assert_eq!(status, NANOEMBED_CANNOT_OPEN);
    std::fs::remove_dir_all(folder).expect("it was made");
}

/// What opening the model at `path` within limits answers: a status with the name that is at fault,
/// or the size of a workspace.
fn within(path: &Path, tokens: u32, limits: nanoembed_limits) -> Result<usize, (u32, String)> {
    let path = CString::new(path.to_str().expect("UTF-8")).expect("no zeros");
    let (mut model, mut error) = (null_mut(), Default::default());
    let options = nanoembed_model_options { tokens, ..Default::default() };
    // SAFETY: everything is there.
    unsafe {
        match nanoembed_model_open_within(path.as_ptr(), &options, &limits, &mut model, &mut error)
        {
            NANOEMBED_OK => {
                let bytes = nanoembed_workspace_bytes(model);
                nanoembed_model_free(model);
                Ok(bytes)
            }
            status => Err((status, name(&error))),
        }
    }
}

#[test]
fn a_model_that_takes_more_than_the_limits_is_refused_by_their_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("../tests/data/models/bert_cased");
    let weights = ["model.safetensors", "2_Dense/model.safetensors"].map(|file| folder.join(file));
    let file = root.join("tests/data/small_bert.weights");
    let over = |name: &str| Err((ErrorKind::OverLimit.code() as u32, name.to_owned()));
    for (path, files) in [(&folder, &weights[..]), (&file, std::slice::from_ref(&file))] {
        let bytes =
            files.iter().map(|it| std::fs::metadata(it).expect("a file").len()).sum::<u64>();
        let of_files = |file_bytes| nanoembed_limits { file_bytes, ..Default::default() };
        let workspace = within(path, 0, of_files(bytes)).expect("as large as it is");
        assert_eq!(within(path, 0, of_files(bytes - 1)), over("file_bytes"));

        // The workspace is a handle and the scratch memory that the limit is about.
        let of_workspaces =
            |bytes| nanoembed_limits { workspace_bytes: bytes as u64, ..Default::default() };
        assert_eq!(within(path, 0, of_workspaces(workspace)), Ok(workspace));
        assert_eq!(within(path, 0, of_workspaces(workspace / 2)), over("workspace_bytes"));
        let shorter = within(path, 8, of_workspaces(workspace / 2)).expect("fewer tokens");
        assert!(1000 < shorter && shorter < workspace / 2, "{shorter} of {workspace}");
    }
}

#[test]
fn limits_of_another_version_are_refused_unless_what_is_new_is_zero() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small_bert.weights");
    let invalid = Err((ErrorKind::InvalidArgument.code() as u32, String::new()));
    assert_eq!(within(&path, 0, nanoembed_limits { size: 0, ..Default::default() }), invalid);
    assert_eq!(within(&path, 0, nanoembed_limits { size: 8, ..Default::default() }), invalid);
}
