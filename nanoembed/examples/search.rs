//! Searches the lines of a file by meaning: `cargo run --example search -- MODEL FILE QUERY`.

use std::error::Error;

use nanoembed::Encoder;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, file, query] = arguments.as_slice() else {
        return Err("usage: search MODEL FILE QUERY".into());
    };
    let text = std::fs::read_to_string(file)?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let encoder = Encoder::open(model)?;
    let vectors = encoder.embed_documents(&lines)?;
    for hit in vectors.nearest(&encoder.embed_query(query)?, 5)? {
        println!("{:.3}  {}", hit.similarity, lines[hit.index]);
    }
    Ok(())
}
