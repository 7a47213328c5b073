//! Files of formats that are not read here, named by their first bytes: the error names the likely
//! kind of the file and a way to make it readable.

use std::fmt::Display;

use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::Error;
use crate::files::BYTE_ORDER_MARK;
use crate::signature::word_form::{Form, HEAD_BYTES, is_number};

/// The likely kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// With its article: "a gzip file".
    pub what: &'static str,
    /// The hint for the user.
    pub hint: &'static str,
}

const UNPACK: &str =
    "it is compressed or an archive: unpack it first, then name the file that was in it";
const TO_UTF8: &str =
    "save it as UTF-8: `iconv -f UTF-16 -t UTF-8 IN > OUT`, or UTF-32 in place of UTF-16";
const PICKLE: &str = "a pickle is a program, which is not run here; with gensim, `KeyedVectors.load(…)` or `Word2Vec.load(…).wv`, then `save_word2vec_format(…)`, writes a file that `nanoembed convert` reads; with PyTorch, save the weights as safetensors";
const NUMPY: &str = "an array has no words: write each row after its word as a line of text";
const DOWNLOAD: &str = "perhaps the answer of a web server instead of the file: download it again and look at it with `head`";
const JSON: &str = "if it belongs to a model, name the model's folder instead; if it should be another file, it may be the answer of a web server: download it again";
const LFS: &str = "`git lfs pull` in its repository fetches the file itself";
const OTHER: &str = "export what is in it as text, safetensors or GGUF";
const OLD_GGML: &str = "llama.cpp's scripts of its time convert such files to GGUF; most models can be downloaded as GGUF";
const SWAPPED: &str = "little-endian files are read here: convert the model anew, or load it with gensim and save it again";
const CSV: &str =
    "separate a word and its numbers by blanks or tabs, and write decimals with a point";

/// First bytes, where they stand, and what begins so.
const SIGNATURES: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\x1f\x8b", "a gzip file", UNPACK),
    (0, b"\x1f\x9d", "a file packed with compress (.Z)", UNPACK),
    (0, b"BZh", "a bzip2 file", UNPACK),
    (0, b"\xfd7zXZ\0", "an xz file", UNPACK),
    (0, b"\x5d\0\0\x80\0", "an lzma file", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file", UNPACK),
    (0, b"\x04\x22\x4d\x18", "an lz4 file", UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (0, b"Rar!\x1a\x07", "a rar archive", UNPACK),
    (257, b"ustar", "a tar archive", UNPACK),
    (0, b"\x93NUMPY", "a NumPy array (.npy)", NUMPY),
    (0, b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9", "a PyTorch file, which is a pickle", PICKLE),
    (0, b"\x80\x02", "a pickle of Python", PICKLE),
    (0, b"\x80\x03", "a pickle of Python", PICKLE),
    (0, b"\x80\x04", "a pickle of Python", PICKLE),
    (0, b"\x80\x05", "a pickle of Python", PICKLE),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", OTHER),
    (0, b"SQLite format 3\0", "an SQLite database, as Magnitude's files are", OTHER),
    (0, b"PAR1", "a Parquet file", OTHER),
    (0, b"ARROW1\0\0", "an Arrow file", OTHER),
    (4, b"TFL3", "a TensorFlow Lite model", OTHER),
    (0, b"%PDF-", "a PDF file", OTHER),
    (0, b"\x89PNG\r\n", "a picture", OTHER),
    (0, b"\xff\xd8\xff", "a picture", OTHER),
    (0, b"\x7fELF", "a program", OTHER),
    (0, b"lmgg", "a ggml file from before GGUF", OLD_GGML),
    (0, b"fmgg", "a ggml file from before GGUF", OLD_GGML),
    (0, b"tjgg", "a ggml file from before GGUF", OLD_GGML),
    (0, b"\x2f\x4f\x16\xba", "a fastText model of a big-endian machine", SWAPPED),
];

/// Beginnings of texts, in lower case and after leading blanks.
const TEXTS: &[(&str, &str, &str)] = &[
    (
        "version https://git-lfs.github.com/spec/",
        "a Git LFS pointer, not the file it stands for",
        LFS,
    ),
    ("<!doctype html", "an HTML page", DOWNLOAD),
    ("<html", "an HTML page", DOWNLOAD),
    ("<?xml", "an XML document", DOWNLOAD),
    ("ccopy_reg\n", "a pickle of Python", PICKLE),
    ("ccopyreg\n", "a pickle of Python", PICKLE),
    ("(dp0\n", "a pickle of Python", PICKLE),
    ("(dp1\n", "a pickle of Python", PICKLE),
    ("(lp0\n", "a pickle of Python", PICKLE),
    ("(lp1\n", "a pickle of Python", PICKLE),
];

/// The kind of file that starts with these bytes, if it can be neither a model nor vectors, as text
/// or binary.
pub fn unmistakable(head: &[u8]) -> Option<Foreign> {
    let stands =
        |at: usize, bytes: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(bytes));
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Some(zip(head));
    }
    // Letters may begin a word: what follows them decides.
    let is_letters = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_alphanumeric);
    let first_line = head.split(|&byte| byte == b'\n').next().unwrap_or(head);
    let is_text = first_line.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    let found = SIGNATURES
        .iter()
        .find(|(at, bytes, ..)| stands(*at, bytes) && !(*at == 0 && is_letters(bytes) && is_text));
    found.map(|&(_, _, what, hint)| Foreign { what, hint }).or_else(|| wide_text(head))
}

