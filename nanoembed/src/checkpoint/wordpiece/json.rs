//! `tokenizer.json`, as far as it describes WordPiece. Differences to BERT's tokenizer are refused
//! by name.

use std::path::Path;

use nanoembed_core::describe::tokenizer::{self, Layout};
use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::text::json::{Fault, chars};
use nanoembed_core::token::MAX_WORD_CHARACTERS;
use nanoembed_core::token::spec::{
    self, ModelKind, PRE_TOKENIZER, PreTokenizer, SpecialToken, SpelledStep, TokenizerSpec,
    VocabularySpec, WordPieceSpec,
};
use nanoembed_core::{ErrorKind, limit};

use super::added_tokens::{AddedToken, AddedTokens};
use crate::error::{Error, Result, name_of};
use crate::folder::texts::explained;
use crate::numbered::Numbered;

/// The settings of the file's normaliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Normalizer {
    pub(super) lower_case: bool,
    /// `None` does as lower-casing does.
    pub(super) strip_accents: Option<bool>,
    pub(super) split_ideographs: bool,
}

/// The WordPiece tokenizer that the file describes.
pub(super) struct TokenizerJson {
    pub(super) normalizer: Normalizer,
    pub(super) unknown: String,
    /// The special tokens before and after every text.
    pub(super) ends: [String; 2],
    pub(super) tokens: Numbered<Vec<u8>>,
    pub(super) added: AddedTokens,
}

impl TokenizerJson {
    /// Reads `text`, which is the content of `path`.
    pub(super) fn read(text: &str, path: &Path) -> Result<Self> {
        let file = name_of(path);
        let explain = |fault: Fault<'_>| explained(&FolderFault::new(&file, fault), text, &file);
        let spec = tokenizer::read(text.as_bytes(), 0, Layout::Whole).map_err(explain)?;
        let model = word_piece(&spec).map_err(explain)?;
        let tokens = vocabulary(&spec, &file)?;
        let normalizer = normalizer(&spec).map_err(explain)?;
        check_words(&spec).map_err(explain)?;
        let ends = ends(&spec, &tokens).map_err(explain)?;
        let mut added = AddedTokens::default();
        for token in spec.added.iter() {
            let token = token.map_err(explain)?;
            let read = AddedToken::from_spec(&token).and_then(|read| added.add(token.id, read));
            read.map_err(|failure| failure.at(file.clone()))?;
        }
        Ok(Self { normalizer, unknown: model.unknown.to_string(), ends, tokens, added })
    }
}

/// The settings of the model, which has to be BERT's.
fn word_piece<'t>(spec: &TokenizerSpec<'t>) -> std::result::Result<WordPieceSpec<'t>, Fault<'t>> {
    let place = spec.model.place;
    let ModelKind::WordPiece(model) = spec.model.kind else {
        return Err(place.unsupported(&["type"], "an encoder's tokenizer has to be WordPiece here"));
    };
    if !model.prefix.is("##") {
        let prefix = "continuing_subword_prefix";
        return Err(place.unsupported(&[prefix], "only \"##\" is done here"));
    }
    if model.most_characters != MAX_WORD_CHARACTERS as u64 {
        let most = "max_input_chars_per_word";
        return Err(place.unsupported(&[most], "only 100 is done here"));
    }
    Ok(model)
}

/// The tokens in the order of their ids.
///
/// # Errors
///
/// Invalid or missing entries of the vocabulary; [`ErrorKind::NoMemory`].
fn vocabulary(spec: &TokenizerSpec<'_>, file: &str) -> Result<Numbered<Vec<u8>>> {
    let bad = |message: String| {
        Error::input(ErrorKind::BadVocabulary, format!("`model.vocab` {message}")).at(file)
    };
    let failed = |error| Error::in_file(file, error);
    let VocabularySpec::Ids(members) = spec.model.vocabulary else {
        return Err(bad("has no ids".into()));
    };
    let mut tokens = Vec::new();
    for (token, id) in members.members() {
        let token = limit::spelled(chars(token)).map_err(failed)?;
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| bad(format!("has no usable id for {token:?}")))?;
        limit::push(&mut tokens, (id, token.into_bytes())).map_err(failed)?;
    }
    Numbered::distinct(tokens).map_err(|id| bad(format!("has the id {id} twice")))
}

fn normalizer<'t>(spec: &TokenizerSpec<'t>) -> std::result::Result<Normalizer, Fault<'t>> {
    let only = "only BertNormalizer is done here";
    let [step] = &spec.normalizer[..] else {
        return Err(spec.place.unsupported(&["normalizer"], only));
    };
    match step.does {
        spec::Normalizer::Bert { cleans_text: false, .. } => {
            Err(step.place.unsupported(&["clean_text"], "only true is done here"))
        }
        spec::Normalizer::Bert { splits_ideographs, strips_accents, lowercases, .. } => {
            Ok(Normalizer {
                lower_case: lowercases,
                strip_accents: strips_accents,
                split_ideographs: splits_ideographs,
            })
        }
        _ => Err(step.unsupported(only)),
    }
}

fn check_words<'t>(spec: &TokenizerSpec<'t>) -> std::result::Result<(), Fault<'t>> {
    match &spec.pre_tokenizer[..] {
        [SpelledStep { does: PreTokenizer::Bert, .. }] => Ok(()),
        _ => Err(spec.place.unsupported(&[PRE_TOKENIZER], "only BertPreTokenizer is done here")),
    }
}

/// The tokens that a text has around it.
fn ends<'t>(
    spec: &TokenizerSpec<'t>,
    tokens: &Numbered<Vec<u8>>,
) -> std::result::Result<[String; 2], Fault<'t>> {
    let post = &spec.post_processor;
    let only = "only one token before and one after a text is done here";
    // The id counts for tokenizers, the token for transformers.
    let name = |token: Option<SpecialToken<'_>>| {
        let token = token?;
        let name = token.name.to_string();
        let is_known = tokens.get(token.id).is_none_or(|known| known == name.as_bytes());
        is_known.then_some(name)
    };
    let is_of_first = post.single.iter().all(|item| item.kind == 0);
    let ends = post.ends().filter(|_| is_of_first).map(|ends| ends.map(name));
    match ends {
        Some([Some(begin), Some(end)]) => Ok([begin, end]),
        _ => Err(spec.place.unsupported(&["post_processor", "single"], only)),
    }
}

/// Refuses a vocabulary with holes: an id without a token has a row in the model and no name.
pub(super) fn without_holes(tokens: Numbered<Vec<u8>>, path: &Path) -> Result<Vec<Vec<u8>>> {
    if let Some(hole) = tokens.hole() {
        let message = format!("no token has the id {hole}");
        return Err(Error::input(ErrorKind::BadVocabulary, message).at(name_of(path)));
    }
    tokens.into_values().map_err(|error| Error::in_file(name_of(path), error))
}
