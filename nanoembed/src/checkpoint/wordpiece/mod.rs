//! The tokenizer of a BERT folder, as transformers reads its files.
//!
//! | file | contents |
//! |---|---|
//! | `tokenizer.json` | vocabulary, rules and added tokens, if it is there |
//! | `vocab.txt` | the vocabulary, if it is not |
//! | `tokenizer_config.json` | class, normalisation, special and added tokens |
//! | `special_tokens_map.json` | special tokens that the former does not name |
//! | `added_tokens.json` | added tokens, unless `tokenizer_config.json` lists them |
//!
//! Where `tokenizer.json` and `tokenizer_config.json` differ in normalisation, the class decides:
//! BERT's class follows the latter, a general one the former.

mod added_tokens;
mod config;
mod json;

use std::collections::HashMap;
use std::path::Path;

use nanoembed_core::{ErrorKind, limit};

use super::vocabulary::{SPECIAL, WordPieceVocabulary, from_text};
use crate::error::{Error, Result, name_of};
use crate::folder::texts::{Allowed, FolderTexts};
use crate::hashed;
use crate::numbered::Numbered;
use added_tokens::{AddedToken, AddedTokens};
use config::TokenizerConfig;
use json::{Normalizer, TokenizerJson};

const UNKNOWN: usize = 1;
const ENDS: [usize; 2] = [2, 3];

/// A folder's tokenizer, as all its files describe it.
pub struct FolderTokenizer {
    pub vocabulary: WordPieceVocabulary,
    pub lower_case: bool,
    /// `None` does as lower-casing does.
    pub strip_accents: Option<bool>,
    pub split_ideographs: bool,
    /// The number of tokens of a text that are used, if the files name one.
    pub max_tokens: Option<u64>,
}

impl FolderTokenizer {
    /// Reads the tokenizer of the model in `folder`.
    pub(crate) fn read(folder: &Path, allowed: &Allowed) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let text = FolderTexts::new(folder).get("tokenizer.json")?;
        // First, for it says more plainly than the name of a class what the tokenizer is.
        let json = text.map(|text| TokenizerJson::read(&text, &path)).transpose()?;
        let mut config = TokenizerConfig::read(folder, allowed)?;
        let normalizer = normalizer(&config, json.as_ref(), &path)?;
        let (tokens, mut added, source) = match json {
            Some(json) => {
                agree(&mut config, &json, &path)?;
                (json.tokens, json.added, path)
            }
            None => {
                let text = folder.join("vocab.txt");
                let tokens = from_text(&text).map_err(|failure| {
                    failure.with_hint(
                        "a BERT model's folder has its vocabulary in `vocab.txt` or `tokenizer.json`",
                    )
                })?;
                let numbered = Numbered::in_order(tokens);
                let numbered = numbered.map_err(|error| Error::in_file(name_of(&text), error))?;
                (numbered, AddedTokens::default(), text)
            }
        };
        for (id, token) in std::mem::take(&mut config.added).into_tokens() {
            added.add(id, token).map_err(|failure| failure.at(name_of(&source)))?;
        }
        let vocabulary = assemble(tokens, added, &config, &source)?;
        let Normalizer { lower_case, strip_accents, split_ideographs } = normalizer;
        let max_tokens = config.max_tokens;
        Ok(Self { vocabulary, lower_case, strip_accents, split_ideographs, max_tokens })
    }
}

/// The normalisation of texts before they are split into words.
fn normalizer(
    config: &TokenizerConfig,
    json: Option<&TokenizerJson>,
    path: &Path,
) -> Result<Normalizer> {
    let said = Normalizer {
        lower_case: config.lower_case.unwrap_or(true),
        strip_accents: config.strip_accents,
        split_ideographs: config.split_ideographs.unwrap_or(true),
    };
    let Some(json) = json else { return Ok(said) };
    if !config.is_bert {
        return Ok(json.normalizer);
    }
    let effect = |of: Normalizer| {
        (of.lower_case, of.strip_accents.unwrap_or(of.lower_case), of.split_ideographs)
    };
    // BERT's class takes what is not said for its default, which is hardly what the file's author
    // meant.
    if config.lower_case.is_none() && effect(said) != effect(json.normalizer) {
        let message = "the normaliser is not BERT's usual one, and `tokenizer_config.json` does not say `do_lower_case`; transformers would take it for true";
        return Err(Error::input(ErrorKind::UnsupportedSetting, message)
            .at(name_of(path))
            .with_hint("say `do_lower_case`, `strip_accents` and `tokenize_chinese_chars` in `tokenizer_config.json`"));
    }
    Ok(said)
}

