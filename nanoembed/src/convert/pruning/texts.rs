//! The texts of a folder in which ids stand, with the tokens' new ids.

use nanoembed_core::text::json::{LexemeKind, Value, chars};
use nanoembed_core::{Error as CoreError, limit};

use super::edits::Edits;
use super::ids::{self, Place};
use super::numbering::Numbering;
use super::vocabulary::Vocabulary;
use crate::error::{Error, Result};

/// The treatment of a file by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renumbered {
    /// `tokenizer.json`.
    Tokenizer,
    /// `tokenizer_config.json`, whose added tokens are named by their ids, and
    /// `special_tokens_map.json`, which names tokens alone.
    TokenizerConfig,
    /// `config.json` and `generation_config.json`.
    Config,
    /// Tokens and their ids: `added_tokens.json`.
    Ids,
    /// A token a line: `vocab.txt`.
    Lines,
}

impl Renumbered {
    /// The treatment of the file called `name`, if it names tokens or their ids.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "tokenizer.json" => Self::Tokenizer,
            "tokenizer_config.json" | "special_tokens_map.json" => Self::TokenizerConfig,
            "config.json" | "generation_config.json" => Self::Config,
            "added_tokens.json" => Self::Ids,
            "vocab.txt" => Self::Lines,
            _ => return None,
        })
    }

    /// The text of the file called `name` with other ids.
    pub(super) fn text(
        self,
        (name, text): (&str, &str),
        vocabulary: &Vocabulary<'_>,
        numbering: &Numbering,
    ) -> Result<String> {
        let failed = |error| Error::in_file(name, error);
        if self == Self::Lines {
            return lines(text, numbering).map_err(failed);
        }
        let value = Value::parse(text, 0).map_err(failed)?;
        let mut edits = Edits::new(text);
        let edited = match self {
            Self::Tokenizer => tokenizer(value, vocabulary, numbering, &mut edits),
            Self::TokenizerConfig => added_tokens(value, numbering, &mut edits),
            Self::Config => config(value, numbering, &mut edits),
            Self::Ids | Self::Lines => {
                tokens_by_name(value, numbering).and_then(|tokens| edits.replace(value, tokens))
            }
        };
        edited.and_then(|()| edits.finish()).map_err(failed)
    }
}

/// A token a line.
fn lines(text: &str, numbering: &Numbering) -> Result<String, CoreError> {
    let mut kept = String::new();
    let lines = (0..).zip(text.split_inclusive('\n'));
    for (_, line) in lines.filter(|(id, _)| numbering.now(*id).is_some()) {
        limit::write(&mut kept, line)?;
    }
    Ok(kept)
}

fn tokenizer<'t>(
    file: Value<'t>,
    vocabulary: &Vocabulary<'_>,
    numbering: &Numbering,
    edits: &mut Edits<'t>,
) -> Result<(), CoreError> {
    renumber(ids::in_tokenizer(file, &|token| vocabulary.id_of(token))?, numbering, edits)?;
    let Some(model) = file.member("model") else { return Ok(()) };
    if let Some(tokens) = model.member("vocab") {
        let kept = match tokens.kind() {
            LexemeKind::BeginArray => tokens_in_order(tokens, numbering)?,
            _ => tokens_by_name(tokens, numbering)?,
        };
        edits.replace(tokens, kept)?;
    }
    if let Some(list) = model.member("merges") {
        edits.replace(list, merges(list, vocabulary, numbering)?)?;
    }
    Ok(())
}

/// A vocabulary whose tokens stand in the order of their ids.
fn tokens_in_order(tokens: Value<'_>, numbering: &Numbering) -> Result<String, CoreError> {
    let kept = (0..).zip(tokens.items()).filter(|(id, _)| numbering.now(*id).is_some());
    let mut list = List::begin("[\n")?;
    for (_, token) in kept {
        list.item(&[token.spelling()])?;
    }
    list.end("\n]")
}

