//! Models of folders, opened on the heap and in exactly the memory that is planned.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, WeightType};
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::status::*;

use crate::support::embed::vector;
pub(crate) use crate::support::errors::name;
use crate::support::lent::{Lent, Planned};
use crate::support::source::in_memory;
use crate::support::tokenize::ids;

/// What the names of files end in that keep the texts of a folder.
pub(crate) const ENDINGS: [&str; 2] = ["weights", "amb"];

/// Folders under `tests/data/models` whose files keep their texts.
pub(crate) const FOLDERS: [&str; 17] = [
    "bert_max_pool",
    "distilbert",
    "embeddinggemma",
    "embeddinggemma2_text",
    "eurobert",
    "gte",
    "jina_v2_code",
    "jina_v2_en",
    "jina_v3",
    "modernbert_mean",
    "mpnet",
    "nomic_bert",
    "nomic_moe",
    "qwen3_embedding",
    "roberta",
    "t5_encoder",
    "xlmr_bge_m3",
];

/// Folders whose tokenizers need a heap: lent memory takes ids alone.
pub(crate) const HEAP_TOKENIZERS: [&str; 2] = ["albert", "deberta_v2"];

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

/// The tokens of a text that are used, and how many it has.
pub(crate) type Tokens = Result<(Vec<u32>, u32), nanoembed_status>;

/// A model and its workspace.
pub(crate) struct Opened {
    pub(crate) model: *mut nanoembed_model,
    pub(crate) workspace: *mut nanoembed_workspace,
    pub(crate) dimensions: usize,
    /// What they lie in, where that is lent.
    _lent: Option<Lent>,
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
    Opened { model, workspace, dimensions: info.dimensions as usize, _lent: None }
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
    let lent = Planned::new(&in_memory(file), &options)?.open()?;
    let Lent { model, workspace, plan, .. } = lent;
    Ok(Opened { model, workspace, dimensions: plan.dimensions as usize, _lent: Some(lent) })
}

impl Opened {
    /// The bits of the vector of known tokens.
    pub(crate) fn of_ids(&self, ids: &[u32]) -> Result<Vec<u32>, nanoembed_status> {
        let Self { model, workspace, .. } = *self;
        let (start, count, mut vector) = (ids.as_ptr(), ids.len(), vec![f32::NAN; self.dimensions]);
        let (out, room, none) = (vector.as_mut_ptr(), vector.len(), null_mut());
        // SAFETY: handles are good, and the rest lies here.
        match unsafe { nanoembed_embed_ids(model, workspace, start, count, out, room, none) } {
            NANOEMBED_OK => Ok(bits(&vector)),
            status => Err(status),
        }
    }

    pub(crate) fn tokenized(&self, text: &str) -> Tokens {
        let mut info = nanoembed_model_info::default();
        // SAFETY: the handle is good.
        assert_eq!(unsafe { nanoembed_model_get_info(self.model, &mut info) }, NANOEMBED_OK);
        ids(self.model, text, info.workspace_tokens as usize)
    }

    /// The bits of the vector of a text, and its tokens.
    pub(crate) fn of_text(&self, text: &str) -> (Result<Vec<u32>, nanoembed_status>, Tokens) {
        let vector = vector(self.model, self.workspace, self.dimensions, text);
        (vector.map(|(vector, _)| bits(&vector)), self.tokenized(text))
    }
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|x| x.to_bits()).collect()
}
