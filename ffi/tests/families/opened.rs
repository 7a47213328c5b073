//! Models of folders, opened on the heap and in exactly the memory that is planned.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, WeightType};
use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenize::nanoembed_tokenize;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

/// What the names of files end in that keep the texts of a folder.
pub(crate) const ENDINGS: [&str; 2] = ["weights", "amb"];

/// Folders under `tests/data/models` whose files keep their texts.
pub(crate) const FOLDERS: [&str; 12] = [
    "bert_max_pool",
    "distilbert",
    "embeddinggemma",
    "eurobert",
    "gte",
    "jina_v3",
    "modernbert_mean",
    "mpnet",
    "nomic_bert",
    "qwen3_embedding",
    "roberta",
    "xlmr_bge_m3",
];

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models").join(name)
}

/// Another one each time: tests run side by side, and none writes what another one has mapped.
pub(crate) fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The `.weights` file that `nanoembed convert` makes of a folder.
pub(crate) fn converted(name: &str, weight_type: WeightType) -> PathBuf {
    converted_to("weights", name, weight_type)
}

/// The same of another format.
pub(crate) fn converted_to(ending: &str, name: &str, weight_type: WeightType) -> PathBuf {
    let file = format!("{name}-{}.{ending}", number());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let conversion = Conversion::new(folder(name), &file).weight_type(weight_type);
    conversion.run(&Silent).unwrap_or_else(|why| panic!("{name}: {why}"));
    file
}

/// The ids of the texts that a folder has expected values of.
pub(crate) fn expected_ids(name: &str) -> Vec<Vec<u32>> {
    let text = std::fs::read_to_string(folder(name).join("expected.json")).expect("it is there");
    let expected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let id = |id: &serde_json::Value| id.as_u64().expect("an id") as u32;
    let rows = expected["rows"].as_array().expect("rows").iter();
    rows.map(|row| row["ids"].as_array().expect("ids").iter().map(id).collect()).collect()
}

/// Memory as `malloc` gives it.
pub(crate) fn memory(bytes: usize) -> Vec<u128> {
    vec![0; bytes.div_ceil(16)]
}

/// A model and its workspace.
pub(crate) struct Opened {
    pub(crate) model: *mut nanoembed_model,
    pub(crate) workspace: *mut nanoembed_workspace,
    pub(crate) dimensions: usize,
    /// What they lie in, where that is lent.
    pub(crate) _memory: Vec<Vec<u128>>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: what lies in lent memory is left alone.
        unsafe {
            nanoembed_workspace_free(self.workspace);
            nanoembed_model_free(self.model);
        }
    }
}

pub(crate) fn on_heap(path: &Path, tokens: u32) -> Opened {
    let path = CString::new(path.to_str().expect("UTF-8")).expect("no zeros");
    let (mut model, mut workspace) = (null_mut(), null_mut());
    let mut info = nanoembed_model_info::default();
    // SAFETY: everything is there.
    unsafe {
        let options = nanoembed_model_options { tokens, ..Default::default() };
        let status = nanoembed_model_open(path.as_ptr(), &options, &mut model, null_mut());
        assert_eq!(status, NANOEMBED_OK);
        assert_eq!(nanoembed_workspace_new(model, &mut workspace), NANOEMBED_OK);
        let none = NANOEMBED_PROMPT_NONE;
        let (text, error) = (c"".as_ptr(), null_mut());
        nanoembed_workspace_set_prompt(model, workspace, none, text, 0, error);
        nanoembed_model_get_info(model, &mut info);
    }
    Opened { model, workspace, dimensions: info.dimensions as usize, _memory: Vec::new() }
}

/// Opens in exactly the memory that is planned; one byte less is too little.
pub(crate) fn lent(
    file: &[u8],
    vocabulary: nanoembed_vocabulary,
) -> Result<Opened, nanoembed_error> {
    lent_as(file, nanoembed_model_options { vocabulary, ..Default::default() })
}

