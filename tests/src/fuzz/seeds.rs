//! The seeds of the fuzz targets: the test files, in the form that each target takes.

use nanoembed_core::tensor::Dtype;

use super::causal::causal_seeds;
use super::models::folder_seeds;
use super::pipeline::pipeline_seeds;
use super::{sentencepiece_seeds, tokenizer_seeds};
use crate::formats::{FORMATS, FormatUnderTest};
use crate::{data, minilm};

type Seeds = Vec<(String, Vec<u8>)>;

/// The test files of these formats, each prefixed with `head`.
fn after(head: &[u8], formats: &[&str]) -> Seeds {
    let chosen = FORMATS.iter().filter(|format| formats.contains(&format.name));
    chosen
        .flat_map(FormatUnderTest::files)
        .map(|(name, file)| (name, [head, &file].concat()))
        .collect()
}

/// The unchanged files of a format.
pub(super) fn files(format: &str) -> Seeds {
    after(&[], &[format])
}

pub(super) fn container() -> Seeds {
    after(&[], &["safetensors", "uqff"])
}

/// A precision of activations, then the file.
pub(super) fn causal() -> Seeds {
    causal_seeds()
}

/// Models of the C tests.
pub(super) fn encoder() -> Seeds {
    data::files("../../ffi/tests/data", &["weights"])
}

/// The number of a folder, then its settings separated by FF.
pub(super) fn folder() -> Seeds {
    folder_seeds()
}

/// The JSON, FF, the text.
pub(super) fn pipeline() -> Seeds {
    pipeline_seeds()
}

/// The first element, a count, then the file.
pub(super) fn weights() -> Seeds {
    after(&[1, 33], &["amb", "uqff", "gguf"])
}

/// The format, three cuts, then the file.
pub(super) fn decoder() -> Seeds {
    let of_format = |(choice, name): (u8, &str)| {
        let files = after(&[choice, 10, 0, 70, 0, 200, 0], &[name]);
        files.into_iter().map(|(file, seed)| (format!("{name}-{file}"), seed)).collect::<Seeds>()
    };
    (0..).zip(FORMATS.iter().map(|format| format.name)).flat_map(of_format).collect()
}

/// A cut, then the header's JSON.
pub(super) fn json() -> Seeds {
    let headers = files("safetensors").into_iter();
    headers.map(|(name, file)| (name, [&[9], file.get(8..).unwrap_or_default()].concat())).collect()
}

pub(super) fn blob() -> Seeds {
    data::files("uqff/legacy_0.2.0", &["uqfftensor"])
}

/// A type's number, then bytes for its blocks.
pub(super) fn blocks() -> Seeds {
    let types = 0..u8::try_from(Dtype::ALL.len()).unwrap_or(0);
    let of_blob = |(name, blob): (String, Vec<u8>)| {
        let some = blob.get(..700).unwrap_or(&blob).to_vec();
        types
            .clone()
            .map(move |choice| (format!("{choice}-{name}"), [&[choice], some.as_slice()].concat()))
    };
    blob().into_iter().flat_map(of_blob).collect()
}

/// The pattern, the number of merges, the merges, then the text.
pub(super) fn bpe() -> Seeds {
    let text = "They\u{2019}ll say <|a|>abab 1234 a\u{301}\u{4e2d}\u{1F600}\r\n\t  don't";
    let merges = b"abThheay  \xFF\xFF\xFFl";
    let count = u8::try_from(merges.len() / 2).unwrap_or(0);
    let of_pattern = |pattern: u8| [&[pattern, count], merges.as_slice(), text.as_bytes()].concat();
    (0..3).map(|pattern| (format!("pattern-{pattern}"), of_pattern(pattern))).collect()
}

pub(super) fn sentencepiece() -> Seeds {
    numbered("seed", sentencepiece_seeds())
}

/// The normalisation, tokens one per line, FF, then the text.
pub(super) fn tokenizer() -> Seeds {
    let of_sentence = |(index, text): (u8, &str)| {
        let words = text.split_whitespace().take(20);
        let tokens = words.flat_map(|word| {
            let middle = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
            [word[..middle].to_lowercase(), format!("##{}", &word[middle..])]
        });
        let tokens = tokens.collect::<Vec<_>>().join("\n");
        [&[index % 8], tokens.as_bytes(), &[0xFF], text.as_bytes()].concat()
    };
    let sentences = minilm::sentences();
    let texts = sentences.iter().map(|sentence| sentence.text.as_str());
    let mut seeds = numbered("sentence", (0..=u8::MAX).cycle().zip(texts).map(of_sentence));
    seeds.extend(numbered("mode", tokenizer_seeds()));
    seeds
}

fn numbered(name: &str, seeds: impl IntoIterator<Item = Vec<u8>>) -> Seeds {
    seeds.into_iter().enumerate().map(|(index, seed)| (format!("{name}-{index}"), seed)).collect()
}
