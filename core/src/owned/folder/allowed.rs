//! Members of texts that nobody knows, and that a caller wants passed over all the same.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderResult, Texts};
use crate::error::{Error, ErrorKind, Result};
use crate::text::json::{UNKNOWN, Value};

impl FolderFault {
    /// Returns true if the setting is rejected because nobody knows what it changes.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.only == UNKNOWN
    }
}

/// Returns the result of `read` on `texts`, in which unknown members of these `names` count as
/// absent; `passed` is told each of them. Members that are known are honoured or rejected as ever.
///
/// `read` has no other effect than its result, as it runs again for each such member.
///
/// # Errors
///
/// As `read`.
pub fn read_allowing<R>(
    texts: Texts<'_, '_>,
    names: &[String],
    passed: &mut dyn FnMut(&FolderFault),
    read: &dyn Fn(Texts<'_, '_>) -> FolderResult<R>,
) -> FolderResult<R> {
    let mut absent: Vec<FolderFault> = Vec::new();
    loop {
        let without = |path: &str| {
            let text = texts(path)?;
            let places = absent.iter().filter(|fault| fault.file == path);
            places.filter_map(|fault| fault.error.offset()).try_fold(text, |text, offset| {
                text.map(|text| without_value(&text, offset).map(Cow::Owned)).transpose()
            })
        };
        match read(&without) {
            Err(fault) if fault.is_unknown() && names.contains(&fault.key) => {
                // The same member again would be none that can be found.
                if absent.contains(&fault) {
                    return Err(fault);
                }
                passed(&fault);
                absent.push(fault);
            }
            outcome => return outcome,
        }
    }
}

/// The text with null in place of the value at `offset`; what follows keeps its place, if the value
/// is no shorter than that.
fn without_value(text: &str, offset: u64) -> Result<String> {
    const NULL: &str = "null";
    let bad = Error::new(offset, ErrorKind::BadMetadata);
    let start = usize::try_from(offset).map_err(|_| bad)?;
    let value = Value::at(text, start).ok_or(bad)?;
    let end = start + value.spelling().len();
    let (before, after) = (text.get(..start).ok_or(bad)?, text.get(end..).ok_or(bad)?);
    let spaces = " ".repeat(value.spelling().len().saturating_sub(NULL.len()));
    Ok([before, NULL, &spaces, after].concat())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::cell::RefCell;

    use super::*;
    use crate::owned::folder::FolderModel;

    const CONFIG: &str = r#"{"model_type": "bert", "is_matryoshka": [1, {"a": "}"}], "hidden_size": 4,
        "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 9,
        "max_position_embeddings": 16, "e": 1, "other": {}}"#;

    #[test]
    fn unknown_members_of_these_names_count_as_absent_and_are_told() {
        let read = |names: &[&str]| {
            let texts = |path: &str| Ok((path == "config.json").then_some(Cow::Borrowed(CONFIG)));
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let told = RefCell::new(Vec::new());
            let read = read_allowing(
                &texts,
                &names,
                &mut |fault| told.borrow_mut().push(fault.key.clone()),
                &|texts| FolderModel::read(texts).map(|model| model.family()),
            );
            (read.map_err(|fault| fault.key), told.into_inner())
        };
        let all = ["is_matryoshka", "e", "other"];
        assert_eq!(read(&all), (Ok("bert"), all.map(String::from).to_vec()));
        assert_eq!(read(&["e"]), (Err("is_matryoshka".into()), Vec::new()));
        assert_eq!(read(&["is_matryoshka", "e"]).0, Err("other".into()));
        // A member that is known is not passed over.
        let (model, told) = read(&["is_matryoshka", "e", "other", "hidden_size"]);
        assert_eq!((model, told.len()), (Ok("bert"), 3));
    }
}
