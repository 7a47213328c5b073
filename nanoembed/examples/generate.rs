//! Continues a text: `cargo run --example generate -- MODEL PROMPT`.

use std::io::Write;

use nanoembed::{Generator, Prompt, Sampling};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, prompt] = arguments.as_slice() else {
        return Err("usage: generate MODEL PROMPT".into());
    };
    let generator = Generator::open(model)?;
    for piece in generator.generate(Prompt::Text(prompt), Sampling::greedy().max_tokens(64))? {
        print!("{}", piece?);
        std::io::stdout().flush()?;
    }
    println!();
    Ok(())
}
