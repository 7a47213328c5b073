//! A decoder's tokenizer, on its way into a file and out of a folder of Hugging Face.

use std::path::Path;

use nanoembed_core::format::amb::{AmbTokenizerSpec, Payload};
pub use nanoembed_core::owned::Tokenizer;
use nanoembed_core::owned::{SentencePieceModel, Spelling};
use nanoembed_core::token::sentencepiece::{SentencePiece, Spec};
use nanoembed_core::token::{AddedRules, EndTokens, TextEnds, bpe};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::{Value, json};

use super::model_proto;
use crate::numbered::Numbered;

/// Added and special tokens of a Hugging Face folder, beside its SentencePiece model.
pub struct AddedTokens {
    /// Added tokens, which a text spells literally, by id.
    pub(crate) tokens: Numbered<String>,
    /// The matching rules of some of them.
    pub(crate) rules: Numbered<AddedRules>,
    /// The token that begins texts.
    pub begin: Around,
    /// The token after texts. It need not be one of those that end generation.
    pub append: Around,
    /// If it is empty, the model's end-of-text token ends texts.
    pub end: EndTokens,
}

/// A token that the tokenizer may put around texts.
#[derive(Default)]
pub struct Around {
    /// The token as the tokenizer's settings spell it.
    pub spelled: Option<String>,
    /// The default id where files do not name the token.
    pub usual: Option<u32>,
    /// True if it is put around every text.
    pub is_put: bool,
}

impl Around {
    /// Its id among added tokens and the pieces of a model.
    fn id(&self, tokens: &Numbered<String>, model: &SentencePiece<'_>) -> Option<u32> {
        let Some(spelled) = &self.spelled else { return self.usual };
        let added = tokens.iter().find(|(_, token)| *token == spelled).map(|(id, _)| id);
        let is_it = |id: &u32| model.piece(*id).is_some_and(|(piece, _)| piece == spelled);
        added.or_else(|| (0..model.spec().pieces()).find(is_it)).or(self.usual)
    }
}

/// From a serialized SentencePiece model and the tokens that a folder of Hugging Face adds to it.
pub fn from_hugging_face(
    model: Vec<u8>,
    added: AddedTokens,
) -> Result<Tokenizer<'static>, CoreError> {
    let AddedTokens { tokens, rules, begin, append, mut end } = added;
    let pieces_before = Spec::read(&model, 0)?.pieces();
    let model = model_proto::with_added(model, pieces_before, &tokens)?;
    let model = SentencePieceModel::open(model, 0)?;
    let pieces = model.tokenizer();
    if let Some(own) = pieces.end().filter(|_| end.first().is_none()) {
        end.push(own)?;
    }
    let begins = begin.id(&tokens, &pieces).or(pieces.begin());
    let appended = append.id(&tokens, &pieces).or(end.first());
    let ends = TextEnds {
        begin: begins.filter(|_| begin.is_put),
        append: appended.filter(|_| append.is_put),
        end,
    };
    let rules = |id: u32| rules.get(id).copied().unwrap_or_default();
    let added = limit::exactly(tokens.iter().map(|(id, _)| id))?;
    Tokenizer::from_ruled_pieces(model, (added, rules), begins, ends)
}

/// The model's beginning-of-text token, and its usual end-of-text token, which is also the one that
/// may be appended to every text.
pub fn begin_and_end(tokenizer: &Tokenizer<'_>) -> [Option<u32>; 2] {
    let ends = tokenizer.ends();
    [tokenizer.begin(), ends.append.or(ends.end.first())]
}

