//! The texts of a folder in which ids stand, with the tokens' new ids.

use nanoembed_core::text::json::{LexemeKind, Value, chars};

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
        if self == Self::Lines {
            let lines = (0..).zip(text.split_inclusive('\n'));
            let kept = lines.filter(|(id, _)| numbering.now(*id).is_some());
            return Ok(kept.map(|(_, line)| line).collect());
        }
        let value = Value::parse(text, 0).map_err(|error| Error::in_file(name, error))?;
        let mut edits = Edits::new(text);
        match self {
            Self::Tokenizer => tokenizer(value, vocabulary, numbering, &mut edits),
            Self::TokenizerConfig => added_tokens(value, numbering, &mut edits),
            Self::Config => config(value, numbering, &mut edits),
            Self::Ids | Self::Lines => edits.replace(value, tokens_by_name(value, numbering)),
        }
        Ok(edits.finish())
    }
}

fn tokenizer<'t>(
    file: Value<'t>,
    vocabulary: &Vocabulary<'_>,
    numbering: &Numbering,
    edits: &mut Edits<'t>,
) {
    renumber(ids::in_tokenizer(file, &|token| vocabulary.id_of(token)), numbering, edits);
    let Some(model) = file.member("model") else { return };
    if let Some(tokens) = model.member("vocab") {
        let kept = match tokens.kind() {
            LexemeKind::BeginArray => tokens_in_order(tokens, numbering),
            _ => tokens_by_name(tokens, numbering),
        };
        edits.replace(tokens, kept);
    }
    if let Some(list) = model.member("merges") {
        edits.replace(list, merges(list, vocabulary, numbering));
    }
}

/// A vocabulary whose tokens stand in the order of their ids.
fn tokens_in_order(tokens: Value<'_>, numbering: &Numbering) -> String {
    let kept = (0..).zip(tokens.items()).filter(|(id, _)| numbering.now(*id).is_some());
    list('[', kept.map(|(_, token)| token.spelling().to_owned()), ']')
}

/// A vocabulary of tokens and their ids.
fn tokens_by_name(tokens: Value<'_>, numbering: &Numbering) -> String {
    let kept = tokens.members().filter_map(|(token, id)| {
        let id = u32::try_from(id.as_u64()?).ok()?;
        Some(format!("\"{token}\": {}", numbering.now(id)?))
    });
    list('{', kept, '}')
}

/// BPE merges whose parts and result are all kept.
fn merges(list_of: Value<'_>, vocabulary: &Vocabulary<'_>, numbering: &Numbering) -> String {
    let stays = |pair: &Value<'_>| {
        let ids = match pair.as_text() {
            Some(spelling) => {
                let text: String = chars(spelling).collect();
                text.split_once(' ')
                    .map(|(left, right)| (vocabulary.find(left), vocabulary.find(right)))
            }
            None => {
                let mut sides = pair.items().map(|side| {
                    vocabulary.find(&chars(side.as_text().unwrap_or_default()).collect::<String>())
                });
                sides.next().zip(sides.next())
            }
        };
        let Some((Some(left), Some(right))) = ids else { return false };
        let merged = vocabulary.merged((left, right));
        [Some(left), Some(right), merged]
            .into_iter()
            .all(|id| id.and_then(|id| numbering.now(id)).is_some())
    };
    let kept = list_of.items().filter(stays);
    list('[', kept.map(|pair| pair.spelling().to_owned()), ']')
}

/// The member `added_tokens_decoder`, whose names are ids.
fn added_tokens<'t>(config: Value<'t>, numbering: &Numbering, edits: &mut Edits<'t>) {
    let Some(tokens) = config.member("added_tokens_decoder") else { return };
    let kept = tokens.members().filter_map(|(id, token)| {
        Some(format!("\"{}\": {}", numbering.now(id.parse().ok()?)?, token.spelling()))
    });
    edits.replace(tokens, list('{', kept, '}'));
}

fn config<'t>(config: Value<'t>, numbering: &Numbering, edits: &mut Edits<'t>) {
    renumber(ids::in_config(config), numbering, edits);
    for size in ids::sizes_in_config(config) {
        edits.replace(size, numbering.len().to_string());
    }
}

/// Ids beyond the vocabulary, which no token has, stay as they are.
fn renumber<'t>(places: Vec<Place<'t>>, numbering: &Numbering, edits: &mut Edits<'t>) {
    for Place { value, id } in places {
        if let Some(id) = numbering.now(id) {
            edits.replace(value, id.to_string());
        }
    }
}

/// Items between brackets, one a line.
fn list(begin: char, items: impl Iterator<Item = String>, end: char) -> String {
    let items: Vec<String> = items.collect();
    format!("{begin}\n{}\n{end}", items.join(",\n"))
}