/// A zip archive, or the format that it contains.
fn zip(head: &[u8]) -> Foreign {
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    if has(b"data.pkl") {
        Foreign { what: "a PyTorch file, which has a pickle in it", hint: PICKLE }
    } else if has(b".npy") {
        Foreign { what: "a NumPy archive (.npz)", hint: NUMPY }
    } else {
        Foreign { what: "a zip archive", hint: UNPACK }
    }
}

/// The number of first bytes that tell text of two or four bytes a letter.
const WIDE_BYTES: usize = 256;

/// Text of two or four bytes a letter, with or without a byte order mark.
fn wide_text(head: &[u8]) -> Option<Foreign> {
    let start = head.get(..head.len().min(WIDE_BYTES)).unwrap_or(head);
    let is_letter = |byte: u8| byte >= b' ' || byte.is_ascii_whitespace();
    let lanes = |width: usize, lane: usize| {
        start.chunks_exact(width).all(|unit| {
            unit.iter().enumerate().all(|(at, &byte)| match at == lane {
                true => is_letter(byte),
                false => byte == 0,
            })
        })
    };
    let is_wide =
        |width: usize| start.len() >= 2 * width && (lanes(width, 0) || lanes(width, width - 1));
    let what = match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "text in UTF-32",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "text in UTF-16",
        _ if is_wide(4) || has_numbers(&utf32(start)) => "text in UTF-32",
        _ if is_wide(2) || has_numbers(&utf16(start)) => "text in UTF-16",
        _ => return None,
    };
    Some(Foreign { what, hint: TO_UTF8 })
}

/// The start as UTF-16 without a byte order mark, little-endian and big-endian, up to where it is
/// none.
fn utf16(start: &[u8]) -> [ShortText; 2] {
    let pairs = || start.chunks_exact(2).filter_map(|pair| pair.try_into().ok());
    let text = |units: &mut dyn Iterator<Item = u16>| {
        char::decode_utf16(units).map_while(Result::ok).collect()
    };
    [text(&mut pairs().map(u16::from_le_bytes)), text(&mut pairs().map(u16::from_be_bytes))]
}

/// The start as UTF-32, likewise.
fn utf32(start: &[u8]) -> [ShortText; 2] {
    let fours = || start.chunks_exact(4).filter_map(|four| four.try_into().ok());
    let text = |units: &mut dyn Iterator<Item = u32>| units.map_while(char::from_u32).collect();
    [text(&mut fours().map(u32::from_le_bytes)), text(&mut fours().map(u32::from_be_bytes))]
}

/// A text of at most [`WIDE_BYTES`] in UTF-16 or UTF-32.
struct ShortText {
    utf8: [u8; WIDE_BYTES / 2 * 3],
    bytes: usize,
}

impl FromIterator<char> for ShortText {
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Self {
        let mut text = Self { utf8: [0; _], bytes: 0 };
        for c in characters {
            let rest = text.utf8.get_mut(text.bytes..);
            let Some(rest) = rest.filter(|rest| rest.len() >= c.len_utf8()) else { break };
            text.bytes += c.encode_utf8(rest).len();
        }
        text
    }
}

impl ShortText {
    fn as_str(&self) -> &str {
        str::from_utf8(&self.utf8[..self.bytes]).unwrap_or_default()
    }
}

/// True if one of these is text with numbers in it, which other bytes are hardly mistaken for.
fn has_numbers(texts: &[ShortText; 2]) -> bool {
    texts.iter().map(ShortText::as_str).any(|text| {
        let is_text = !text.chars().any(|c| c.is_control() && !c.is_whitespace());
        let numbers = text.split_whitespace().filter(|field| is_number(field.as_bytes()));
        is_text && numbers.count() >= 2
    })
}