/// A vocabulary of tokens and their ids.
fn tokens_by_name(tokens: Value<'_>, numbering: &Numbering) -> Result<String, CoreError> {
    let mut list = List::begin("{\n")?;
    for (token, id) in tokens.members() {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        if let Some(id) = id.and_then(|id| numbering.now(id)) {
            list.item(&["\"", token, "\": ", &id.to_string()])?;
        }
    }
    list.end("\n}")
}

/// BPE merges whose parts and result are all kept.
fn merges(
    pairs: Value<'_>,
    vocabulary: &Vocabulary<'_>,
    numbering: &Numbering,
) -> Result<String, CoreError> {
    let mut list = List::begin("[\n")?;
    for pair in pairs.items() {
        let Some((left, right)) = sides(pair, vocabulary)? else { continue };
        let all = [Some(left), Some(right), vocabulary.merged((left, right))?];
        if all.into_iter().all(|id| id.and_then(|id| numbering.now(id)).is_some()) {
            list.item(&[pair.spelling()])?;
        }
    }
    list.end("\n]")
}

/// The ids of a pair: a text with a space between them, or a list of both.
fn sides(pair: Value<'_>, vocabulary: &Vocabulary<'_>) -> Result<Option<(u32, u32)>, CoreError> {
    if let Some(spelling) = pair.as_text() {
        let text = limit::spelled(chars(spelling))?;
        let sides = text.split_once(' ');
        return Ok(
            sides.and_then(|(left, right)| vocabulary.find(left).zip(vocabulary.find(right)))
        );
    }
    let mut sides = pair.items();
    let mut next = || -> Result<Option<u32>, CoreError> {
        let Some(side) = sides.next() else { return Ok(None) };
        let text = limit::spelled(chars(side.as_text().unwrap_or_default()))?;
        Ok(vocabulary.find(&text))
    };
    Ok(next()?.zip(next()?))
}

/// The member `added_tokens_decoder`, whose names are ids.
fn added_tokens<'t>(
    config: Value<'t>,
    numbering: &Numbering,
    edits: &mut Edits<'t>,
) -> Result<(), CoreError> {
    let Some(tokens) = config.member("added_tokens_decoder") else { return Ok(()) };
    let mut list = List::begin("{\n")?;
    for (id, token) in tokens.members() {
        if let Some(id) = id.parse().ok().and_then(|id| numbering.now(id)) {
            list.item(&["\"", &id.to_string(), "\": ", token.spelling()])?;
        }
    }
    edits.replace(tokens, list.end("\n}")?)
}

fn config<'t>(
    config: Value<'t>,
    numbering: &Numbering,
    edits: &mut Edits<'t>,
) -> Result<(), CoreError> {
    renumber(ids::in_config(config)?, numbering, edits)?;
    for size in ids::sizes_in_config(config)? {
        edits.replace(size, numbering.len().to_string())?;
    }
    Ok(())
}

/// Ids beyond the vocabulary, which no token has, stay as they are.
fn renumber<'t>(
    places: Vec<Place<'t>>,
    numbering: &Numbering,
    edits: &mut Edits<'t>,
) -> Result<(), CoreError> {
    for Place { value, id } in places {
        if let Some(id) = numbering.now(id) {
            edits.replace(value, id.to_string())?;
        }
    }
    Ok(())
}

/// Items between brackets, one a line.
struct List {
    text: String,
    is_empty: bool,
}

impl List {
    fn begin(bracket: &str) -> Result<Self, CoreError> {
        Ok(Self { text: limit::copied(bracket)?, is_empty: true })
    }

    fn item(&mut self, parts: &[&str]) -> Result<(), CoreError> {
        let between = if std::mem::take(&mut self.is_empty) { "" } else { ",\n" };
        limit::write(&mut self.text, between)?;
        parts.iter().try_for_each(|part| limit::write(&mut self.text, part))
    }

    fn end(mut self, bracket: &str) -> Result<String, CoreError> {
        limit::write(&mut self.text, bracket)?;
        Ok(self.text)
    }
}
