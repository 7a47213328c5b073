//! `wordembedding_config.json` and `whitespacetokenizer_config.json` of a WordEmbeddings module: a
//! table with a vector for each word.

use super::texts::{ReadText, TextPath, Texts};
use crate::describe::tokenizer;
use crate::text::json::{LexemeKind, Object, Read, Value, is};
use crate::token::spec::Words;

/// The settings of the module.
const SETTINGS: &str = "wordembedding_config.json";

/// The words, and how they are looked up.
const TOKENIZER: &str = "whitespacetokenizer_config.json";

/// The list of words, in the order of their rows.
const VOCABULARY: &str = "vocab";

/// The words of a WordEmbeddings module.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WordList<'a> {
    /// A list of texts, in the order of their rows.
    pub words: Value<'a>,
    /// How they are looked up.
    pub settings: Words<'a>,
    /// The text that lists them.
    pub path: TextPath<'a>,
}

/// Reads the settings of the module in `folder`; returns the number of words of a text that are
/// used.
pub(super) fn word_limit<'a>(texts: &dyn Texts<'a>, folder: &'a str) -> ReadText<'a, Option<u64>> {
    let path = TextPath { folder, name: SETTINGS };
    let text = path.text(texts)?.ok_or(path.missing())?;
    path.object(text, limit)
}

fn limit<'t>(config: &Object<'t>) -> Read<'t, Option<u64>> {
    const CLASS: &str = "tokenizer_class";
    let class = config.text(CLASS)?;
    let class = config.needed(CLASS, class)?;
    let name = class.strip_prefix("sentence_transformers.").unwrap_or(class);
    let is_known = name.len() < class.len() || !class.contains('.');
    let is_it = is(name, "WhitespaceTokenizer") || name.ends_with(".WhitespaceTokenizer");
    if !(is_known && is_it) {
        return Err(config.unsupported(CLASS, "only \"WhitespaceTokenizer\" is known"));
    }
    let limit = config.integer("max_seq_length")?;
    if limit == Some(0) {
        return Err(config.bad("max_seq_length", "at least one word is needed"));
    }
    // It is about training.
    config.finish(&["update_embeddings"])?;
    Ok(limit)
}

impl<'a> WordList<'a> {
    /// Reads the words of the module in `folder`.
    ///
    /// # Errors
    ///
    /// Any fault of the text; [`MissingMetadata`](crate::ErrorKind::MissingMetadata) without it.
    pub fn read(texts: &dyn Texts<'a>, folder: &'a str) -> ReadText<'a, Self> {
        let path = TextPath { folder, name: TOKENIZER };
        let text = path.text(texts)?.ok_or(path.missing())?;
        path.object(text, |config| {
            let words = config.needed(VOCABULARY, config.get(VOCABULARY))?;
            // An empty word would be that of any punctuation.
            let is_word = |word: Value<'_>| word.as_text().is_some_and(|word| !word.is_empty());
            if words.kind() != LexemeKind::BeginArray || !words.items().all(is_word) {
                return Err(config.bad(VOCABULARY, "a list of words is needed, none of them empty"));
            }
            let settings = tokenizer::words(config)?;
            config.finish(&[])?;
            Ok(Self { words, settings, path })
        })
    }
}
