//! Writes the fuzz targets' first inputs from the test files: `fuzz_seeds FOLDER`.

use std::io;
use std::path::Path;

use nanoembed_tests::formats::FORMATS;
use nanoembed_tests::fuzz::{sentencepiece_seeds, tokenizer_seeds};
use nanoembed_tests::minilm;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| "fuzz/corpus".into());
    decoder(&Path::new(&folder).join("decoder"))?;
    whole_files(Path::new(&folder))?;
    weight_files(Path::new(&folder))?;
    sentencepiece(&Path::new(&folder).join("sentencepiece"))?;
    tokenizer(&Path::new(&folder).join("tokenizer"))
}

fn sentencepiece(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (index, seed) in sentencepiece_seeds().iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{index}")), seed)?;
    }
    Ok(())
}

/// As `fuzz::decoder` reads it: the format, three cuts, the file.
fn decoder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (choice, format) in FORMATS.iter().enumerate() {
        for (name, file) in format.files() {
            let mut seed = vec![u8::try_from(choice).unwrap_or(0), 10, 0, 70, 0, 200, 0];
            seed.extend_from_slice(&file);
            std::fs::write(folder.join(format!("{}-{name}", format.name)), seed)?;
        }
    }
    Ok(())
}

/// The targets that are called like a format take its files as they are.
fn whole_files(folder: &Path) -> io::Result<()> {
    for format in FORMATS {
        let own = folder.join(format.name);
        std::fs::create_dir_all(&own)?;
        for (name, file) in format.files() {
            std::fs::write(own.join(name), file)?;
        }
    }
    Ok(())
}

/// As `fuzz::container`, `fuzz::blob`, `fuzz::gguf`, `fuzz::weights` and `fuzz::json` read them.
fn weight_files(folder: &Path) -> io::Result<()> {
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let own = folder.join(target);
        std::fs::create_dir_all(&own)?;
        std::fs::write(own.join(name), bytes)
    };
    for format in FORMATS {
        for (name, file) in format.files() {
            if ["safetensors", "uqff"].contains(&format.name) {
                write("container", &name, &file)?;
            }
            if ["amb", "uqff", "gguf"].contains(&format.name) {
                // First element, length, the file.
                write("weights", &name, &[&[1, 33], file.as_slice()].concat())?;
            }
            if format.name == "safetensors" {
                // Where to cut, and the header's JSON.
                write("json", &name, &[&[9], file.get(8..).unwrap_or_default()].concat())?;
            }
        }
    }
    for (name, blob) in nanoembed_tests::data::files("uqff/legacy_0.2.0", &["uqfftensor"]) {
        write("blob", &name, &blob)?;
        let types = nanoembed_core::tensor::Dtype::ALL.len();
        for choice in 0..u8::try_from(types).unwrap_or(0) {
            let some = blob.get(..700).unwrap_or(&blob);
            write("blocks", &format!("{choice}-{name}"), &[&[choice], some].concat())?;
        }
    }
    Ok(())
}

/// As `fuzz::tokenizer` reads it: the normalisation, tokens a line each, FF, the text.
fn tokenizer(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (index, sentence) in minilm::sentences().iter().enumerate() {
        let words = sentence.text.split_whitespace().take(20);
        let tokens: Vec<_> = words
            .flat_map(|word| {
                let middle = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
                [word[..middle].to_lowercase(), format!("##{}", &word[middle..])]
            })
            .collect();
        let mut seed = vec![u8::try_from(index % 8).unwrap_or(0)];
        seed.extend_from_slice(tokens.join("\n").as_bytes());
        seed.push(0xFF);
        seed.extend_from_slice(sentence.text.as_bytes());
        std::fs::write(folder.join(format!("sentence-{index}")), seed)?;
    }
    for (index, seed) in tokenizer_seeds().iter().enumerate() {
        std::fs::write(folder.join(format!("mode-{index}")), seed)?;
    }
    Ok(())
}