pub(crate) fn lent_as(
    file: &[u8],
    options: nanoembed_model_options,
) -> Result<Opened, nanoembed_error> {
    let (data, length) = (file.as_ptr(), file.len() as u64);
    let source = nanoembed_source { data, length, ..Default::default() };
    let mut error = nanoembed_error::default();
    let (mut plan, mut bytes) = (nanoembed_plan::default(), 0);
    let (mut model, mut workspace) = (null_mut(), null_mut());
    let too_small = u32::from(ErrorKind::BufferTooSmall.code());
    // SAFETY: everything is there, with its true sizes, and outlives the handles.
    unsafe {
        assert_eq!(nanoembed_plan_scratch(&source, &mut bytes, &mut error), NANOEMBED_OK);
        let mut scratch = memory(bytes);
        let at = scratch.as_mut_ptr().cast::<u8>();
        let planned = nanoembed_plan_model(&source, &options, at, bytes, &mut plan, &mut error);
        if planned != NANOEMBED_OK {
            return Err(error);
        }
        let (mut first, mut second) = (memory(plan.model_bytes), memory(plan.workspace_bytes));
        let place = first.as_mut_ptr().cast::<u8>();
        for (size, expected) in
            [(plan.model_bytes - 1, too_small), (plan.model_bytes, NANOEMBED_OK)]
        {
            let (out, error) = (&mut model, &mut error);
            let status =
                nanoembed_model_init(&source, &options, place, size, at, bytes, out, error);
            // Some damage shows only when memory is filled.
            if size == plan.model_bytes && status != NANOEMBED_OK {
                return Err(*error);
            }
            assert_eq!(status, expected, "{}", name(error));
        }
        assert_eq!(nanoembed_workspace_bytes(model), plan.workspace_bytes);
        // It was lent only meanwhile.
        scratch.fill(u128::MAX);
        let (place, size) = (second.as_mut_ptr().cast::<u8>(), plan.workspace_bytes);
        assert_eq!(nanoembed_workspace_init(model, place, size - 1, &mut workspace), too_small);
        assert_eq!(nanoembed_workspace_init(model, place, size, &mut workspace), NANOEMBED_OK);
        let dimensions = plan.dimensions as usize;
        Ok(Opened { model, workspace, dimensions, _memory: vec![first, second] })
    }
}

pub(crate) fn name(error: &nanoembed_error) -> String {
    let bytes: Vec<u8> = error.name.iter().map(|c| c.cast_unsigned()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

impl Opened {
    pub(crate) fn vector(
        &self,
        embed: impl FnOnce(*mut f32, usize) -> nanoembed_status,
    ) -> Result<Vec<u32>, nanoembed_status> {
        let mut vector = vec![f32::NAN; self.dimensions];
        match embed(vector.as_mut_ptr(), vector.len()) {
            NANOEMBED_OK => Ok(vector.iter().map(|x| x.to_bits()).collect()),
            status => Err(status),
        }
    }

    /// The bits of the vector of known tokens.
    pub(crate) fn of_ids(&self, ids: &[u32]) -> Result<Vec<u32>, nanoembed_status> {
        let Self { model, workspace, .. } = *self;
        // SAFETY: handles are good, and the rest lies here.
        self.vector(|out, room| unsafe {
            nanoembed_embed_ids(model, workspace, ids.as_ptr(), ids.len(), out, room, null_mut())
        })
    }

    /// The tokens of a text that are used, and how many it has.
    pub(crate) fn tokenized(&self, text: &str) -> Result<(Vec<u32>, u32), nanoembed_status> {
        let mut info = nanoembed_model_info::default();
        // SAFETY: the handle is good.
        assert_eq!(unsafe { nanoembed_model_get_info(self.model, &mut info) }, NANOEMBED_OK);
        let mut ids = vec![0; info.workspace_tokens as usize];
        let mut found = nanoembed_tokenized::default();
        let (start, bytes, none) = (text.as_ptr().cast(), text.len(), null_mut());
        let (out, room) = (ids.as_mut_ptr(), ids.len());
        // SAFETY: handles are good, and the rest lies here.
        let status =
            unsafe { nanoembed_tokenize(self.model, start, bytes, out, room, &mut found, none) };
        ids.truncate(found.tokens as usize);
        if status == NANOEMBED_OK { Ok((ids, found.total)) } else { Err(status) }
    }

    /// The bits of the vector of a text, and its tokens.
    pub(crate) fn of_text(&self, text: &str) -> (Result<Vec<u32>, nanoembed_status>, Vec<u32>) {
        let Self { model, workspace, .. } = *self;
        let (start, bytes, none) = (text.as_ptr().cast(), text.len(), null_mut());
        let mut tokenized = nanoembed_tokenized::default();
        let mut info = nanoembed_model_info::default();
        let mut ids = Vec::new();
        // SAFETY: handles are good, and the rest lies here.
        unsafe {
            assert_eq!(nanoembed_model_get_info(model, &mut info), NANOEMBED_OK);
            ids.resize(info.workspace_tokens as usize, 0);
            let (out, room) = (ids.as_mut_ptr(), ids.len());
            nanoembed_tokenize(model, start, bytes, out, room, &mut tokenized, none);
        }
        ids.truncate(tokenized.tokens as usize);
        // SAFETY: handles are good, and the rest lies here.
        let vector = self.vector(|out, room| unsafe {
            nanoembed_embed_text(model, workspace, start, bytes, out, room, null_mut(), none)
        });
        (vector, ids)
    }
}
