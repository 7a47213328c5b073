//! BERT's tokenizer in folders from before there was `tokenizer.json`: `vocab.txt`, a token a line,
//! and `tokenizer_config.json`, of which transformers makes one.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderResult, Texts};
use crate::error::{Error, ErrorKind};
use crate::owned::Pipeline;
use crate::owned::tokenizer_json::{Added, WordPieces, word_pieces};
use crate::text::json::Fault;

const FILE: &str = "vocab.txt";

/// A token with a role, by its id.
type Token<'t> = (u32, &'t str);

/// What `tokenizer_config.json` says of it.
pub(super) struct WordSettings {
    /// The tokens that pad, stand for the unknown, begin, end, and mask.
    pub(super) names: [String; 5],
    pub(super) splits_chinese: Option<bool>,
    pub(super) strips_accents: Option<bool>,
    pub(super) lowercase: Option<bool>,
}

/// The tokenizer of the folder's `module`; `None` without `vocab.txt`.
pub(super) fn tokenizer(
    texts: Texts<'_, '_>,
    module: &str,
    settings: &WordSettings,
) -> FolderResult<Option<Pipeline>> {
    let path = [module, FILE].concat();
    let fault = |kind, key| {
        let error = Error::without_offset(kind);
        FolderFault::new(&path, Fault { error, key, only: "" })
    };
    let text = texts(&path).map_err(|error| FolderFault::new(&path, Fault::of(error)))?;
    let Some(text) = text else { return Ok(None) };
    let tokens: Vec<&str> = text.lines().collect();
    let found = settings.names.each_ref().map(|name| with_id(&tokens, name));
    let [_, Some((_, unknown)), Some(begin), Some(end), _] = found else {
        return Err(fault(ErrorKind::BadVocabulary, "unk_token, cls_token or sep_token"));
    };
    let settings = word_pieces(WordPieces {
        added: found.iter().flatten().map(special).collect(),
        splits_chinese: settings.splits_chinese.unwrap_or(true),
        strips_accents: settings.strips_accents,
        lowercase: settings.lowercase.unwrap_or(true),
        begin,
        end,
        unknown,
        tokens: tokens.len(),
    });
    // What is wrong has a place in a text that is in no file.
    let pipeline = Pipeline::from_parts(&settings, &tokens, None, &[]);
    pipeline.map(Some).map_err(|wrong| fault(wrong.error.kind(), ""))
}

/// Of tokens that stand there twice, programs take the last.
fn with_id<'t>(tokens: &[&'t str], name: &String) -> Option<Token<'t>> {
    let id = tokens.iter().rposition(|token| token == name)?;
    Some((u32::try_from(id).ok()?, tokens.get(id)?))
}

const fn special<'t>(&(id, content): &Token<'t>) -> Added<'t> {
    Added { id, content, is_special: true, is_normalized: false, strips_before: false }
}