/// The tokens that end texts, the usual one first.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedTokenizer`] if another token is put after texts, or an added token strips
/// white space: files cannot express either.
pub fn end_ids(tokenizer: &Tokenizer<'_>) -> crate::Result<Vec<u32>> {
    if let Spelling::SentencePiece((model, _)) = tokenizer.spelling()
        && let Some(id) = model.ruled()
    {
        let token = tokenizer.token(id).unwrap_or_default();
        let message = format!(
            "the added token {token:?} has `lstrip`, `rstrip` or `single_word`, for which the file has no place"
        );
        return Err(crate::Error::input(ErrorKind::UnsupportedTokenizer, message));
    }
    let TextEnds { append, end, .. } = *tokenizer.ends();
    match append.filter(|append| !end.contains(*append)) {
        Some(append) => {
            let message = format!(
                "the tokenizer puts token {append} after every text, which is none of those that end one: the file would have one place for both"
            );
            Err(crate::Error::input(ErrorKind::UnsupportedTokenizer, message))
        }
        None => {
            let others = end.ids().iter().copied().filter(|id| Some(*id) != append);
            Ok(append.into_iter().chain(others).collect())
        }
    }
}

/// The split of byte-level BPE into words, and true if it takes whole words before merges; `None` for
/// SentencePiece.
pub fn pattern(tokenizer: &Tokenizer<'_>) -> Option<(bpe::Pattern, bool)> {
    match tokenizer.spelling() {
        Spelling::BytePairs(pairs) => Some((pairs.index().pattern, pairs.index().ignores_merges)),
        _ => None,
    }
}

/// The serialized model, if it is one of SentencePiece.
pub fn serialized_model<'t>(tokenizer: &'t Tokenizer<'_>) -> Option<&'t [u8]> {
    match tokenizer.spelling() {
        Spelling::SentencePiece((model, _)) => Some(model.model()),
        _ => None,
    }
}

/// The members of an AMB configuration that say how texts become ids.
///
/// # Errors
///
/// As [`end_ids`]; [`ErrorKind::NoMemory`].
pub fn amb_config(tokenizer: &Tokenizer<'_>) -> crate::Result<serde_json::Map<String, Value>> {
    let (ends, end_ids) = (tokenizer.ends(), end_ids(tokenizer)?);
    let mut config = serde_json::Map::new();
    if let Spelling::BytePairs(pairs) = tokenizer.spelling() {
        let pairs = pairs.index();
        config.insert(bpe::Pattern::KEY.into(), pairs.pattern.name().into());
        config.insert("ignore_merges".into(), pairs.ignores_merges.into());
        if pairs.composes {
            config.insert("normalizer".into(), "nfc".into());
        }
    }
    let added = limit::exactly(tokenizer.added().iter().map(|id| Value::from(*id)));
    let added = added.map_err(|error| crate::Error::in_file("the tokenizer", error))?;
    config.insert("added_tokens".into(), Value::Array(added));
    config.insert("add_bos".into(), ends.begin.is_some().into());
    if ends.append.is_some() {
        config.insert("add_eos".into(), true.into());
    }
    if end_ids.len() > 1 {
        config.insert("end_tokens".into(), json!(end_ids));
    }
    Ok(config)
}

/// Merges, as two spellings each, and tokens.
pub type Borrowed<'t> = (Vec<(&'t str, &'t str)>, Vec<&'t [u8]>);

/// Merges and tokens as [`amb_spec`] borrows them.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub fn borrowed<'t>(tokenizer: &'t Tokenizer<'_>) -> Result<Borrowed<'t>, CoreError> {
    match tokenizer.spelling() {
        Spelling::BytePairs(pairs) => pairs.borrowed(),
        _ => Ok((Vec::new(), Vec::new())),
    }
}

/// The tokenizer in the form of an `.amb` file.
pub fn amb_spec<'a>(
    tokenizer: &'a Tokenizer<'_>,
    merges: &'a [(&'a str, &'a str)],
    tokens: &'a [&'a [u8]],
) -> AmbTokenizerSpec<'a> {
    let [begin, end] = begin_and_end(tokenizer);
    match tokenizer.spelling() {
        Spelling::SentencePiece((model, _)) => {
            let pieces = model.tokenizer();
            let (padding, unknown) = (pieces.padding(), pieces.unknown());
            AmbTokenizerSpec {
                special: [begin, end, padding, unknown, None],
                payload: Payload::SentencePiece(model.model()),
            }
        }
        _ => AmbTokenizerSpec {
            special: [begin, end, None, None, None],
            payload: Payload::Bpe { merges, tokens },
        },
    }
}

/// True if a file's name is that of a SentencePiece model.
pub fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "model")
}