/// Gives the roles the tokens that `tokenizer.json` has in them; refuses other ones in
/// `tokenizer_config.json`.
fn agree(config: &mut TokenizerConfig, json: &TokenizerJson, path: &Path) -> Result<()> {
    named_somewhere(config, json, path)?;
    let [begin, end] = &json.ends;
    let [first, last] = ENDS;
    for (at, token) in [(UNKNOWN, &json.unknown), (first, begin), (last, end)] {
        let (key, _) = SPECIAL.get(at).copied().unwrap_or_default();
        let Some(role) = config.roles.get_mut(at) else { continue };
        if role.as_ref().is_some_and(|said| said != token) {
            let message = format!(
                "the file has {token:?} where another one beside it says that `{key}` is {:?}",
                role.as_deref().unwrap_or_default()
            );
            return Err(Error::input(ErrorKind::BadVocabulary, message).at(name_of(path)));
        }
        *role = Some(token.clone());
    }
    Ok(())
}

/// Refuses special tokens that no file names as added: `tokenizers` does not find them in texts,
/// transformers does.
fn named_somewhere(config: &TokenizerConfig, json: &TokenizerJson, path: &Path) -> Result<()> {
    for ((_, usual), role) in SPECIAL.iter().zip(&config.roles) {
        let is_named = role.is_some() || config.further.iter().any(|it| it == usual);
        if !is_named && json.added.id(usual).is_none() && config.added.id(usual).is_none() {
            let message = format!(
                "{usual:?} is not among `added_tokens`, so programs differ in whether texts may hold it"
            );
            return Err(Error::input(ErrorKind::UnsupportedSetting, message)
                .at(name_of(path))
                .with_hint(
                    "name the special tokens in `tokenizer_config.json`, `mask_token` for example",
                ));
        }
    }
    Ok(())
}

fn assemble(
    mut tokens: Numbered<Vec<u8>>,
    mut added: AddedTokens,
    config: &TokenizerConfig,
    source: &Path,
) -> Result<WordPieceVocabulary> {
    let bad = |message: String| Error::input(ErrorKind::BadVocabulary, message).at(name_of(source));
    let failed = |error| Error::in_file(name_of(source), error);
    for (id, token) in added.iter() {
        if tokens.get(id).is_some_and(|other| other != token.spelling.as_bytes()) {
            return Err(bad(format!(
                "the id {id} of {:?} is that of another token",
                token.spelling
            )));
        }
    }
    let known: HashMap<&[u8], u32> =
        hashed::map(tokens.iter().map(|(id, token)| (token.as_slice(), id))).map_err(failed)?;
    let find = |spelling: &str| added.id(spelling).or(known.get(spelling.as_bytes()).copied());
    let mut special = [0; 5];
    for (((_, usual), role), id) in SPECIAL.iter().zip(&config.roles).zip(&mut special) {
        let spelling = role.as_deref().unwrap_or(usual);
        *id = find(spelling).ok_or_else(|| {
            bad(format!("the special token {spelling:?} is not in the vocabulary"))
        })?;
    }
    let further = config.further.iter().filter_map(|it| Some((find(it)?, it)));
    let further: Vec<(u32, &String)> = limit::collected(further).map_err(failed)?;
    for (id, spelling) in further {
        if added.spelling(id).is_none() {
            added.add(id, AddedToken::special(spelling).map_err(failed)?)?;
        }
    }
    // Special tokens are tokens of the vocabulary, whatever lies between.
    let last = special.iter().copied().max().unwrap_or_default();
    let within = added.iter().filter(|(id, _)| *id <= last);
    let within = within.map(|(id, token)| (id, token.spelling.as_bytes()));
    tokens.add(within, |token| limit::joined_bytes(&[token])).map_err(failed)?;
    let added = added.words(&special).map_err(|failure| failure.at(name_of(source)))?;
    Ok(WordPieceVocabulary { tokens: json::without_holes(tokens, source)?, special, added })
}
