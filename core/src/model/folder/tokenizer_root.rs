//! A `tokenizer.json` as a whole.

use super::truncation::truncation;
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Object, Read, Value};

/// Its members, of `bytes` that lie at the absolute `offset`. Version and truncation have been
/// checked.
pub(crate) fn read(bytes: &[u8], offset: u64) -> Read<'_, Object<'_>> {
    let bad = Fault::of(Error::new(offset, ErrorKind::BadVocabulary));
    let json = core::str::from_utf8(bytes).map_err(|_| bad)?;
    let root = Object::new(Value::parse(json, offset).map_err(Fault::of)?)?;
    root.neutral("version", "only version 1.0 is known", |it| it.is_text("1.0"))?;
    truncation(&root)?;
    Ok(root)
}

/// The member `vocab` of a model whose tokens lie elsewhere in the file: their number is to be that
/// of its `ids`.
#[cfg(feature = "embd")]
pub(crate) fn vocabulary<'t>(model: &Object<'t>, tokens: u32) -> Read<'t, Object<'t>> {
    let vocabulary = model.needed("vocab", model.object("vocab")?)?;
    number_of_tokens(&vocabulary, "ids", tokens)?;
    Ok(vocabulary)
}

/// Checks the member `vocab` of a model in which every id has a token.
#[cfg(feature = "folder-models")]
pub(crate) fn check_whole_vocabulary<'t>(model: &Object<'t>, tokens: u32) -> Read<'t, ()> {
    let vocabulary = vocabulary(model, tokens)?;
    number_of_tokens(&vocabulary, "count", tokens)?;
    vocabulary.finish(&[])
}

#[cfg(feature = "embd")]
fn number_of_tokens<'t>(vocabulary: &Object<'t>, name: &'static str, tokens: u32) -> Read<'t, ()> {
    let only = "each token of the file is to be one of its vocabulary";
    vocabulary.neutral(name, only, |it| it.as_u64() == Some(tokens.into()))?;
    vocabulary.needed(name, vocabulary.get(name)).map(drop)
}
