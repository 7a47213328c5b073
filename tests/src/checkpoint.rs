//! Folders of encoders under `tests/data/models`, as on the hub, and their expected results.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::{Entry, Safetensors};
use nanoembed_core::model::{
    EncoderSpec, FamilyModel, PoolingModes, SliceWeights, TokenScore, Weights, read_config,
    read_scoring_config,
};
use nanoembed_core::owned::folder::Modules;
use nanoembed_core::owned::{FileWeights, TokenEncoder};
use nanoembed_core::text::json;
use serde_json::Value;

/// A folder of an encoder.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its path.
    pub folder: PathBuf,
}

const ENCODERS: [&str; 28] = [
    "albert",
    "bert_cased",
    "bert_cased_st6",
    "bert_max_pool",
    "cross_encoder",
    "deberta_v2",
    "distilbert",
    "embeddinggemma",
    "embeddinggemma2_text",
    "embeddinggemma2_towers",
    "eurobert",
    "gte",
    "jina_v2_code",
    "jina_v2_en",
    "jina_v3",
    "modernbert_mean",
    "modernbert_reranker",
    "mpnet",
    "nomic_bert",
    "nomic_moe",
    "qwen3_embedding",
    "qwen3_reranker",
    "qwen3_reranker_seqcls",
    "qwen3_reranker_untied",
    "roberta",
    "t5_encoder",
    "xlmr_bge_m3",
    "xlmr_reranker",
];

/// The expected result for a text or a pair of texts.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Token ids, special tokens included.
    pub ids: Vec<u32>,
    /// The type of each token; empty for single texts.
    pub types: Vec<u8>,
    /// The embedding or the logits.
    pub values: Vec<f32>,
}

/// A file of weights and the headers of its tensors.
#[derive(Debug)]
pub struct File {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl File {
    /// Reads a safetensors file.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { bytes, entries: vec![Entry::default(); 400] }
    }

    /// Calls `use_weights` with the weights.
    ///
    /// # Panics
    ///
    /// If the file is invalid.
    pub fn with<R>(&self, use_weights: impl FnOnce(&dyn AllWeights) -> R) -> R {
        let mut entries = self.entries.clone();
        let file = Safetensors::parse(&self.bytes, Mode::Strict, &mut entries).expect("weights");
        let find = |name: &str| file.tensor(name).map(|tensor| *tensor.header());
        use_weights(&SliceWeights::new(&self.bytes, find))
    }
}

/// Weights that threads can share.
pub trait AllWeights: Weights + Sync {}

impl<W: Weights + Sync> AllWeights for W {}

impl Checkpoint {
    /// The folders under `tests/data/models` that have an encoder.
    #[must_use]
    pub fn all() -> Vec<Self> {
        ENCODERS.iter().map(|name| Self::named(name)).collect()
    }

    /// The folder of this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models").join(name) }
    }

    /// The folder's name.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        self.folder.file_name().unwrap_or_default().to_string_lossy()
    }

    /// The text of a file, if it exists.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(path)).ok()
    }

    /// The model described by one of its `config.json`s.
    ///
    /// # Panics
    ///
    /// If it is rejected.
    #[must_use]
    pub fn model(&self, config: &str) -> FamilyModel {
        let text = self.text(config).expect("a config.json");
        let value = json::Value::parse(&text, 0).expect("JSON");
        let read = match self.token_score() {
            Some(score) => read_scoring_config(value, score),
            None => read_config(value),
        };
        read.unwrap_or_else(|fault| panic!("{} {config}: {fault}", self.name()))
    }

    /// The tokens that a LogitScore module scores.
    fn token_score(&self) -> Option<TokenScore> {
        let settings = self.text("1_LogitScore/config.json")?;
        let settings: Value = serde_json::from_str(&settings).expect("JSON");
        let id = |name: &str| settings[name].as_u64().and_then(|id| id.try_into().ok());
        let (yes, no) = (id("true_token_id").expect("a token"), id("false_token_id"));
        Some(TokenScore { yes, no, rows: None })
    }

    /// The model's weights.
    #[must_use]
    pub fn weights(&self) -> File {
        File::read(&self.folder.join("model.safetensors"))
    }

    /// The modules after the transformer; none in folders without `modules.json`.
    ///
    /// # Panics
    ///
    /// If they are refused.
    #[must_use]
    pub fn modules(&self) -> Modules {
        let texts = |path: &str| Ok(self.text(path).map(Cow::Owned));
        Modules::read(&texts).expect("modules.json").unwrap_or_default()
    }

    /// The weights of the model and of the modules after the transformer.
    ///
    /// # Panics
    ///
    /// If a file is refused.
    #[must_use]
    pub fn all_weights(&self) -> FileWeights<Vec<u8>> {
        let mut weights = FileWeights::default();
        let modules = self.modules();
        let folders =
            std::iter::once(String::new()).chain(modules.weight_folders().map(Result::unwrap));
        for folder in folders {
            let file = fs::read(self.folder.join(&folder).join("model.safetensors"));
            weights.push_safetensors(&folder, file.expect("weights")).expect("safetensors");
        }
        weights
    }

    /// The texts of `expected.json`, and their expected results.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn expected(&self) -> Vec<Expected> {
        let text = self.text("expected.json").expect("expected.json");
        let expected: Value = serde_json::from_str(&text).expect("JSON");
        let values = fs::read(self.folder.join("expected.f32")).expect("expected.f32");
        let values: Vec<f32> =
            values.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let rows = expected["rows"].as_array().expect("rows");
        let width = values.len() / rows.len();
        let numbers = |value: &Value| -> Vec<u32> {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            items
                .iter()
                .map(|it| it.as_u64().and_then(|it| it.try_into().ok()).expect("an id"))
                .collect()
        };
        let types = |row: &Value| {
            numbers(&row["type_ids"]).iter().map(|it| u8::try_from(*it).expect("a type")).collect()
        };
        let rows = rows.iter().zip(values.chunks(width));
        rows.map(|(row, values)| Expected {
            ids: numbers(&row["ids"]),
            types: types(row),
            values: values.to_vec(),
        })
        .collect()
    }
}

/// The encoder that a `config.json` and the modules after the transformer describe.
///
/// # Errors
///
/// As [`TokenEncoder::from_spec`].
pub fn encoder(
    weights: &impl Weights,
    family: &FamilyModel,
    modules: &Modules,
) -> Result<TokenEncoder, nanoembed_core::Error> {
    let ways = modules.pooling.iter().flat_map(|it| it.modes.iter().copied());
    let (pooling, normalize) = (ways.collect::<PoolingModes>(), modules.normalize);
    let spec = EncoderSpec { family, pooling, head: &modules.head, normalize };
    match family.classifier {
        Some(_) => TokenEncoder::cross_encoder(weights, &spec),
        None => TokenEncoder::from_spec(weights, &spec),
    }
}
