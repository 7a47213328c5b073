//! The texts of a folder that a file keeps.

use crate::error::Error;
use crate::model::folder_file::FolderFile;
use crate::text::json::{Fault, Object, Read, Value, is};

/// The text called `name` of the module in `folder`, which is spelled as JSON spells it.
pub(super) fn text<'a>(file: &FolderFile<'a>, folder: &str, name: &str) -> Option<&'a str> {
    let is_it = |path: &str| match path.strip_suffix(name) {
        Some("") => folder.is_empty(),
        Some(before) => before.strip_suffix('/').is_some_and(|it| is(folder, it)),
        None => false,
    };
    file.text(is_it)
}

/// The same as a value of JSON.
pub(super) fn value<'a>(
    file: &FolderFile<'a>,
    folder: &str,
    name: &str,
) -> Read<'a, Option<Value<'a>>> {
    let text = text(file, folder, name);
    text.map(|text| Value::parse(text, 0).map_err(Fault::of)).transpose()
}

/// The same as an object of JSON.
pub(super) fn object<'a>(
    file: &FolderFile<'a>,
    folder: &str,
    name: &str,
) -> Read<'a, Option<Object<'a>>> {
    value(file, folder, name)?.map(Object::new).transpose()
}

/// A fault of what is called so.
pub(super) const fn fault(error: Error, key: &'static str) -> Fault<'static> {
    let mut fault = Fault::of(error);
    fault.key = key;
    fault
}