/// The likely kind of a file that starts with these bytes, which are all of it if `at_end`.
pub fn seems(head: &[u8], at_end: bool) -> Option<Foreign> {
    if head.is_empty() {
        return Some(Foreign { what: "an empty file", hint: "perhaps an unfinished download" });
    }
    if let Some(foreign) = unmistakable(head) {
        return Some(foreign);
    }
    let head = head.get(..head.len().min(HEAD_BYTES)).unwrap_or(head);
    if let Some(form) = Form::sniff(head, at_end) {
        return words(form);
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let lower = text.get(..text.len().min(64)).unwrap_or(text).to_ascii_lowercase();
    let named = TEXTS.iter().find(|(start, ..)| lower.starts_with(start.as_bytes()));
    if let Some(&(_, what, hint)) = named {
        return Some(Foreign { what, hint });
    }
    let is_text = text.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    if !is_text {
        return None;
    }
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or(text);
    Some(match first {
        [b'{' | b'[', ..] => Foreign { what: "JSON", hint: JSON },
        _ if has_commas(first) => Foreign { what: "text with commas among its numbers", hint: CSV },
        _ => Foreign {
            what: "text, neither a model nor word vectors",
            hint: "models are `.weights`, `.amb`, GGUF and UQFF files and folders as on Hugging Face; a line of word vectors is a word and its numbers",
        },
    })
}

/// Word vectors, where another format is needed.
fn words(form: Form) -> Option<Foreign> {
    const HINT: &str = "`nanoembed convert IN OUT.fifu` makes a `.fifu` file of them";
    let what = match form {
        Form::Finalfusion => return None,
        Form::Word2vec => "word vectors in word2vec's binary form",
        Form::Text | Form::Textdims => "word vectors as text",
        Form::Fasttext => "a fastText model",
        Form::Floret => "floret's word vectors as text",
    };
    Some(Foreign { what, hint: HINT })
}

/// True if a line's last field has digits and commas.
fn has_commas(line: &[u8]) -> bool {
    let last = line.trim_ascii_end().rsplit(u8::is_ascii_whitespace).next();
    let last = last.unwrap_or(line);
    let is_numeric = |byte: u8| byte.is_ascii_digit() || b"+-.,;eE".contains(&byte);
    let tail = last.rsplit(|&byte| byte == b',').next().unwrap_or(last);
    last.contains(&b',') && !tail.is_empty() && tail.iter().all(|&byte| is_numeric(byte))
}

impl Foreign {
    /// The refusal of the file called `name`.
    pub fn refuse(self, name: impl Display) -> Error {
        Error::input(ErrorKind::UnknownFormat, format!("this is {}", self.what))
            .at(name)
            .with_hint(self.hint)
    }
}

/// The core's `error` about the file called `name`, which starts with these bytes; an unknown
/// format is named by its likely kind.
pub fn failure(name: impl Display, bytes: &[u8], error: CoreError) -> Error {
    let is_unknown = matches!(error.kind(), ErrorKind::UnknownFormat | ErrorKind::BadMagic)
        || bytes.is_empty() && error.kind() == ErrorKind::UnexpectedEnd;
    let head = bytes.get(..bytes.len().min(HEAD_BYTES)).unwrap_or(bytes);
    match seems(head, head.len() == bytes.len())
        .filter(|_| is_unknown && error.offset().unwrap_or(0) == 0)
    {
        Some(foreign) => foreign.refuse(name),
        None => Error::in_file(name, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(head: &[u8]) -> Option<&'static str> {
        seems(head, true).map(|foreign| foreign.what)
    }

    #[test]
    fn files_are_named_for_what_they_are() {
        let utf16: Vec<u8> = "wald 0.1 0.2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16_big: Vec<u8> = "wald 0.1\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let utf32: Vec<u8> = "wald 1\n".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        let japanese: Vec<u8> = "日本 0.1 2\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let mut tar = vec![0; 512];
        tar[..4].copy_from_slice(b"name");
        tar[257..262].copy_from_slice(b"ustar");
        for (head, expected) in [
            (&b"\x1f\x8b\x08\0rest"[..], "a gzip file"),
            (b"BZh91AY&SY\0\0", "a bzip2 file"),
            (b"PK\x03\x04\x14\0archive/data.pkl", "a PyTorch file, which has a pickle in it"),
            (b"PK\x03\x04\x14\0glove.6B.50d.txt", "a zip archive"),
            (&tar, "a tar archive"),
            (b"\x80\x04\x95\x10\0\0\0", "a pickle of Python"),
            (b"\xff\xfew\0a\0", "text in UTF-16"),
            (b"\xff\xfe\0\0w\0\0\0", "text in UTF-32"),
            (&utf16, "text in UTF-16"),
            (&utf16_big, "text in UTF-16"),
            (&utf32, "text in UTF-32"),
            (&japanese, "text in UTF-16"),
            (b"(dp0\nS'a'\n", "a pickle of Python"),
            (b"\n<!DOCTYPE html><html>", "an HTML page"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                "a Git LFS pointer, not the file it stands for",
            ),
            (b"{\"error\": \"not found\"}", "JSON"),
            (b"wald,0.1,0.2\n", "text with commas among its numbers"),
            (b"wald 0,1 0,2\n", "text with commas among its numbers"),
            (b"some prose\n", "text, neither a model nor word vectors"),
            (b"wald 0.1 0.2\n", "word vectors as text"),
            (b"", "an empty file"),
        ] {
            assert_eq!(what(head), Some(expected), "{:?}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn letters_that_begin_a_word_are_no_signature() {
        for text in ["BZh 0.1 0.2\n", "lmgg 1 2\n", "PAR1 3 4\n", "{ 0.5 1\n", "<html> 0.5 1\n"] {
            assert_eq!(what(text.as_bytes()), Some("word vectors as text"), "{text}");
        }
        assert_eq!(what(b"lmgg\x01\0\0\0"), Some("a ggml file from before GGUF"));
        assert_eq!(what(b"\x01\x02\x03"), None);
    }
}
