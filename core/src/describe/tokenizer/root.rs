//! A `tokenizer.json` as a whole.

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Object, Read, Value};

/// Its members; `bytes` are at the absolute `offset`. Checks the version.
pub(super) fn read(bytes: &[u8], offset: u64) -> Read<'_, Object<'_>> {
    let bad = Fault::from_error(Error::new(offset, ErrorKind::BadVocabulary));
    let json = core::str::from_utf8(bytes).map_err(|_| bad)?;
    let root = Object::new(Value::parse(json, offset).map_err(Fault::from_error)?)?;
    root.neutral("version", "only version 1.0 is known", |it| it.is_text("1.0"))?;
    Ok(root)
}
