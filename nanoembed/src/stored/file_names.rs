//! Names of files that belong together: shards of UQFF, parts of GGUF and safetensors.

use std::path::{Path, PathBuf};

/// True if a file is called like one of safetensors.
pub fn is_safetensors(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "safetensors")
}

/// True if a file is called like one of UQFF.
pub fn is_uqff_name(path: &Path) -> bool {
    has_ending(path, "uqff")
}

pub(super) fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// `NAME-3.uqff` is shard 3 of `NAME`.
pub(super) fn shard_number(path: &Path) -> Option<(String, u32)> {
    let (stem, number) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    let canonical = number == "0" || !number.starts_with(['0', '+']);
    (has_ending(path, "uqff") && canonical).then_some((stem.to_owned(), number.parse().ok()?))
}

pub(super) fn uqff_shards(path: &Path) -> Vec<PathBuf> {
    let further = (1..).map_while(|number| uqff_shard(path, number));
    let mut shards = vec![path.to_owned()];
    shards.extend(further.take_while(|shard| shard.exists()));
    shards
}

/// The name of shard `number` after `first`, if that is called like the first of several.
pub fn uqff_shard(first: &Path, number: usize) -> Option<PathBuf> {
    let (stem, 0) = shard_number(first)? else { return None };
    let ending = first.extension()?.to_str()?;
    Some(first.with_file_name(format!("{stem}-{number}.{ending}")))
}

/// All parts of a model in parts, if `path` is called like one of them.
pub(super) fn parts(path: &Path) -> Option<Vec<PathBuf>> {
    let (front, count) = path.file_stem()?.to_str()?.rsplit_once("-of-")?;
    let (stem, number) = front.rsplit_once('-')?;
    let digits = |text: &str| (text.len() == 5).then(|| text.parse::<u32>().ok()).flatten();
    let (_, count) = (digits(number)?, digits(count)?);
    let ending = path.extension()?.to_str()?;
    let name = |k: u32| path.with_file_name(format!("{stem}-{k:05}-of-{count:05}.{ending}"));
    Some((1..=count).map(name).collect())
}

/// Several files joined by `;`, as the reference takes them.
pub(super) fn joined(path: &Path) -> Option<Vec<PathBuf>> {
    let text = path.to_str().filter(|text| text.contains(';') && !path.exists())?;
    Some(text.split(';').map(PathBuf::from).collect())
}

/// The folder that `path` names, or the folder of the file, or of the first of several joined by
/// `;`.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let joined = joined(path);
    let first = joined.as_ref().and_then(|files| files.first()).map_or(path, PathBuf::as_path);
    let parent = first.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_in_one_spelling() {
        let number = |name: &str| shard_number(Path::new(name)).map(|(_, number)| number);
        assert_eq!(number("a/q4k-0.uqff"), Some(0));
        assert_eq!(number("q4k-12.uqff"), Some(12));
        for other in ["q4k.uqff", "q4k-01.uqff", "q4k-+1.uqff", "q4k-1.gguf"] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn parts_name_their_number() {
        let all = parts(Path::new("x/model-00002-of-00003.safetensors")).unwrap();
        assert_eq!(all[0], Path::new("x/model-00001-of-00003.safetensors"));
        assert_eq!(all.len(), 3);
        assert_eq!(parts(Path::new("model-2-of-3.safetensors")), None);
    }
}
