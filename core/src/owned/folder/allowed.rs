//! Unknown settings of a folder's texts that the caller lets pass by name.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderModel, FolderResult, Texts};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{filled, joined, push};
use crate::text::json::{UNKNOWN, Value};

impl FolderFault {
    /// Returns true if the setting is rejected because nobody knows what it changes.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.only == UNKNOWN
    }

    /// Returns true if the setting is unknown and has one of these `names`.
    #[must_use]
    pub fn is_allowed(&self, names: &[String]) -> bool {
        self.is_unknown() && names.contains(&self.key)
    }

    /// Returns `text` with null in place of the value at fault. Text after the value keeps its
    /// offset, unless the value is shorter than `null`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if `text` has no value there, or null; [`ErrorKind::NoMemory`].
    pub fn without_value(&self, text: &str) -> Result<String> {
        without_value(text, self.error.offset().unwrap_or(u64::MAX))
    }

    /// The warning that the setting is ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn warning(&self) -> Result<String> {
        ignored_setting(&self.file, &self.key)
    }
}

/// The warning that the unknown setting `name` of `file` is ignored.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub fn ignored_setting(file: &str, name: &str) -> Result<String> {
    joined(&[file, ": `", name, "` is passed over; nobody here knows what it changes"])
}

/// Unknown settings of a folder's texts that count as absent.
#[derive(Clone, Debug, Default)]
pub struct AbsentSettings(Vec<FolderFault>);

impl AbsentSettings {
    /// Finds the unknown settings of these `names` in a folder's texts, but for the index of its
    /// weights. Reads no text if there are no names.
    ///
    /// # Errors
    ///
    /// The fault of a text that remains without these settings.
    pub fn in_folder(texts: Texts<'_, '_>, names: &[String]) -> FolderResult<Self> {
        Self::in_texts(texts, names, &|model, texts| model.tokenizer(texts).map(drop))
    }

    /// As [`in_folder`](Self::in_folder), for texts of which `tokenizer` reads the tokenizer's.
    ///
    /// # Errors
    ///
    /// As [`in_folder`](Self::in_folder).
    pub(crate) fn in_texts(
        texts: Texts<'_, '_>,
        names: &[String],
        tokenizer: &dyn Fn(&FolderModel, Texts<'_, '_>) -> FolderResult<()>,
    ) -> FolderResult<Self> {
        if names.is_empty() {
            return Ok(Self::default());
        }
        let found = find_absent(texts, names, &|texts| {
            let model = FolderModel::read(texts)?;
            model.prompts(texts)?;
            model.labels(texts)?;
            tokenizer(&model, texts)
        });
        found.map(|((), absent)| absent)
    }

    /// The settings and their places.
    #[must_use]
    pub fn faults(&self) -> &[FolderFault] {
        &self.0
    }

    /// The text at `path` of `texts`, without these settings.
    ///
    /// # Errors
    ///
    /// As `texts` and [`FolderFault::without_value`].
    pub fn text<'t>(&self, texts: Texts<'_, 't>, path: &str) -> Result<Option<Cow<'t, str>>> {
        let mut faults = self.0.iter().filter(|fault| fault.file == path);
        let apply = |text| {
            faults.try_fold(text, |text: Cow<'t, str>, fault| {
                fault.without_value(&text).map(Cow::Owned)
            })
        };
        texts(path)?.map(apply).transpose()
    }
}

/// Returns the result of `read` on `texts`, in which unknown members of these `names` count as
/// absent; `passed` receives each of them. Known members are honoured or rejected as ever.
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
    let (result, absent) = find_absent(texts, names, read)?;
    absent.0.iter().for_each(passed);
    Ok(result)
}

/// As [`read_allowing`], and returns the settings that count as absent.
fn find_absent<R>(
    texts: Texts<'_, '_>,
    names: &[String],
    read: &dyn Fn(Texts<'_, '_>) -> FolderResult<R>,
) -> FolderResult<(R, AbsentSettings)> {
    let mut absent = AbsentSettings::default();
    loop {
        let without = |path: &str| absent.text(texts, path);
        match read(&without) {
            Err(fault) if fault.is_allowed(names) => push(&mut absent.0, fault)?,
            outcome => return outcome.map(|result| (result, absent)),
        }
    }
}

/// The text with null in place of the value at `offset`; what follows keeps its place, if the value
/// is no shorter than that.
fn without_value(text: &str, offset: u64) -> Result<String> {
    const NULL: &str = "null";
    let bad = Error::new(offset, ErrorKind::BadMetadata);
    let start = usize::try_from(offset).map_err(|_| bad)?;
    // What is null counts as absent: a fault there would come again and again.
    let value = Value::at(text, start).filter(|value| !value.is_null()).ok_or(bad)?;
    let end = start + value.spelling().len();
    let (before, after) = (text.get(..start).ok_or(bad)?, text.get(end..).ok_or(bad)?);
    let spaces = filled(value.spelling().len().saturating_sub(NULL.len()), b' ')?;
    joined(&[before, NULL, core::str::from_utf8(&spaces).unwrap_or_default(), after])
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::cell::RefCell;

    use super::*;

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
