//! BERT's tokenizer in folders from before there was `tokenizer.json`: `vocab.txt`, a token a line,
//! and `tokenizer_config.json`, of which transformers makes one.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderResult, Texts};
use crate::error::{Error, ErrorKind};
use crate::limit::{collected, joined};
use crate::owned::Pipeline;
use crate::text::json::Fault;
use crate::token::AddedRules;
use crate::token::spec::{
    AddedTokenSpec, AddedTokenSpecs, BertSpec, JsonPlace, SpecialToken, SpelledText,
};

const FILE: &str = "vocab.txt";

/// The settings of the vocabulary in `tokenizer_config.json`.
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
    let path = joined(&[module, FILE])?;
    let fault = |kind, key| {
        let error = Error::without_offset(kind);
        FolderFault::new(&path, Fault { error, key, only: "" })
    };
    let text = texts(&path).map_err(|error| FolderFault::new(&path, Fault::from_error(error)))?;
    let Some(text) = text else { return Ok(None) };
    let tokens: Vec<&str> = collected(text.lines())?;
    let found = settings.names.each_ref().map(|name| with_id(&tokens, name));
    let [_, Some(unknown), Some(begin), Some(end), _] = found else {
        return Err(fault(ErrorKind::BadVocabulary, "unk_token, cls_token or sep_token"));
    };
    let added: Vec<AddedTokenSpec<'_>> = collected(found.iter().flatten().map(special))?;
    let spec = BertSpec {
        added: AddedTokenSpecs::Listed(&added),
        splits_ideographs: settings.splits_chinese.unwrap_or(true),
        strips_accents: settings.strips_accents,
        lowercases: settings.lowercase.unwrap_or(true),
        begin,
        end,
        unknown: unknown.name,
        tokens: tokens.len(),
    };
    let pipeline = Pipeline::from_spec(&spec.into(), &tokens, None, &[]);
    pipeline.map(Some).map_err(|wrong| fault(wrong.error.kind(), ""))
}

/// Of tokens that stand there twice, programs take the last.
fn with_id<'t>(tokens: &[&'t str], name: &String) -> Option<SpecialToken<'t>> {
    let id = tokens.iter().rposition(|token| token == name)?;
    let name = SpelledText::plain(tokens.get(id)?);
    Some(SpecialToken { id: u32::try_from(id).ok()?, name })
}

const fn special<'t>(token: &SpecialToken<'t>) -> AddedTokenSpec<'t> {
    AddedTokenSpec {
        id: token.id,
        content: token.name,
        rules: AddedRules { strips_before: false, strips_after: false, single_word: false },
        normalized: false,
        special: true,
        place: JsonPlace::NONE,
    }
}
