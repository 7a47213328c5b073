//! Writes the fuzz targets' first inputs from the test files: `fuzz_seeds FOLDER`.

use std::path::Path;

use nanoembed_tests::formats::FORMATS;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| "fuzz/corpus".into());
    let decoder = Path::new(&folder).join("decoder");
    std::fs::create_dir_all(&decoder)?;
    for (choice, format) in FORMATS.iter().enumerate() {
        for (name, file) in format.files() {
            // As `fuzz::decoder` reads it: the format, three cuts, the file.
            let mut seed = vec![u8::try_from(choice).unwrap_or(0), 10, 0, 70, 0, 200, 0];
            seed.extend_from_slice(&file);
            std::fs::write(decoder.join(name), seed)?;
        }
    }
    let weights = Path::new(&folder).join("weights");
    std::fs::create_dir_all(&weights)?;
    for format in FORMATS.iter().filter(|format| ["uqff", "gguf"].contains(&format.name)) {
        for (name, file) in format.files() {
            // As `fuzz::weights` reads it: first element, length, the file.
            std::fs::write(weights.join(name), [&[1, 33], file.as_slice()].concat())?;
        }
    }
    Ok(())
}
