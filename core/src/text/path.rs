//! Paths by which a file refers to others of its folder: modules, parts of weights.
//!
//! Such a path comes from the file's author. It is accepted only if it stays within the folder on
//! every system, whether it is opened as a file or becomes part of a URL.

/// Returns true if `path` stays within its folder: it is relative, and none of its components leads
/// upwards or to another drive, stream, scheme or host. The empty path is the folder itself.
#[must_use]
pub fn stays_within(path: &str) -> bool {
    let is_absolute = path.as_bytes().first() == Some(&b'/');
    !is_absolute && path.as_bytes().split(|byte| *byte == b'/').all(is_plain)
}

/// Returns true if `name` is a plain file name, without folders.
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    let name = name.as_bytes();
    !name.is_empty() && name != b"." && !name.contains(&b'/') && is_plain(name)
}

/// Returns true if a path component is a plain name, empty or `.`. Windows ignores dots and spaces
/// at the end of a name, so that `.. ` would be `..` there; URL parsers remove control characters.
fn is_plain(part: &[u8]) -> bool {
    let is_name = part.iter().any(|byte| !matches!(byte, b'.' | b' '));
    let is_special = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'\\' | b':');
    (is_name || matches!(part, b"" | b".")) && !part.iter().any(is_special)
}

#[cfg(test)]
mod tests {
    use super::{is_file_name, stays_within};

    /// Paths that leave the folder on some system or in some URL.
    const LEAVING: [&str; 20] = [
        "..",
        "../x",
        "a/../../b",
        "a/..",
        ".. /x",
        ".../x",
        "/x",
        "//host/x",
        "\t//host/x",
        "\\\\host\\x",
        "..\\x",
        "C:x",
        "C:/x",
        "http://127.0.0.1:8080/internal",
        "http:/x",
        "file:../x",
        "file:///x",
        "a:stream",
        "a\0",
        // `..` in JSON escapes: paths are also compared as they are spelled.
        r"\u002e\u002e/a",
    ];

    #[test]
    fn paths_that_leave_the_folder_are_told() {
        for path in LEAVING {
            assert!(!stays_within(path), "{path:?}");
            assert!(!is_file_name(path), "{path:?}");
        }
        // Percent signs are ordinary characters of a name; code that builds URLs escapes them.
        for path in
            ["", ".", "1_Pooling", "1_Pooling/", "./a", "a//b", "..a/b..", "%2e%2e/x", "é ü"]
        {
            assert!(stays_within(path), "{path:?}");
        }
    }

    #[test]
    fn names_of_files_have_no_folder() {
        for name in ["model-00001-of-00002.safetensors", "..model", "a b", "%2e%2e"] {
            assert!(is_file_name(name), "{name:?}");
        }
        for other in ["", ".", "a/b", "a/", "./a"] {
            assert!(!is_file_name(other), "{other:?}");
        }
    }
}
