//! Word vectors of other programs: their form, how many words and columns there are. Vectors are
//! not read; of text without a first line that counts them, words are counted by lines.

use nanoembed_core::subword::Subwords;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tensors::{Tensor, Totals};
use crate::error::{Error, Result};
use crate::signature::word_form::Form;
use crate::words::metadata;
use crate::words::read::WordRows;
use crate::words::read::fasttext::FastText;
use crate::words::read::floret::Floret;
use crate::words::read::start::Start;
use crate::words::read::text::TextRows;
use crate::words::read::word2vec::Word2VecRows;

/// The description of a file of word vectors. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct WordsSummary {
    pub file: String,
    pub format: &'static str,
    pub variant: &'static str,
    pub file_bytes: u64,
    pub metadata: Map<String, Value>,
    pub tokenizer: Option<()>,
    pub vocabulary: VocabularySizes,
    #[serde(flatten)]
    pub totals: Totals,
    pub tensors: Vec<Tensor>,
}

/// The numbers of words and subwords in the file.
#[derive(Debug, Default, Serialize)]
pub struct VocabularySizes {
    pub words: u64,
    pub subwords: u64,
    pub cols: u64,
}

/// Looks into a file that is none of the core's formats; `None` if it is no file of word vectors.
pub(super) fn inspect(name: &str, file: &[u8]) -> Result<Option<WordsSummary>> {
    let start = || Start::from_bytes(name, file);
    let Some(form) = start().form().filter(|form| *form != Form::Finalfusion) else {
        return Ok(None);
    };
    let mut facts = Map::new();
    let sizes = match form {
        Form::Fasttext => {
            let model = FastText::parse(name, file)?;
            let arguments = model.arguments.toml();
            let arguments = arguments.map_err(|error| Error::in_file(name, error))?;
            facts = metadata::json(&arguments).unwrap_or_default();
            let words = u32::try_from(model.words.len()).unwrap_or(u32::MAX);
            let subwords = match model.vocabulary(words).subwords {
                Subwords::None => 0,
                subwords => subwords.rows().unwrap_or(0),
            };
            VocabularySizes { words: words.into(), subwords, cols: model.cols().into() }
        }
        Form::Floret => {
            let floret = Floret::open(start().into_stream(), name.to_owned())?;
            VocabularySizes { words: 0, subwords: floret.buckets, cols: floret.cols.into() }
        }
        Form::Word2vec => {
            let cols = Word2VecRows::open(start().into_stream(), name.to_owned(), false)?.cols();
            VocabularySizes { words: announced(file), subwords: 0, cols: cols as u64 }
        }
        Form::Text | Form::Textdims | Form::Finalfusion => {
            let has_sizes = form == Form::Textdims;
            let rows = TextRows::open(start().into_stream(), name.to_owned(), (has_sizes, false))?;
            let words = if has_sizes { announced(file) } else { lines(file) };
            VocabularySizes { words, subwords: 0, cols: rows.cols() as u64 }
        }
    };
    Ok(Some(WordsSummary::new(name, (form, file), (facts, sizes))))
}

/// The number of words that a first line announces.
fn announced(file: &[u8]) -> u64 {
    let line = file.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = line.split(u8::is_ascii_whitespace).find(|field| !field.is_empty());
    count.and_then(|count| str::from_utf8(count).ok()?.parse().ok()).unwrap_or(0)
}

/// The number of lines that are not empty.
fn lines(file: &[u8]) -> u64 {
    file.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64
}

impl WordsSummary {
    fn new(
        name: &str,
        (form, file): (Form, &[u8]),
        (metadata, vocabulary): (Map<String, Value>, VocabularySizes),
    ) -> Self {
        let VocabularySizes { words, subwords, cols } = vocabulary;
        let rows = words.saturating_add(subwords);
        let tensor = Tensor {
            name: "embeddings".into(),
            dtype: "f32",
            shape: vec![rows, cols],
            offset: 0,
            bytes: rows.saturating_mul(cols).saturating_mul(4),
        };
        let tensors = vec![tensor];
        Self {
            file: name.to_owned(),
            format: form.name(),
            variant: form.name(),
            file_bytes: file.len() as u64,
            metadata,
            tokenizer: None,
            vocabulary,
            totals: Totals::from_tensors(&tensors),
            tensors,
        }
    }
}
