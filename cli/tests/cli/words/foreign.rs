//! Files that are no word vectors and no models: each is named for what it is, by every command.

use super::Folder;
use crate::failure;

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn every_command_says_what_the_input_is() {
    let folder = Folder::new();
    let output = folder.join("out.fifu");
    let files: &[(&[u8], &str)] = &[
        (b"\x1f\x8b\x08\0rest", "a gzip file"),
        (b"PK\x03\x04\x14\0\0\0glove.txt", "a zip archive"),
        (b"PK\x03\x04\x14\0\0\0archive/data.pkl", "a PyTorch file"),
        (b"BZh91AY&SY\0\0", "a bzip2 file"),
        (b"\xfd7zXZ\0\0\x04", "an xz file"),
        (b"\x28\xb5\x2f\xfd\x24\x1d", "a zstd file"),
        (b"\x80\x04\x95\x10\0\0\0", "a pickle of Python"),
        (b"\x93NUMPY\x01\0v\0{'descr'", "a NumPy array"),
        (&wide("\u{feff}wald 0.1 0.2\n"), "text in UTF-16"),
        (&wide("wald 0.1 0.2\n"), "text in UTF-16"),
        (&wide("日本 0.1 0.2\n"), "text in UTF-16"),
        (b"<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (b"{\"a\": [0.1, 0.2]}\n", "JSON"),
        (b"", "an empty file"),
    ];
    for (bytes, what) in files {
        let file = folder.file("input.bin", bytes);
        for arguments in [
            &["convert", &file, &output][..],
            &["inspect", &file],
            &["embed", "-m", &file, "hello"],
            &["similar", &file, "hello"],
        ] {
            let said = failure(arguments, b"", 1);
            let start = format!("error[206]: {file}: this is {what}");
            assert!(said.starts_with(&start), "{arguments:?}: {said}");
            assert!(said.contains("hint: "), "{said}");
        }
        crate::nanoembed(&["verify", &file]).assert().code(1);
        assert!(!std::path::Path::new(&output).exists());
    }
}
