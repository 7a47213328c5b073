//! The member `model` of a `tokenizer.json`.

use super::settings::{kind, needed_spelling, refused, spelling};
use super::{HAS_ALL, Layout};
use crate::leaf;
use crate::text::json::{Fault, LexemeKind, Object, Read, Value};
use crate::token::spec::{
    BpeSpec, JsonPlace, MergesSpec, Model, ModelKind, UnigramSpec, VocabularySpec, WordPieceSpec,
    Words,
};

/// The kind of a model of whole words.
pub(super) const WORDS: &str = "WhitespaceTokenizer";
/// The list of words that it drops.
pub(super) const STOP_WORDS: &str = "stop_words";
/// True if it converts texts to lower case.
pub(super) const LOWER_CASE: &str = "do_lower_case";

/// Reads a model.
pub(super) fn read(value: Value<'_>, layout: Layout) -> Read<'_, Model<'_>> {
    let model = Object::new(value)?;
    let vocabulary = vocabulary(&model, layout)?;
    let kind = match kind_of(&model)? {
        Some("WordPiece") => ModelKind::WordPiece(word_piece(&model)?),
        Some(_) if !HAS_ALL => return Err(refused(value, "only WordPiece is in this build")),
        Some("BPE") => ModelKind::Bpe(bpe(&model, layout)?),
        Some("Unigram") => ModelKind::Unigram(unigram(&model)?),
        // No file of `tokenizers` has it; files here keep it so.
        Some(WORDS) if layout == Layout::Apart && leaf::WordTables::built_in().is_ok() => {
            ModelKind::Words(words(&model)?)
        }
        Some(_) => return Err(refused(value, "only WordPiece, BPE and Unigram are known")),
        None => return Err(model.bad("type", "the model's kind is needed")),
    };
    model.finish(&[])?;
    Ok(Model { kind, vocabulary, place: JsonPlace::new(value) })
}

/// The model's kind, which old files do not state.
fn kind_of<'t>(model: &Object<'t>) -> Read<'t, Option<&'t str>> {
    if model.get("type").is_some() {
        return Ok(Some(kind(model)?));
    }
    let has = |name: &str| model.value().member(name).is_some();
    Ok(match () {
        () if has("merges") => Some("BPE"),
        () if has("max_input_chars_per_word") => Some("WordPiece"),
        () if has("unk_id") => Some("Unigram"),
        () => None,
    })
}

fn vocabulary<'t>(model: &Object<'t>, layout: Layout) -> Read<'t, VocabularySpec<'t>> {
    let value = model.needed("vocab", model.get("vocab"))?;
    match (layout, value.kind()) {
        (Layout::Apart, LexemeKind::BeginObject) => {
            let said = Object::new(value)?;
            let ids = said.needed("ids", said.integer("ids")?)?;
            let count = said.needed("count", said.integer("count")?)?;
            said.finish(&[])?;
            Ok(VocabularySpec::Apart { ids, count })
        }
        (Layout::Whole, LexemeKind::BeginObject) => Ok(VocabularySpec::Ids(value)),
        (Layout::Whole, LexemeKind::BeginArray) => Ok(VocabularySpec::Scores(value)),
        _ => Err(model.bad("vocab", "tokens with their ids or scores are needed")),
    }
}

fn word_piece<'t>(model: &Object<'t>) -> Read<'t, WordPieceSpec<'t>> {
    let most = model.integer("max_input_chars_per_word")?;
    Ok(WordPieceSpec {
        unknown: needed_spelling(model, "unk_token")?,
        prefix: needed_spelling(model, "continuing_subword_prefix")?,
        most_characters: model.needed("max_input_chars_per_word", most)?,
    })
}

fn unigram<'t>(model: &Object<'t>) -> Read<'t, UnigramSpec> {
    Ok(UnigramSpec {
        unknown: model.integer("unk_id")?,
        byte_fallback: model.truth("byte_fallback")?.unwrap_or(false),
    })
}

/// Reads the settings of a model of whole words.
pub(in crate::describe) fn words<'t>(model: &Object<'t>) -> Read<'t, Words<'t>> {
    let stop_words = model.needed(STOP_WORDS, model.get(STOP_WORDS))?;
    let are_texts = || stop_words.items().all(|word| word.as_text().is_some());
    if stop_words.kind() != LexemeKind::BeginArray || !are_texts() {
        return Err(model.bad(STOP_WORDS, "a list of texts is needed"));
    }
    let lowercases = model.truth(LOWER_CASE)?.unwrap_or(false);
    let part = leaf::WordTables::built_in().map_err(Fault::from_error)?;
    Ok(Words { stop_words, lowercases, part })
}

fn bpe<'t>(model: &Object<'t>, layout: Layout) -> Read<'t, BpeSpec<'t>> {
    let only = "only merging all that can be merged is honoured";
    model.neutral("dropout", only, |dropout| dropout.as_f64() == Some(0.0))?;
    let truth = |name| Ok(model.truth(name)?.unwrap_or(false));
    Ok(BpeSpec {
        unknown: spelling(model, "unk_token")?,
        prefix: spelling(model, "continuing_subword_prefix")?.unwrap_or_default(),
        suffix: spelling(model, "end_of_word_suffix")?.unwrap_or_default(),
        fuses_unknown: truth("fuse_unk")?,
        byte_fallback: truth("byte_fallback")?,
        ignores_merges: truth("ignore_merges")?,
        merges: merges(model, layout)?,
    })
}

fn merges<'t>(model: &Object<'t>, layout: Layout) -> Read<'t, MergesSpec<'t>> {
    let list = model.needed("merges", model.get("merges"))?;
    match (layout, list.kind()) {
        (_, LexemeKind::BeginArray) => Ok(MergesSpec::Listed(list)),
        (Layout::Apart, _) => {
            let count = model.integer("merges")?;
            Ok(MergesSpec::Apart(model.needed("merges", count)?))
        }
        (Layout::Whole, _) => Err(model.bad("merges", "a list is needed")),
    }
}
