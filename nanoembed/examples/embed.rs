//! Embeds texts: `cargo run --example embed -- MODEL TEXT…`.

use nanoembed::{Encoder, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_default();
    let texts: Vec<String> = arguments.collect();
    let vectors = Encoder::open(model)?.embed_all(&texts)?;
    for (text, vector) in texts.iter().zip(vectors.rows()) {
        let start = vector.get(..4).unwrap_or(vector);
        println!("{text}: {start:.4?} …");
    }
    Ok(())
}
